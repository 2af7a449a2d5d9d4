use std::sync::Arc;
use std::time::Duration;

use leasehold::{
    Clock, Damaged, Deadline, DiscardOutcome, Fence, LeaseCell, Reach, Reading, Record, SandboxId, Step,
    StoreError, Write,
};
use rusqlite::types::ValueRef;

use super::SqliteConfig;
use super::error::Failure;
use super::files::Files;
use super::link::Held;
use super::place;
use super::pool::Pool;
use super::row::{self, Row};
use super::sweep::{Sweep, id_of};

/// The table of leases in one database.
///
/// Not to be used across a fork: SQLite's locks belong to the process that took them. A child opens a store of its own.
#[derive(Debug)]
pub struct SqliteCell {
    pool: Pool,
    deadline: Duration,
    clock: Arc<dyn Clock>,
}

impl SqliteCell {
    /// How many records of a batch are changed in one transaction: enough to make the transaction's own cost small,
    /// few enough that other writers wait a millisecond or two.
    const CHUNK: usize = 512;

    /// Opens the database, and makes it if it isn't there; its leases are timed by `clock`.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](leasehold::ErrorKind::Invalid) for a path that can't be right, a file that is no
    /// database, and one that is another program's; [`ErrorKind::Denied`](leasehold::ErrorKind::Denied) where this user
    /// may not write and for other users' files;
    /// [`ErrorKind::Unsupported`](leasehold::ErrorKind::Unsupported) for a network file system and for a database of a
    /// newer version; [`ErrorKind::Timeout`](leasehold::ErrorKind::Timeout) when somebody held its lock all the time.
    pub fn open(config: SqliteConfig, clock: Arc<dyn Clock>) -> Result<Self, StoreError> {
        let deadline = Deadline::after(config.deadline);
        let path = place::find(&config.path, config.allow_network)?;
        place::create(&path)?;
        let pool = Pool::open(Files::of(path, !config.allow_network), config.readers.max(1), &deadline)?;
        Ok(Self { pool, deadline: config.deadline, clock })
    }

    fn deadline(&self) -> Deadline {
        Deadline::after(self.deadline)
    }

    fn judge(&self, id: &SandboxId, record: Option<ValueRef<'_>>) -> Row {
        record.map_or(Row::Absent, |record| Row::of(id, record, &*self.clock, self.pool.path()))
    }

    /// A reading in which no fence but those of the calendar counts.
    fn reading(&self) -> Reading {
        // A calendar gone wild must not use up all fences at once.
        Reading { now: self.clock.now(), fence_floor: self.clock.wall().min(Fence::MAX.get() / 2) }
    }

    /// One change, in the transaction that is held.
    fn change<T>(
        &self,
        held: &Held<'_>,
        sweep: &mut Sweep,
        id: &SandboxId,
        rule: &impl Fn(Option<&Record>, Reading) -> Step<T>,
    ) -> Result<T, Failure> {
        let row = held.row(id, |record| self.judge(id, record))?;
        let mut reading = self.reading();
        let (before, is_new) = match row {
            Row::Counts(record) => (Some(record), false),
            Row::Absent => (None, true),
            // Written over or swept up sometime; until then its fence is remembered where it is.
            Row::Void(fence) => {
                reading.fence_floor = reading.fence_floor.max(fence.map_or(0, Fence::get) + 1);
                (None, false)
            }
            Row::Foreign(_, error) | Row::Damaged(_, error) => return Err(Failure::Told(error)),
        };
        if before.is_none() {
            reading.fence_floor = reading.fence_floor.max(held.mark()? + 1);
        }
        let Step { write, answer } = rule(before.as_ref(), reading);
        let put = |record| held.put(id, &row::bytes(id, record, &*self.clock)?);
        match (write, before) {
            (Write::Nothing, _) | (Write::Extend(_) | Write::Remove, None) => {}
            (Write::Extend(expires), Some(record)) => put(Record { expires, ..record })?,
            (Write::Put(record), _) => {
                if is_new {
                    sweep.step(held, &*self.clock, self.pool.path())?;
                }
                put(record)?;
            }
            (Write::Remove, Some(record)) => forget(held, id, record.fence)?,
        }
        Ok(answer)
    }
}

/// Removes a row, once the mark is at `fence` at least.
fn forget(held: &Held<'_>, id: &SandboxId, fence: Option<Fence>) -> Result<(), Failure> {
    if let Some(fence) = fence {
        held.raise_mark(fence)?;
    }
    held.remove(&id.as_str())
}

impl LeaseCell for SqliteCell {
    fn reach(&self) -> Reach {
        Reach::Host
    }

    fn update<T>(
        &self,
        id: &SandboxId,
        rule: impl Fn(Option<&Record>, Reading) -> Step<T>,
    ) -> Result<T, StoreError> {
        self.pool.write(&self.deadline(), |held, sweep| self.change(held, sweep, id, &rule))
    }

