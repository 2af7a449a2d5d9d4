//! Tidying up what ran out, a little at a time, so that the directory does not grow with ids that are gone.
//!
//! Whoever makes a record file looks at two names further on in the directory and removes what nobody needs. A round
//! of the directory thus takes half as many new files as there are files, and at its end all that was over at its start
//! is gone: there are never many more than twice the live ones.

use std::ffi::CString;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use leasehold::{Clock, Deadline, Fence, StoreError};
use parking_lot::Mutex;
use rustix::fs::Dir;

use super::entered::Entered;
use super::held::{self, Held, Locking, Page};
use super::lock::Mode;
use super::name;
use super::record::{self, Content, RecordFile};
use super::spot::{Access, At, Opened};

/// How far a handle has got in the directory.
#[derive(Debug)]
pub(super) struct Sweep {
    cursor: Mutex<Cursor>,
    /// Names to look at that were left to whoever has the cursor next.
    owed: AtomicU32,
}

/// Where the place in the directory is kept. Whoever sweeps takes it away, so that nobody ever waits for a lock that is
/// held across reading the disk.
#[derive(Debug)]
enum Cursor {
    Here(Option<Dir>),
    Away,
    Closed,
}

impl Sweep {
    /// Names to look at for each file made: more than one, so that a round ends.
    const EACH: u32 = 2;
    /// The most names that one operation looks at, so that it takes a bounded time whatever is owed.
    const MOST: u32 = 16;

    pub(super) fn new() -> Self {
        Self { cursor: Mutex::new(Cursor::Here(None)), owed: AtomicU32::new(0) }
    }

    /// Looks at a few names in `dir`, where a record file was just made.
    ///
    /// What fails is left for the next round: the operation that sweeps along the way has succeeded.
    pub(super) fn step(&self, dir: &Entered<'_>, clock: &dyn Clock) {
        self.owed.fetch_add(Self::EACH, Ordering::Relaxed);
        let Some(mut names) = self.fetch() else { return };
        let due = self.owed.load(Ordering::Relaxed).min(Self::MOST);
        self.owed.fetch_sub(due, Ordering::Relaxed);
        for _ in 0..due {
            let Some(name) = next(&mut names, dir) else { break };
            let _ = look(dir, name.to_bytes(), clock);
        }
        let mut cursor = self.cursor.lock();
        if matches!(*cursor, Cursor::Away) {
            *cursor = Cursor::Here(names);
        }
    }

    /// Takes the cursor, unless somebody else has it or it was closed.
    fn fetch(&self) -> Option<Option<Dir>> {
        let mut cursor = self.cursor.lock();
        match &mut *cursor {
            Cursor::Here(names) => {
                let names = names.take();
                *cursor = Cursor::Away;
                Some(names)
            }
            Cursor::Away | Cursor::Closed => None,
        }
    }

    /// Lets go of the directory.
    pub(super) fn close(&self) {
        let was = std::mem::replace(&mut *self.cursor.lock(), Cursor::Closed);
        drop(was);
    }
}

/// The next record file's name, from the start again after the last; `None` when there is none or they can't be read.
fn next(names: &mut Option<Dir>, dir: &Entered<'_>) -> Option<CString> {
    for _ in 0..2 {
        let open = match names {
            Some(open) => open,
            None => names.insert(dir.names().ok()?),
        };
        while let Some(Ok(entry)) = open.read() {
            if entry.file_name().to_bytes().ends_with(name::SUFFIX) {
                return Some(entry.file_name().to_owned());
            }
        }
        *names = None;
    }
    None
}

/// Removes the record file `name` if it is of no use to anyone: run out, of an earlier boot, or made and never written.
fn look(dir: &Entered<'_>, name: &[u8], clock: &dyn Clock) -> Result<(), StoreError> {
    let Some(id) = name::decode(name) else { return Ok(()) };
    let spot = dir.spot(name);
    let at = At::inside(dir, &spot);
    let Opened::File(file) = at.open(Access::Write)? else { return Ok(()) };
    let now_or_never = Deadline::after(Duration::ZERO);
    let mut page = Page::new();
    let locking = held::lock(&at, file, Mode::Exclusive, record::LEN, &mut page, &now_or_never)?;
    let Locking::Locked(file, got) = locking else { return Ok(()) };
    let mut file = RecordFile::new(&id, &spot, Held::new(file, &mut page, got), clock);
    let fence = match file.content(clock)? {
        Content::Counts(record) if record.is_live(clock.now()) => return Ok(()),
        Content::Counts(record) => record.fence.map_or(0, Fence::get),
        Content::Void(fence) => fence,
        Content::Empty => 0,
    };
    file.forget(dir, fence, &now_or_never)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::FileConfig;
    use crate::file::dir::LeaseDir;
    use leasehold::ManualClock;

    #[test]
    fn what_one_could_not_look_at_the_next_one_does() {
        let around = tempfile::tempdir().unwrap();
        let path = around.path().join("leases");
        let dir = LeaseDir::prepare(&FileConfig::new(&path)).unwrap();
        let dir = dir.enter().unwrap();
        for n in 0..8 {
            std::fs::write(path.join(format!("sbx-{n}.lease")), "").unwrap();
        }
        let left = || std::fs::read_dir(&path).unwrap().count();
        let (sweep, clock) = (Sweep::new(), ManualClock::new());

        let somebody = sweep.fetch().unwrap();
        for _ in 0..3 {
            sweep.step(&dir, &clock);
        }
        assert_eq!(left(), 8, "two had the cursor");
        *sweep.cursor.lock() = Cursor::Here(somebody);
        sweep.step(&dir, &clock);
        assert_eq!(left(), 0);
    }

    #[test]
    fn a_cursor_that_comes_back_to_a_closed_store_is_let_go_of() {
        let around = tempfile::tempdir().unwrap();
        let dir = LeaseDir::prepare(&FileConfig::new(around.path().join("leases"))).unwrap();
        let sweep = Sweep::new();
        sweep.close();
        sweep.step(&dir.enter().unwrap(), &ManualClock::new());
        assert!(matches!(*sweep.cursor.lock(), Cursor::Closed));
    }
}
