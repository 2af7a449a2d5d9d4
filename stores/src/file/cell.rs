use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use leasehold::{
    Clock, Damaged, Deadline, DiscardOutcome, Fence, LeaseCell, Reach, Reading, Record, SandboxId, Step,
    StoreError, WallTime, Write,
};

use super::dir::LeaseDir;
use super::entered::Entered;
use super::error::odd;
use super::held::{self, Held, Locking, Page};
use super::lock::Mode;
use super::record::{self, Content, RecordFile};
use super::spot::{Access, At, Opened, Spot};
use super::sweep::Sweep;
use super::{FileConfig, discard, mark, scan};

/// A directory of record files. Every process that opens the same directory shares it.
pub struct FileCell {
    dir: LeaseDir,
    deadline: Duration,
    clock: Arc<dyn Clock>,
    sweep: Sweep,
}

/// What stands at the spot of an id.
pub(super) enum Found<'a> {
    Record(RecordFile<'a>),
    /// No file, in this directory.
    Nothing(Entered<'a>),
    Odd(&'static str),
}

impl FileCell {
    /// Opens the directory of `config`, making it if it isn't there, with leases timed by `clock`.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for a path that is relative or names something else; [`ErrorKind::Unsafe`] when other
    /// users could meddle; [`ErrorKind::Denied`] when this process may not write there; [`ErrorKind::Unsupported`] on a
    /// network file system that was not allowed.
    ///
    /// [`ErrorKind::Invalid`]: leasehold::ErrorKind::Invalid
    /// [`ErrorKind::Unsafe`]: leasehold::ErrorKind::Unsafe
    /// [`ErrorKind::Denied`]: leasehold::ErrorKind::Denied
    /// [`ErrorKind::Unsupported`]: leasehold::ErrorKind::Unsupported
    pub fn open(config: &FileConfig, clock: Arc<dyn Clock>) -> Result<Self, StoreError> {
        let dir = LeaseDir::prepare(config)?;
        mark::prepare(&dir.enter()?)?;
        Ok(Self { dir, deadline: config.deadline, clock, sweep: Sweep::new() })
    }

    /// Finds, locks and reads the record file of `id`, whose spot is `spot`.
    pub(super) fn find<'a>(
        &'a self,
        id: &'a SandboxId,
        spot: &'a Spot,
        access: Access,
        page: &'a mut Page,
        deadline: &Deadline,
    ) -> Result<Found<'a>, StoreError> {
        let at = At::path(spot);
        loop {
            let file = match at.open(access)? {
                Opened::File(file) => file,
                Opened::Odd(what) => return Ok(Found::Odd(what)),
                Opened::Nothing => {
                    let dir = self.dir.enter()?;
                    match At::inside(&dir, spot).open(access)? {
                        Opened::File(file) => file,
                        Opened::Odd(what) => return Ok(Found::Odd(what)),
                        Opened::Nothing => return Ok(Found::Nothing(dir)),
                    }
                }
            };
            match held::lock(&at, file, Mode::Exclusive, record::LEN, page, deadline)? {
                Locking::Locked(file, got) => {
                    let held = Held::new(file, page, got);
                    return Ok(Found::Record(RecordFile::new(id, spot, held, &*self.clock)));
                }
                Locking::Odd(what) => return Ok(Found::Odd(what)),
                Locking::Gone => at.in_time(deadline)?,
            }
        }
    }

    /// Runs `rule` on a locked record file and does what it says. `dir` is the directory in hand, if one is.
    fn apply<T>(
        &self,
        file: &mut RecordFile<'_>,
        dir: Option<&Entered<'_>>,
        rule: impl Fn(Option<&Record>, Reading) -> Step<T>,
        deadline: &Deadline,
    ) -> Result<T, StoreError> {
        let (before, reading, wall) = self.judge(file, dir, deadline)?;
        let Step { write, answer } = rule(before.as_ref(), reading);
        match (write, before) {
            (Write::Put(record), _) => file.write(record, wall)?,
            (Write::Extend(expires), Some(record)) => file.write(Record { expires, ..record }, wall)?,
            (Write::Remove, Some(record)) => {
                let fence = record.fence.map_or(0, Fence::get);
                file.forget(&self.dir.enter()?, fence, deadline)?;
            }
            (Write::Nothing, _) | (Write::Extend(_) | Write::Remove, None) => {}
        }
        Ok(answer)
    }

    /// What a locked record file says, and the time, read after it.
    fn judge(
        &self,
        file: &RecordFile<'_>,
        dir: Option<&Entered<'_>>,
        deadline: &Deadline,
    ) -> Result<(Option<Record>, Reading, WallTime), StoreError> {
        let void = match file.content(&*self.clock)? {
            Content::Counts(record) => {
                // The rule exceeds the fence of a record that is there, and that exceeds all that were before it.
                let (reading, wall) = self.reading(0);
                return Ok((Some(record), reading, wall));
            }
            Content::Void(fence) => fence,
            Content::Empty => 0,
        };
        let mark = match dir {
            Some(dir) => mark::read(dir, file.boot(), deadline)?,
            None => mark::read(&self.dir.enter()?, file.boot(), deadline)?,
        };
        let (reading, wall) = self.reading(mark.max(void) + 1);
        Ok((None, reading, wall))
    }

    fn absent(&self, dir: &Entered<'_>, deadline: &Deadline) -> Result<Reading, StoreError> {
        Ok(self.reading(mark::read(dir, self.clock.boot(), deadline)? + 1).0)
    }

    fn reading(&self, floor: u64) -> (Reading, WallTime) {
        let wall = self.clock.wall();
        (Reading { now: self.clock.now(), fence_floor: floor.max(wall) }, wall)
    }

    /// Runs `rule` on a file made for it, then tidies up a little. `None` when the file was taken away again before it
    /// was locked.
    fn apply_anew<T>(
        &self,
        dir: &Entered<'_>,
        id: &SandboxId,
        spot: &Spot,
        rule: impl Fn(Option<&Record>, Reading) -> Step<T>,
        deadline: &Deadline,
    ) -> Result<Option<T>, StoreError> {
        let at = At::inside(dir, spot);
        let Opened::File(file) = at.open(Access::Create)? else { return Ok(None) };
        let mut page = Page::new();
        let locking = held::lock(&at, file, Mode::Exclusive, record::LEN, &mut page, deadline)?;
        let Locking::Locked(file, got) = locking else { return Ok(None) };
        let mut file = RecordFile::new(id, spot, Held::new(file, &mut page, got), &*self.clock);
        let answer = self.apply(&mut file, Some(dir), rule, deadline);
        file.remove_if_empty(dir);
        drop(file);
        if answer.is_ok() {
            self.sweep.step(dir, &*self.clock);
        }
        answer.map(Some)
    }

    pub(super) fn dir(&self) -> &LeaseDir {
        &self.dir
    }

    pub(super) fn clock(&self) -> &dyn Clock {
        &*self.clock
    }

    /// Changes one record by the deadline.
    fn change<T>(
        &self,
        id: &SandboxId,
        rule: impl Fn(Option<&Record>, Reading) -> Step<T>,
        deadline: &Deadline,
    ) -> Result<T, StoreError> {
        let spot = self.dir.spot(id);
        loop {
            let mut page = Page::new();
            match self.find(id, &spot, Access::Write, &mut page, deadline)? {
                Found::Odd(what) => return Err(odd(what, spot.path())),
                Found::Record(mut file) => return self.apply(&mut file, None, rule, deadline),
                Found::Nothing(dir) => {
                    // Only a rule that writes gets a file to write to.
                    let step = rule(None, self.absent(&dir, deadline)?);
                    if !matches!(step.write, Write::Put(_)) {
                        return Ok(step.answer);
                    }
                    if let Some(answer) = self.apply_anew(&dir, id, &spot, &rule, deadline)? {
                        return Ok(answer);
                    }
                    At::path(&spot).in_time(deadline)?;
                }
            }
        }
    }

    pub(super) fn deadline(&self) -> Deadline {
        Deadline::after(self.deadline)
    }
}

