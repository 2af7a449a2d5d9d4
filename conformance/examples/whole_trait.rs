//! A store of one's own that implements the whole trait, as one does whose rules run inside a server.
//!
//! Here the "server" is a thread that owns the table and is asked over a channel: one question, one answer, and the rules
//! at its end. `cargo run -p leasehold-conformance --example whole_trait` proves it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use leasehold::rules::{self, Asker};
use leasehold::{
    ClaimOutcome, Clock, DiscardOutcome, ErrorKind, Fence, Intent, Lease, Listing, OwnerId, OwnershipStore,
    Reach, Reading, Record, ReleaseOutcome, RenewOutcome, SandboxId, Step, StoreError, TakeOutcome, Ttl,
    Write,
};
use leasehold_conformance::{Capabilities, Harness, Namespace, Unready};

/// What the server keeps: the records, and the largest fence that was ever forgotten.
#[derive(Default)]
struct Table {
    records: BTreeMap<SandboxId, Record>,
    mark: u64,
}

impl Table {
    fn reading(&self, clock: &dyn Clock) -> Reading {
        Reading { now: clock.now(), fence_floor: clock.wall().max(self.mark + 1) }
    }

    fn forget(&mut self, id: &SandboxId) {
        let fence = self.records.remove(id).and_then(|record| record.fence);
        self.mark = self.mark.max(fence.map_or(0, Fence::get));
    }

    fn step<T>(
        &mut self,
        id: &SandboxId,
        clock: &dyn Clock,
        rule: impl FnOnce(Option<&Record>, Reading) -> Step<T>,
    ) -> T {
        let reading = self.reading(clock);
        let Step { write, answer } = rule(self.records.get(id), reading);
        match write {
            Write::Nothing => {}
            Write::Extend(expires) => {
                self.records.entry(id.clone()).and_modify(|record| record.expires = expires);
            }
            Write::Put(record) => {
                let dead = self.records.iter().filter(|(_, record)| !record.is_live(reading.now));
                let dead: Vec<_> = dead.map(|(id, _)| id.clone()).filter(|dead| dead != id).collect();
                dead.iter().for_each(|dead| self.forget(dead));
                self.records.insert(id.clone(), record);
            }
            Write::Remove => self.forget(id),
        }
        answer
    }
}

/// A question is a piece of work for the server's thread, which sends its own answer.
type Question = Box<dyn FnOnce(&mut Table) + Send>;

/// The store: a line to the server.
struct LineStore {
    server: mpsc::Sender<Question>,
    owner: OwnerId,
    ttl: Ttl,
    clock: Arc<dyn Clock>,
    closed: AtomicBool,
}

impl LineStore {
    /// How long the server may take.
    const DEADLINE: Duration = Duration::from_secs(2);

    fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&mut Table, &dyn Clock) -> T + Send + 'static,
    ) -> Result<T, StoreError> {
        if self.closed.load(Ordering::Acquire) {
            return Err(StoreError::new(ErrorKind::Closed, "the store was closed; open it again"));
        }
        let (answer, answered) = mpsc::channel();
        let clock = Arc::clone(&self.clock);
        let work = move |table: &mut Table| drop(answer.send(question(table, &*clock)));
        let gone = |_| StoreError::new(ErrorKind::Unavailable, "the server is gone");
        self.server.send(Box::new(work)).map_err(|_| gone(()))?;
        answered
            .recv_timeout(Self::DEADLINE)
            .map_err(|_| StoreError::new(ErrorKind::Timeout, "the server did not answer within 2 s"))
    }

    fn step<T: Send + 'static>(
        &self,
        id: &SandboxId,
        rule: impl FnOnce(Option<&Record>, Asker<'_>, Reading) -> Step<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (id, owner, ttl) = (id.clone(), self.owner.clone(), self.ttl);
        self.ask(move |table, clock| {
            table.step(&id, clock, |before, reading| rule(before, Asker { owner: &owner, ttl }, reading))
        })
    }
}

