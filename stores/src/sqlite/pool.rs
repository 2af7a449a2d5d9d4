use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use leasehold::{Deadline, ErrorKind, StoreError};
use parking_lot::{Mutex, MutexGuard};

use super::error::{Failure, explain, no_connection};
use super::files::Files;
use super::link::{Held, Link};
use super::place;
use super::sweep::Sweep;

/// The connections of one store: one that writes, since SQLite has one writer at a time, and a few that read.
///
/// Threads of this process queue for the writer here, which is faster than trying SQLite's locks against each other, and
/// a look waits for no writer at all. The queue is first come, first served: without that, a thread that writes all the
/// time gets the connection again and again before a waiter is awake, and on an overloaded machine a waiter was seen to
/// wait for 2 s where it is 0.1 s this way.
pub(super) struct Pool {
    files: Arc<Files>,
    writer: Mutex<Writer>,
    readers: Box<[Mutex<Slot>]>,
    /// Which reader is asked first next time.
    turn: AtomicUsize,
    closed: AtomicBool,
}

/// A place for a connection.
struct Slot {
    link: Option<Link>,
}

struct Writer {
    slot: Slot,
    sweep: Sweep,
}

impl Pool {
    /// Opens all connections, which takes less than a tenth of a millisecond each.
    pub(super) fn open(files: Files, readers: usize, deadline: &Deadline) -> Result<Self, StoreError> {
        let files = Arc::new(files);
        let open = |make| Ok(Slot { link: Some(Link::open(&files, deadline, make)?) });
        let writer = Writer { slot: open(true)?, sweep: Sweep::new() };
        let readers: Result<_, StoreError> = (0..readers).map(|_| open(false).map(Mutex::new)).collect();
        Ok(Self {
            readers: readers?,
            writer: Mutex::new(writer),
            turn: AtomicUsize::new(0),
            closed: AtomicBool::new(false),
            files,
        })
    }

    pub(super) fn path(&self) -> &Path {
        self.files.path()
    }

