//! A store of one's own in under 60 lines: a cell (a map behind a lock), and the harness that has it proved.
//!
//! `cargo run -p leasehold-conformance --example cell_store` proves it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use leasehold::{
    CellStore, Clock, Damaged, DiscardOutcome, Fence, LeaseCell, OwnerId, OwnershipStore, Reach, Reading,
    Record, SandboxId, Step, StoreError, Ttl, Write,
};
use leasehold_conformance::{Capabilities, Harness, Namespace, Unready};

/// The records, and the high-water mark: the largest fence that was ever forgotten.
#[derive(Default)]
struct Table {
    records: BTreeMap<SandboxId, Record>,
    mark: u64,
}

impl Table {
    fn forget(&mut self, id: &SandboxId) {
        let fence = self.records.remove(id).and_then(|record| record.fence);
        self.mark = self.mark.max(fence.map_or(0, Fence::get));
    }
}

/// The map that all handles of a namespace share, and the clock that times its leases.
struct MapCell(Arc<Mutex<Table>>, Arc<dyn Clock>);

impl MapCell {
    fn lock(&self) -> (MutexGuard<'_, Table>, Reading) {
        let table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // The clock is read once the lock is held; new fences start above all that were forgotten.
        let reading = Reading { now: self.1.now(), fence_floor: self.1.wall().max(table.mark + 1) };
        (table, reading)
    }
}

impl LeaseCell for MapCell {
    fn reach(&self) -> Reach {
        Reach::Process
    }

    fn update<T>(
        &self,
        id: &SandboxId,
        rule: impl Fn(Option<&Record>, Reading) -> Step<T>,
    ) -> Result<T, StoreError> {
        let (mut table, reading) = self.lock();
        let Step { write, answer } = rule(table.records.get(id), reading);
        match write {
            Write::Nothing => {}
            Write::Extend(to) => drop(table.records.entry(id.clone()).and_modify(|r| r.expires = to)),
            Write::Remove => table.forget(id),
            Write::Put(record) => {
                table.records.insert(id.clone(), record);
                // What ran out goes whenever something comes, so that the map never grows with ids that are gone.
                let dead = table.records.iter().filter(|(_, record)| !record.is_live(reading.now));
                let dead: Vec<_> = dead.map(|(id, _)| id.clone()).collect();
                dead.iter().for_each(|id| table.forget(id));
            }
        }
        Ok(answer)
    }

    fn scan(
        &self,
        each: &mut dyn FnMut(Result<(SandboxId, Record, Reading), Damaged>),
    ) -> Result<(), StoreError> {
        let (table, reading) = self.lock();
        table.records.iter().for_each(|(id, record)| each(Ok((id.clone(), record.clone(), reading))));
        Ok(())
    }

    fn discard(&self, id: &SandboxId, force: bool) -> Result<DiscardOutcome, StoreError> {
        self.update(id, |before, reading| match before.and_then(|record| record.lease_at(reading.now)) {
            None => Step { write: Write::Nothing, answer: DiscardOutcome::Absent },
            Some(lease) if !force => Step { write: Write::Nothing, answer: DiscardOutcome::Refused(lease) },
            Some(_) => Step { write: Write::Remove, answer: DiscardOutcome::Discarded },
        })
    }
}

/// What the kit needs to know of it.
#[derive(Default)]
pub(crate) struct MapHarness;

impl Harness for MapHarness {
    fn name(&self) -> String {
        "map".to_owned()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::virtual_time(Reach::Process)
    }

    fn fresh(&self) -> Result<Box<dyn Namespace>, Unready> {
        Ok(Box::new(MapNamespace(Arc::default())))
    }
}

struct MapNamespace(Arc<Mutex<Table>>);

impl Namespace for MapNamespace {
    fn open(
        &self,
        owner: OwnerId,
        ttl: Ttl,
        clock: Arc<dyn Clock>,
    ) -> Result<Arc<dyn OwnershipStore>, StoreError> {
        Ok(Arc::new(CellStore::new(MapCell(Arc::clone(&self.0), clock), owner, ttl)))
    }

    fn stored(&self) -> Option<u64> {
        Some(self.0.lock().unwrap_or_else(PoisonError::into_inner).records.len() as u64)
    }
}

leasehold_conformance::conformance_main!(MapHarness);
