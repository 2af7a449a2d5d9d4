use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use leasehold::{
    Clock, Damaged, DiscardOutcome, Fence, LeaseCell, Reach, Reading, Record, SandboxId, Step, StoreError,
    Write,
};

/// Records in memory under one lock: the lease rules and nothing else. Clones share them.
#[derive(Clone)]
pub(super) struct RulesCell {
    shared: Arc<Mutex<State>>,
    clock: Arc<dyn Clock>,
}

#[derive(Default)]
struct State {
    records: HashMap<SandboxId, Record>,
    /// The largest fence of a record that was forgotten.
    mark: u64,
}

impl RulesCell {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { shared: Arc::default(), clock }
    }

    /// The same records, timed by another clock.
    pub(super) fn with_clock(&self, clock: Arc<dyn Clock>) -> Self {
        Self { shared: Arc::clone(&self.shared), clock }
    }

    /// A rule is pure and short; one that panics leaves the records as they were.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn reading(&self, state: &State) -> Reading {
        Reading { now: self.clock.now(), fence_floor: self.clock.wall().max(state.mark + 1) }
    }
}

impl State {
    fn forget(&mut self, id: &SandboxId) {
        let fence = self.records.remove(id).and_then(|record| record.fence).map_or(0, Fence::get);
        self.mark = self.mark.max(fence);
    }
}

impl LeaseCell for RulesCell {
    fn reach(&self) -> Reach {
        Reach::Host
    }

    fn update<T>(
        &self,
        id: &SandboxId,
        rule: impl Fn(Option<&Record>, Reading) -> Step<T>,
    ) -> Result<T, StoreError> {
        let mut state = self.lock();
        let reading = self.reading(&state);
        let step = rule(state.records.get(id), reading);
        match step.write {
            Write::Nothing => {}
            Write::Extend(expires) => {
                state.records.entry(id.clone()).and_modify(|record| record.expires = expires);
            }
            Write::Put(record) => drop(state.records.insert(id.clone(), record)),
            Write::Remove => state.forget(id),
        }
        Ok(step.answer)
    }

    fn scan(
        &self,
        each: &mut dyn FnMut(Result<(SandboxId, Record, Reading), Damaged>),
    ) -> Result<(), StoreError> {
        let state = self.lock();
        let reading = self.reading(&state);
        state.records.iter().for_each(|(id, record)| each(Ok((id.clone(), record.clone(), reading))));
        Ok(())
    }

    fn discard(&self, id: &SandboxId, force: bool) -> Result<DiscardOutcome, StoreError> {
        let mut state = self.lock();
        let now = self.clock.now();
        let Some(record) = state.records.get(id) else { return Ok(DiscardOutcome::Absent) };
        match record.lease_at(now) {
            Some(lease) if !force => return Ok(DiscardOutcome::Refused(lease)),
            Some(_) => {}
            None => {
                state.forget(id);
                return Ok(DiscardOutcome::Absent);
            }
        }
        state.forget(id);
        Ok(DiscardOutcome::Discarded)
    }
}