    fn update_many<T>(
        &self,
        ids: &[SandboxId],
        rule: impl Fn(Option<&Record>, Reading) -> Step<T>,
    ) -> Vec<Result<T, StoreError>> {
        let deadline = self.deadline();
        let mut answers = Vec::with_capacity(ids.len());
        for chunk in ids.chunks(Self::CHUNK) {
            let done = self.pool.write(&deadline, |held, sweep| {
                let each = chunk.iter().map(|id| match self.change(held, sweep, id, &rule) {
                    Ok(answer) => Ok(Ok(answer)),
                    Err(Failure::Told(error)) => Ok(Err(error)),
                    Err(failure) => Err(failure),
                });
                each.collect::<Result<Vec<_>, Failure>>()
            });
            match done {
                Ok(done) => answers.extend(done),
                Err(error) => answers.extend(chunk.iter().map(|_| Err(error.clone()))),
            }
        }
        answers
    }

    /// Two readings, one before and one after the moment the row is of. A lease that ran out between them may have
    /// been renewed in between as well, so it is judged by the first, under which it was there. All others are judged by
    /// the second, so that none shows more time than it was given.
    fn view<T>(&self, id: &SandboxId, look: impl Fn(Option<&Record>, Reading) -> T) -> Result<T, StoreError> {
        let before = self.reading();
        let row = self.pool.read(&self.deadline(), |link| {
            let row = link.row(id, |record| self.judge(id, record))?;
            link.check_files()?;
            Ok(row)
        })?;
        match row {
            Row::Counts(record) => {
                let after = self.reading();
                let reading = if record.is_live(after.now) { after } else { before };
                Ok(look(Some(&record), reading))
            }
            Row::Absent | Row::Void(_) => Ok(look(None, self.reading())),
            Row::Foreign(_, error) | Row::Damaged(_, error) => Err(error),
        }
    }

    /// All rows are of one moment; the readings are as for a look at one.
    fn scan(
        &self,
        each: &mut dyn FnMut(Result<(SandboxId, Record, Reading), Damaged>),
    ) -> Result<(), StoreError> {
        let before = self.reading();
        let found = self.pool.read(&self.deadline(), |link| {
            let mut after = before;
            let mut found = Vec::new();
            let begun = || {
                after = self.reading();
                link.check_files()
            };
            link.rows(begun, |key, record| found.push(self.found(key, record)))?;
            Ok((found, after))
        })?;
        let (found, after) = found;
        for found in found.into_iter().flatten() {
            each(found.map(|(id, record)| {
                let reading = if record.is_live(after.now) { after } else { before };
                (id, record, reading)
            }));
        }
        Ok(())
    }

    fn discard(&self, id: &SandboxId, force: bool) -> Result<DiscardOutcome, StoreError> {
        self.pool.write(&self.deadline(), |held, _| {
            let row = held.row(id, |record| self.judge(id, record))?;
            let reading = self.reading();
            let fence = row.fence();
            let (fence, outcome) = match row {
                Row::Absent => return Ok(DiscardOutcome::Absent),
                Row::Foreign(_, error) if !force => return Err(Failure::Told(error)),
                Row::Counts(record) => match record.lease_at(reading.now) {
                    Some(lease) if !force => return Ok(DiscardOutcome::Refused(lease)),
                    Some(_) => (fence, DiscardOutcome::Discarded),
                    None => (fence, DiscardOutcome::Absent),
                },
                Row::Void(_) => (fence, DiscardOutcome::Absent),
                // What the fence was is a guess or a foreign clock's, so the calendar has a say too.
                Row::Foreign(..) | Row::Damaged(..) => {
                    (fence.max(Fence::new(reading.fence_floor)), DiscardOutcome::Discarded)
                }
            };
            forget(held, id, fence)?;
            Ok(outcome)
        })
    }

    fn close(&self) -> Result<(), StoreError> {
        self.pool.close(&self.deadline())
    }
}

impl SqliteCell {
    /// What a list shows of a row: nothing where it counts for nothing.
    fn found(&self, key: ValueRef<'_>, record: ValueRef<'_>) -> Option<Result<(SandboxId, Record), Damaged>> {
        let place =
            |key: &str| format!("the row {key:?} of the table lease in {}", self.pool.path().display());
        let Some(id) = id_of(key) else {
            let shown = match key {
                ValueRef::Text(bytes) | ValueRef::Blob(bytes) => String::from_utf8_lossy(bytes).into_owned(),
                other => format!("of type {}", other.data_type()),
            };
            let error = StoreError::new(
                leasehold::ErrorKind::Corrupt,
                format!("{} has a key that is no sandbox's id: delete it with sqlite3", place(&shown)),
            );
            return Some(Err(Damaged { id: None, place: place(&shown), error }));
        };
        match Row::of(&id, record, &*self.clock, self.pool.path()) {
            Row::Counts(record) => Some(Ok((id, record))),
            Row::Absent | Row::Void(_) => None,
            Row::Foreign(_, error) | Row::Damaged(_, error) => {
                Some(Err(Damaged { place: place(id.as_str()), id: Some(id), error }))
            }
        }
    }
}