fn exhausted(error: leasehold::FenceExhausted) -> StoreError {
    StoreError::new(ErrorKind::Corrupt, error.to_string())
}

impl OwnershipStore for LineStore {
    fn owner(&self) -> &OwnerId {
        &self.owner
    }

    fn ttl(&self) -> Ttl {
        self.ttl
    }

    fn reach(&self) -> Reach {
        Reach::Process
    }

    fn quantum(&self) -> Duration {
        Duration::ZERO
    }

    fn take(&self, id: &SandboxId) -> Result<TakeOutcome, StoreError> {
        self.step(id, rules::take)?.map_err(exhausted)
    }

    fn claim(&self, id: &SandboxId, intent: Intent) -> Result<ClaimOutcome, StoreError> {
        self.step(id, move |before, asker, reading| rules::claim(before, intent, asker, reading))?
            .map_err(exhausted)
    }

    fn renew(&self, id: &SandboxId) -> Result<RenewOutcome, StoreError> {
        self.step(id, rules::renew)
    }

    fn release(&self, id: &SandboxId) -> Result<ReleaseOutcome, StoreError> {
        self.step(id, |before, asker, reading| rules::release(before, None, asker, reading))
    }

    fn release_tenure(&self, id: &SandboxId, fence: Fence) -> Result<ReleaseOutcome, StoreError> {
        self.step(id, move |before, asker, reading| rules::release(before, Some(fence), asker, reading))
    }

    fn inspect(&self, id: &SandboxId) -> Result<Option<Lease>, StoreError> {
        let id = id.clone();
        self.ask(move |table, clock| rules::inspect(table.records.get(&id), table.reading(clock)))
    }

    fn list(&self) -> Result<Listing, StoreError> {
        self.ask(|table, clock| {
            let reading = table.reading(clock);
            let live = table
                .records
                .iter()
                .filter_map(|(id, record)| Some((id.clone(), record.lease_at(reading.now)?)));
            Listing { leases: live.collect(), damaged: Vec::new() }
        })
    }

    fn discard(&self, id: &SandboxId, force: bool) -> Result<DiscardOutcome, StoreError> {
        self.step(id, move |before, _, reading| {
            match before.and_then(|record| record.lease_at(reading.now)) {
                None => Step { write: Write::Nothing, answer: DiscardOutcome::Absent },
                Some(lease) if !force => {
                    Step { write: Write::Nothing, answer: DiscardOutcome::Refused(lease) }
                }
                Some(_) => Step { write: Write::Remove, answer: DiscardOutcome::Discarded },
            }
        })
    }

    fn close(&self) -> Result<(), StoreError> {
        self.closed.store(true, Ordering::Release);
        Ok(())
    }
}

/// What the kit needs to know of it.
#[derive(Default)]
pub(crate) struct LineHarness;

impl Harness for LineHarness {
    fn name(&self) -> String {
        "line".to_owned()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::virtual_time(Reach::Process)
    }

    fn fresh(&self) -> Result<Box<dyn Namespace>, Unready> {
        let (server, questions) = mpsc::channel::<Question>();
        let serve = move || {
            let mut table = Table::default();
            questions.into_iter().for_each(|question| question(&mut table));
        };
        std::thread::Builder::new().name("server".to_owned()).spawn(serve)?;
        Ok(Box::new(LineNamespace(server)))
    }
}

struct LineNamespace(mpsc::Sender<Question>);

impl Namespace for LineNamespace {
    fn open(
        &self,
        owner: OwnerId,
        ttl: Ttl,
        clock: Arc<dyn Clock>,
    ) -> Result<Arc<dyn OwnershipStore>, StoreError> {
        let (server, closed) = (self.0.clone(), AtomicBool::new(false));
        Ok(Arc::new(LineStore { server, owner, ttl, clock, closed }))
    }
}

leasehold_conformance::conformance_main!(LineHarness);
