use std::hash::BuildHasher;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hashbrown::DefaultHashBuilder;
use leasehold::{
    Clock, Damaged, DiscardOutcome, Fence, LeaseCell, Reach, Reading, Record, SandboxId, Step, StoreError,
    Write,
};
use parking_lot::Mutex;

use super::shard::Shard;

/// A sharded map of records. Clones share it.
#[derive(Clone)]
pub struct MemoryCell {
    shared: Arc<Shared>,
    clock: Arc<dyn Clock>,
}

struct Shared {
    shards: Box<[Aligned]>,
    hasher: DefaultHashBuilder,
    /// At least the fence of every record that was ever forgotten. It starts at the wall clock's microseconds, so that
    /// a later process begins above an earlier one.
    mark: AtomicU64,
}

/// A lock on cache lines of its own, so that neighbours don't slow each other down.
#[repr(align(128))]
struct Aligned(Mutex<Shard>);

impl MemoryCell {
    /// Enough for the few threads that touch a store at once, few enough that an empty cell is small.
    const SHARDS: usize = 32;

    /// A new, empty cell whose leases are timed by `clock`.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        let shards = (0..Self::SHARDS).map(|_| Aligned(Mutex::new(Shard::new()))).collect();
        let mark = AtomicU64::new(clock.wall().min(Fence::MAX.get() / 2));
        Self { shared: Arc::new(Shared { shards, hasher: DefaultHashBuilder::default(), mark }), clock }
    }

    /// The same records, timed by another clock of the same boot.
    #[must_use]
    pub fn with_clock(&self, clock: Arc<dyn Clock>) -> Self {
        Self { shared: Arc::clone(&self.shared), clock }
    }

    /// How many records it holds, those that ran out and were not swept up yet among them.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shared.shards.iter().map(|shard| shard.0.lock().len()).sum()
    }

    /// Whether it holds none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn shard(&self, hash: u64) -> &Mutex<Shard> {
        // The table uses the low bits and the top seven; these are neither.
        &self.shared.shards[(hash >> 40) as usize % Self::SHARDS].0
    }

    fn reading(&self) -> Reading {
        Reading { now: self.clock.now(), fence_floor: self.shared.mark.load(Ordering::Relaxed) + 1 }
    }
}

impl Shared {
    /// Must be called under the lock of the record's shard, so that whoever finds the record absent sees the mark.
    fn raise_mark(&self, record: &Record) {
        self.mark.fetch_max(record.fence.map_or(0, Fence::get), Ordering::Relaxed);
    }
}

impl LeaseCell for MemoryCell {
    fn reach(&self) -> Reach {
        Reach::Process
    }

    fn update<T>(
        &self,
        id: &SandboxId,
        rule: impl Fn(Option<&Record>, Reading) -> Step<T>,
    ) -> Result<T, StoreError> {
        let hash = self.shared.hasher.hash_one(id);
        let mut shard = self.shard(hash).lock();
        let reading = self.reading();
        let mut before = shard.get_mut(hash, id);
        let Step { write, answer } = rule(before.as_deref(), reading);
        match (write, &mut before) {
            (Write::Nothing, _) => {}
            (Write::Extend(expires), Some(record)) => record.expires = expires,
            (Write::Put(record), Some(before)) => **before = record,
            (Write::Put(record), None) => {
                let forget = |gone: &Record| self.shared.raise_mark(gone);
                shard.insert(&self.shared.hasher, id, record, reading.now, forget);
            }
            (Write::Remove, Some(record)) => {
                self.shared.raise_mark(record);
                shard.remove(hash, id);
            }
            (Write::Extend(_) | Write::Remove, None) => {}
        }
        Ok(answer)
    }

    fn scan(
        &self,
        each: &mut dyn FnMut(Result<(SandboxId, Record, Reading), Damaged>),
    ) -> Result<(), StoreError> {
        for shard in &self.shared.shards {
            let (reading, records): (_, Vec<_>) = {
                let shard = shard.0.lock();
                (self.reading(), shard.iter().cloned().collect())
            };
            records.into_iter().for_each(|(id, record)| each(Ok((id, record, reading))));
        }
        Ok(())
    }

    fn discard(&self, id: &SandboxId, force: bool) -> Result<DiscardOutcome, StoreError> {
        self.update(id, |before, reading| match before.map(|record| record.lease_at(reading.now)) {
            None => Step { write: Write::Nothing, answer: DiscardOutcome::Absent },
            Some(Some(lease)) if !force => {
                Step { write: Write::Nothing, answer: DiscardOutcome::Refused(lease) }
            }
            Some(Some(_)) => Step { write: Write::Remove, answer: DiscardOutcome::Discarded },
            Some(None) => Step { write: Write::Remove, answer: DiscardOutcome::Absent },
        })
    }
}

impl std::fmt::Debug for MemoryCell {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MemoryCell").field("records", &self.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use leasehold::{CellStore, ManualClock, OwnerId, OwnershipStore, Ttl};
    use std::time::Duration;

    #[test]
    fn what_ran_out_is_swept_up_and_its_fences_are_remembered() {
        let clock = ManualClock::new();
        let cell = MemoryCell::new(Arc::new(clock.clone()));
        let store = CellStore::new(cell.clone(), OwnerId::generate(), Ttl::from_millis(10).unwrap());
        let mut last = 0;
        for round in 0..200 {
            for n in 0..100 {
                let id = format!("sbx-{round}-{n}").parse().unwrap();
                let leasehold::TakeOutcome::Taken { tenure, .. } = store.take(&id).unwrap() else { panic!() };
                last = last.max(tenure.fence.get());
            }
            clock.advance(Duration::from_millis(11));
        }
        assert!(cell.len() <= 2 * 100 + Shard::new().len() + 32 * 32, "{} records", cell.len());
        assert!(cell.shared.mark.load(Ordering::Relaxed) + 200 >= last);
    }
}
