//! Every record of the directory, each under its own lock for a moment.

use std::collections::BTreeSet;
use std::ffi::CString;
use std::time::Duration;

use leasehold::{Clock, Damaged, Deadline, ErrorKind, Reading, Record, SandboxId, StoreError};

use super::entered::Entered;
use super::error::{corrupt, failed, odd};
use super::held::{self, Held, Locking, Page};
use super::lock::Mode;
use super::name;
use super::record::{self, Content, RecordFile};
use super::spot::{Access, At, Opened, Spot};

type Each<'a> = dyn FnMut(Result<(SandboxId, Record, Reading), Damaged>) + 'a;

/// Shows every record in `dir`. Each may be waited for as long as `deadline`; one that stays locked longer makes the
/// whole list an error, since what it says could not be found out.
pub(super) fn scan(
    dir: &Entered<'_>,
    clock: &dyn Clock,
    deadline: Duration,
    each: &mut Each<'_>,
) -> Result<(), StoreError> {
    for name in names(dir)? {
        let spot = dir.spot(name.to_bytes());
        let damaged = |id, error| Damaged { id, place: spot.path().display().to_string(), error };
        let Some(id) = name::decode(name.to_bytes()) else {
            each(Err(damaged(None, corrupt("this is the name of no id", spot.path()))));
            continue;
        };
        match read(dir, &id, &spot, clock, &Deadline::after(deadline)) {
            Ok(None) => {}
            Ok(Some((record, reading))) => each(Ok((id, record, reading))),
            Err(error) if is_of_one_record(error.kind()) => each(Err(damaged(Some(id), error))),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The names of all record files. They are read to the end first and kept once each: a file that is removed and made
/// again meanwhile may come up twice in a directory.
fn names(dir: &Entered<'_>) -> Result<BTreeSet<CString>, StoreError> {
    let mut names = BTreeSet::new();
    for entry in dir.names()? {
        let entry = entry.map_err(|e| failed("list", dir.path(), e))?;
        if entry.file_name().to_bytes().ends_with(name::SUFFIX) {
            names.insert(entry.file_name().to_owned());
        }
    }
    Ok(names)
}

/// The record at `spot`; `None` when there is none, or not any more.
fn read(
    dir: &Entered<'_>,
    id: &SandboxId,
    spot: &Spot,
    clock: &dyn Clock,
    deadline: &Deadline,
) -> Result<Option<(Record, Reading)>, StoreError> {
    let at = At::inside(dir, spot);
    loop {
        let file = match at.open(Access::Read)? {
            Opened::File(file) => file,
            Opened::Nothing => return Ok(None),
            Opened::Odd(what) => return Err(odd(what, spot.path())),
        };
        let mut page = Page::new();
        let held = match held::lock(&at, file, Mode::Exclusive, record::LEN, &mut page, deadline)? {
            Locking::Locked(file, got) => Held::new(file, &mut page, got),
            Locking::Odd(what) => return Err(odd(what, spot.path())),
            Locking::Gone => {
                at.in_time(deadline)?;
                continue;
            }
        };
        return Ok(match RecordFile::new(id, spot, held, clock).content(clock)? {
            Content::Counts(record) => {
                Some((record, Reading { now: clock.now(), fence_floor: clock.wall() }))
            }
            Content::Empty | Content::Void(_) => None,
        });
    }
}

/// Whether this trouble is that of a single record, which hides no other.
fn is_of_one_record(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::Corrupt | ErrorKind::Unsafe | ErrorKind::Denied)
}