impl LeaseCell for FileCell {
    fn reach(&self) -> Reach {
        Reach::Host
    }

    fn update<T>(
        &self,
        id: &SandboxId,
        rule: impl Fn(Option<&Record>, Reading) -> Step<T>,
    ) -> Result<T, StoreError> {
        self.change(id, rule, &self.deadline())
    }

    /// One deadline for all of them: many locks that somebody holds must not add up. Each is tried at least once, so those
    /// that nobody holds are changed even after it has passed.
    fn update_many<T>(
        &self,
        ids: &[SandboxId],
        rule: impl Fn(Option<&Record>, Reading) -> Step<T>,
    ) -> Vec<Result<T, StoreError>> {
        let deadline = self.deadline();
        ids.iter().map(|id| self.change(id, &rule, &deadline)).collect()
    }

    /// Takes the lock as a change does. Without it a change could come between the record and the clock: a lease that
    /// was renewed in time would look run out, or one would have more time left than it was given. Besides, whether 512
    /// bytes are read as they were written is up to the file system; ext4 and tmpfs read without any lock.
    fn view<T>(&self, id: &SandboxId, look: impl Fn(Option<&Record>, Reading) -> T) -> Result<T, StoreError> {
        let (spot, deadline) = (self.dir.spot(id), self.deadline());
        let mut page = Page::new();
        match self.find(id, &spot, Access::Read, &mut page, &deadline)? {
            Found::Odd(what) => Err(odd(what, spot.path())),
            Found::Nothing(dir) => Ok(look(None, self.absent(&dir, &deadline)?)),
            Found::Record(file) => {
                let (record, reading, _) = self.judge(&file, None, &deadline)?;
                Ok(look(record.as_ref(), reading))
            }
        }
    }

    fn scan(
        &self,
        each: &mut dyn FnMut(Result<(SandboxId, Record, Reading), Damaged>),
    ) -> Result<(), StoreError> {
        scan::scan(&self.dir.enter()?, &*self.clock, self.deadline, each)
    }

    fn discard(&self, id: &SandboxId, force: bool) -> Result<DiscardOutcome, StoreError> {
        discard::discard(self, id, force)
    }

    fn close(&self) -> Result<(), StoreError> {
        self.sweep.close();
        Ok(())
    }
}

impl fmt::Debug for FileCell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileCell").field("dir", &self.dir.path()).finish_non_exhaustive()
    }
}
