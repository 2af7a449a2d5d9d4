//! A store of somebody else's: a list behind a lock.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use leasehold::{
    Clock, Damaged, DiscardOutcome, LeaseCell, Reach, Reading, Record, SandboxId, Step, StoreError, Write,
};

/// The records, and the largest fence that was ever forgotten.
pub type Table = (Vec<(SandboxId, Record)>, u64);

/// The cell: a table that its clones share, and a clock.
#[derive(Clone)]
pub struct ListCell(pub Arc<Mutex<Table>>, pub Arc<dyn Clock>);

impl ListCell {
    fn lock(&self) -> (MutexGuard<'_, Table>, Reading) {
        let table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let reading = Reading { now: self.1.now(), fence_floor: self.1.wall().max(table.1 + 1) };
        (table, reading)
    }
}

impl LeaseCell for ListCell {
    fn reach(&self) -> Reach {
        Reach::Process
    }

    fn update<T>(&self, id: &SandboxId, rule: impl Fn(Option<&Record>, Reading) -> Step<T>) -> Result<T, StoreError> {
        let (mut table, reading) = self.lock();
        let at = table.0.iter().position(|(known, _)| known == id);
        let Step { write, answer } = rule(at.map(|at| &table.0[at].1), reading);
        let highest = |mark: u64, gone: &Record| mark.max(gone.fence.map_or(0, |fence| fence.get()));
        match (write, at) {
            (Write::Extend(expires), Some(at)) => table.0[at].1.expires = expires,
            (Write::Put(record), Some(at)) => table.0[at].1 = record,
            (Write::Put(record), None) => {
                let dead = table.0.iter().filter(|(_, r)| !r.is_live(reading.now));
                table.1 = dead.fold(table.1, |mark, (_, record)| highest(mark, record));
                table.0.retain(|(_, record)| record.is_live(reading.now));
                table.0.push((id.clone(), record));
            }
            (Write::Remove, Some(at)) => {
                let (_, gone) = table.0.swap_remove(at);
                table.1 = highest(table.1, &gone);
            }
            (Write::Nothing | Write::Extend(_) | Write::Remove, _) => {}
        }
        Ok(answer)
    }

    fn scan(&self, each: &mut dyn FnMut(Result<(SandboxId, Record, Reading), Damaged>)) -> Result<(), StoreError> {
        let (table, reading) = self.lock();
        table.0.iter().for_each(|(id, record)| each(Ok((id.clone(), record.clone(), reading))));
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
