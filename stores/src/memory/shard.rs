use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};
use leasehold::{Moment, Record, SandboxId};

/// One part of the map, behind one lock.
///
/// A table rather than a map, because the hash that chose the shard is then also the one that finds the slot.
pub(super) struct Shard {
    table: HashTable<(SandboxId, Record)>,
    /// How many records the table may hold before those that ran out are swept away.
    sweep_at: usize,
}

impl Shard {
    const SMALL: usize = 8;

    pub(super) fn new() -> Self {
        Self { table: HashTable::new(), sweep_at: Self::SMALL }
    }

    pub(super) fn get_mut(&mut self, hash: u64, id: &SandboxId) -> Option<&mut Record> {
        self.table.find_mut(hash, |(key, _)| key == id).map(|(_, record)| record)
    }

    /// Adds a record that is not there yet. Every time the table has doubled it is swept first, so that it never holds
    /// more than twice what is live, at a constant cost an insert; `forget` is told of each record that goes.
    pub(super) fn insert(
        &mut self,
        hasher: &DefaultHashBuilder,
        id: &SandboxId,
        record: Record,
        now: Moment,
        mut forget: impl FnMut(&Record),
    ) {
        if self.table.len() >= self.sweep_at {
            self.table.retain(|(_, record)| {
                let live = record.is_live(now);
                if !live {
                    forget(record);
                }
                live
            });
            self.sweep_at = (self.table.len() * 2).max(Self::SMALL);
        }
        let hash = hasher.hash_one(id);
        self.table.insert_unique(hash, (id.clone(), record), |(key, _)| hasher.hash_one(key));
    }

    pub(super) fn remove(&mut self, hash: u64, id: &SandboxId) {
        if let Ok(entry) = self.table.find_entry(hash, |(key, _)| key == id) {
            entry.remove();
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &(SandboxId, Record)> {
        self.table.iter()
    }

    pub(super) fn len(&self) -> usize {
        self.table.len()
    }
}
