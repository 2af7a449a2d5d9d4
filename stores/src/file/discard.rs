//! The operator's way out: removing a record whatever it is, without forgetting its fence.

use leasehold::{Deadline, DiscardOutcome, ErrorKind, Fence, SandboxId, StoreError};
use rustix::fs::FileType;

use super::cell::{FileCell, Found};
use super::error::corrupt;
use super::held::Page;
use super::mark;
use super::record::{Content, RecordFile};
use super::spot::{Access, At, Spot};

pub(super) fn discard(cell: &FileCell, id: &SandboxId, force: bool) -> Result<DiscardOutcome, StoreError> {
    let (spot, deadline) = (cell.dir().spot(id), cell.deadline());
    loop {
        let mut page = Page::new();
        match cell.find(id, &spot, Access::Write, &mut page, &deadline)? {
            Found::Nothing(_) => return Ok(DiscardOutcome::Absent),
            Found::Record(file) => return discard_file(cell, file, force, &deadline),
            Found::Odd(_) => {
                if discard_odd(cell, &spot, &deadline)? {
                    return Ok(DiscardOutcome::Discarded);
                }
                At::path(&spot).in_time(&deadline)?;
            }
        }
    }
}

fn discard_file(
    cell: &FileCell,
    mut file: RecordFile<'_>,
    force: bool,
    deadline: &Deadline,
) -> Result<DiscardOutcome, StoreError> {
    let (fence, outcome) = match file.content(cell.clock()) {
        Ok(Content::Counts(record)) => {
            let outcome = match record.lease_at(cell.clock().now()) {
                Some(lease) if !force => return Ok(DiscardOutcome::Refused(lease)),
                Some(_) => DiscardOutcome::Discarded,
                None => DiscardOutcome::Absent,
            };
            (record.fence.map_or(0, Fence::get), outcome)
        }
        Ok(Content::Void(fence)) => (fence, DiscardOutcome::Absent),
        Ok(Content::Empty) => (0, DiscardOutcome::Absent),
        // What another live kernel wrote is a lease that can be read, only not by us: so not without force.
        Err(e) if e.kind() == ErrorKind::Corrupt || (e.kind() == ErrorKind::Unsafe && force) => {
            (file.salvage(cell.clock())?, DiscardOutcome::Discarded)
        }
        Err(e) => return Err(e),
    };
    file.forget(&cell.dir().enter()?, fence, deadline)?;
    Ok(outcome)
}

/// Removes what stands in a record's place and is no file; `false` when it is one by now, or nothing.
///
/// There is nothing to lock, so it is done under the lock of the mark: a record can take that place only once it is free,
/// and only somebody who holds that lock makes it so.
fn discard_odd(cell: &FileCell, spot: &Spot, deadline: &Deadline) -> Result<bool, StoreError> {
    let dir = cell.dir().enter()?;
    let at = At::inside(&dir, spot);
    mark::raise_and(&dir, cell.clock().boot(), cell.clock().wall(), deadline, || {
        match at.look()?.map(|looks| looks.kind) {
            None | Some(FileType::RegularFile) => Ok(false),
            Some(FileType::Directory) if !at.remove_dir()? => {
                Err(corrupt("a directory with files in it stands there: move it away", spot.path()))
            }
            Some(FileType::Directory) => Ok(true),
            Some(_) => at.unlink().map(|()| true),
        }
    })
}