    /// Runs `change` as the only writer and commits what it wrote; what it wrote is undone when it fails.
    pub(super) fn write<T>(
        &self,
        deadline: &Deadline,
        change: impl FnOnce(&Held<'_>, &mut Sweep) -> Result<T, Failure>,
    ) -> Result<T, StoreError> {
        let done = {
            let mut writer = self.locked(&self.writer, deadline)?;
            let Writer { slot, sweep } = &mut *writer;
            let link = self.link(slot, deadline)?;
            let done = link.begin(deadline).and_then(|held| {
                // Under the lock, so that nobody can have written to another file since.
                link.check_files()?;
                let answer = change(&held, sweep)?;
                held.commit(deadline)?;
                Ok(answer)
            });
            let done = slot.settle(done);
            MutexGuard::unlock_fair(writer);
            done
        };
        self.explained(done, deadline)
    }

    /// Runs `look` on a connection that only reads, again as long as somebody is in its way.
    pub(super) fn read<T>(
        &self,
        deadline: &Deadline,
        mut look: impl FnMut(&Link) -> Result<T, Failure>,
    ) -> Result<T, StoreError> {
        let done = {
            let mut slot = self.reader(deadline)?;
            let link = self.link(&mut slot, deadline)?;
            let done = link.patiently(deadline, || look(link));
            let done = slot.settle(done);
            MutexGuard::unlock_fair(slot);
            done
        };
        self.explained(done, deadline)
    }

    /// Closes what is open, and waits for what is used.
    pub(super) fn close(&self, deadline: &Deadline) -> Result<(), StoreError> {
        self.closed.store(true, Ordering::Release);
        let mut links = Vec::new();
        for reader in &self.readers {
            links.extend(self.locked(reader, deadline)?.link.take());
        }
        links.extend(self.locked(&self.writer, deadline)?.slot.link.take());
        for link in links {
            link.close().map_err(|error| explain(error, self.path()))?;
        }
        Ok(())
    }

    /// The connection of a slot, opened if there is none.
    fn link<'a>(&self, slot: &'a mut Slot, deadline: &Deadline) -> Result<&'a Link, StoreError> {
        if self.closed.load(Ordering::Acquire) {
            return Err(StoreError::new(ErrorKind::Closed, "the store was closed; open it again"));
        }
        if slot.link.is_none() {
            slot.link = Some(self.reopen(deadline)?);
        }
        Ok(slot.link.as_ref().expect("it was just opened"))
    }

    /// A connection to the database that is there now. Never makes one: what was put away may be put back, and until
    /// then nobody knows what it said.
    fn reopen(&self, deadline: &Deadline) -> Result<Link, StoreError> {
        if !self.files.identity().has_database() {
            return Err(self.gone());
        }
        place::check_owner(self.path())?;
        Link::open(&self.files, deadline, false)
    }

    fn reader(&self, deadline: &Deadline) -> Result<MutexGuard<'_, Slot>, StoreError> {
        let first = self.turn.fetch_add(1, Ordering::Relaxed);
        let nth = |n: usize| &self.readers[(first + n) % self.readers.len()];
        match (0..self.readers.len()).find_map(|n| nth(n).try_lock()) {
            Some(free) => Ok(free),
            None => self.locked(nth(0), deadline),
        }
    }

    fn locked<'a, T>(
        &self,
        lock: &'a Mutex<T>,
        deadline: &Deadline,
    ) -> Result<MutexGuard<'a, T>, StoreError> {
        lock.try_lock()
            .or_else(|| lock.try_lock_for(deadline.left()?))
            .ok_or_else(|| no_connection(self.path(), deadline.allowed()))
    }

    fn explained<T>(&self, done: Result<T, Failure>, deadline: &Deadline) -> Result<T, StoreError> {
        done.map_err(|failure| match failure {
            Failure::Swapped => self.heal(deadline).err().unwrap_or_else(|| self.replaced()),
            failure => self.told(failure),
        })
    }

    fn told(&self, failure: Failure) -> StoreError {
        match failure {
            Failure::Told(error) => error,
            Failure::Sqlite(error) => explain(error, self.path()),
            Failure::Swapped => self.replaced(),
        }
    }

    /// Finds out what became of the files, and whether going on with those that the path names now is right.
    ///
    /// Another database, or none: the connections are opened anew. The same one without its log, or with another log or
    /// index: what was in the log may be known to nobody but us. If all of it is in the database too, or can be
    /// brought there because nobody began another log, nothing is lost. Otherwise whatever the database says may be
    /// old, and this store says nothing any more until its log is put back or the database replaced.
    fn heal(&self, deadline: &Deadline) -> Result<(), StoreError> {
        let mut writer = self.locked(&self.writer, deadline)?;
        let mut readers = Vec::with_capacity(self.readers.len());
        for reader in &self.readers {
            readers.push(self.locked(reader, deadline)?);
        }
        let here = self.files.identity();
        let is_right = |link: &Link| *link.opened() == here;
        if writer.slot.link.as_ref().is_some_and(is_right) {
            // Somebody was here before us, or put the files back; what was opened in between is not right any more.
            let wrong = readers.iter_mut().filter(|slot| !slot.link.as_ref().is_some_and(is_right));
            wrong.filter_map(|slot| slot.link.take()).for_each(Link::abandon);
            return Ok(());
        }
        let first = readers.iter().find_map(|slot| slot.link.as_ref());
        if let Some(link) = writer.slot.link.as_ref().or(first) {
            // Another database has a log of its own, and our own log says all to whoever reads it anew.
            let settled = !link.opened().same_database(&here)
                || link.opened().same_log(&here)
                || self.settle_log(writer.slot.link.as_ref(), first, deadline).map_err(|e| self.told(e))?;
            if !settled {
                return Err(self.log_lost());
            }
        }
        // All at once, since the connections of a process share one index of the log while any of them is open.
        let slots = readers.iter_mut().map(|slot| &mut **slot).chain([&mut writer.slot]);
        slots.filter_map(|slot| slot.link.take()).for_each(Link::abandon);
        if here.has_database() { Ok(()) } else { Err(self.gone()) }
    }

    /// Whether all that our log says is in the database, after bringing it there if that can do no harm.
    fn settle_log(
        &self,
        writer: Option<&Link>,
        reader: Option<&Link>,
        deadline: &Deadline,
    ) -> Result<bool, Failure> {
        let Some(looker) = reader.or(writer) else { return Ok(true) };
        let (pages, moved) = looker.log_pages(false)?;
        let (Some(writer), Some(reader)) = (writer, reader) else { return Ok(pages == moved) };
        // While we are the writer, nobody begins another log.
        let _held = writer.begin(deadline)?;
        let here = self.files.identity();
        let is_ours = !here.has_index() || here.same_index(writer.opened());
        let may_move = is_ours && self.files.has_no_log() && reader.opened() == writer.opened();
        let (pages, moved) = reader.log_pages(may_move)?;
        Ok(pages == moved)
    }

    fn replaced(&self) -> StoreError {
        let text =
            format!("the files of {} were replaced under this store: ask again", self.path().display());
        StoreError::new(ErrorKind::Unavailable, text).at(leasehold::Stage::Connect)
    }

    fn gone(&self) -> StoreError {
        let path = self.path().display();
        let text = format!("{path} is gone: put it back, or open the store anew to start afresh");
        StoreError::new(ErrorKind::Unavailable, text).at(leasehold::Stage::Connect)
    }

    fn log_lost(&self) -> StoreError {
        let path = self.path().display();
        let text = format!(
            "{path}-wal or {path}-shm was taken away while it was used, and what it said is not all in {path}: put \
             it back, or stop every gateway that uses it and move all three away"
        );
        StoreError::new(ErrorKind::Unsafe, text)
    }
}

impl Slot {
    /// Throws the connection away if it is no good any more.
    fn settle<T>(&mut self, done: Result<T, Failure>) -> Result<T, Failure> {
        let broken = matches!(done, Err(Failure::Sqlite(_)));
        if broken || self.link.as_ref().is_some_and(|link| !link.is_idle()) {
            self.link = None;
        }
        done
    }
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pool").field("path", &self.path()).finish_non_exhaustive()
    }
}
