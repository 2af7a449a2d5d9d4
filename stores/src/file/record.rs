//! A record file: 512 bytes, of which the record takes the first and zeros the rest; or none at all.

use leasehold::codec::{self, FormatError, Stamped, Standing};
use leasehold::{Boot, Clock, Deadline, ErrorKind, Fence, Record, SandboxId, StoreError, WallTime};

use super::entered::Entered;
use super::error::corrupt;
use super::held::Held;
use super::mark;
use super::spot::{At, Spot};

/// The length of a record file in bytes. The longest record fits, and one page and one sector hold it whole.
pub(super) const LEN: usize = Held::MOST;
const ZEROS: [u8; LEN] = [0; LEN];
const _: () = assert!(codec::MAX_LEN <= LEN);

/// How far beyond the wall clock the fence of a damaged record is believed, in microseconds: a day.
const BELIEVED: WallTime = 24 * 60 * 60 * 1_000_000;

/// The record file of one id, locked.
#[derive(Debug)]
pub(super) struct RecordFile<'a> {
    id: &'a SandboxId,
    spot: &'a Spot,
    held: Held<'a>,
    /// Read once it was locked.
    boot: Boot,
}

/// What a record file says in this boot.
#[derive(Debug)]
pub(super) enum Content {
    /// Nothing: it was made and never written, because whoever made it was killed in between.
    Empty,
    /// A record of this boot.
    Counts(Record),
    /// A record of an earlier boot. New fences start above this number.
    Void(u64),
}

impl<'a> RecordFile<'a> {
    pub(super) fn new(id: &'a SandboxId, spot: &'a Spot, held: Held<'a>, clock: &dyn Clock) -> Self {
        Self { id, spot, held, boot: clock.boot() }
    }

    /// What it says.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`] for what is no whole record of this id, unless it was
    /// written before this kernel started: then it is void however it reads, because a power cut leaves what it likes.
    /// [`ErrorKind::Unsafe`] for a record that another kernel wrote since.
    pub(super) fn content(&self, clock: &dyn Clock) -> Result<Content, StoreError> {
        if self.held.is_empty() {
            return Ok(Content::Empty);
        }
        match self.decode() {
            Ok(stamped) => Ok(match stamped.standing(self.boot)? {
                Standing::Counts(record) => Content::Counts(record),
                Standing::Void(fence) => Content::Void(fence.map_or(0, Fence::get)),
            }),
            Err(damaged) if self.is_of_this_boot()? => Err(damaged),
            Err(_) => Ok(Content::Void(self.salvage(clock)?)),
        }
    }

    fn decode(&self) -> Result<Stamped, StoreError> {
        let bytes = self.held.bytes();
        let place = self.spot.path();
        if bytes.len() > LEN {
            return Err(corrupt(format!("the file has more than {LEN} bytes"), place));
        }
        let unreadable = |e: FormatError| e.at(&place.display().to_string());
        let (stamped, used) = codec::decode(self.id, bytes).map_err(unreadable)?;
        if bytes.len() < LEN {
            return Err(unreadable(FormatError::Short));
        }
        if bytes[used..] != ZEROS[used..] {
            return Err(corrupt("bytes follow the record that no version wrote", place));
        }
        Ok(stamped)
    }

    /// Whether bytes that are no record may have been written since this kernel started: by the file's own time, or
    /// because they name this boot where a record does, which no step of the wall clock can make untrue.
    fn is_of_this_boot(&self) -> Result<bool, StoreError> {
        Ok(self.written()? >= self.boot.started
            || self.held.bytes().get(32..48) == Some(&self.boot.id.to_bits().to_le_bytes()))
    }

    /// A fence that is hardly below that of a damaged record: what stands in its place if that can be believed, when the
    /// file was written, and now.
    pub(super) fn salvage(&self, clock: &dyn Clock) -> Result<u64, StoreError> {
        let believed = clock.wall() + BELIEVED;
        let fence = codec::salvage_fence(self.held.bytes(), believed).map_or(0, Fence::get);
        let written = Some(self.written()?).filter(|at| *at <= believed).unwrap_or(0);
        Ok(fence.max(written).max(clock.wall()))
    }

    fn written(&self) -> Result<WallTime, StoreError> {
        self.held.written().map_err(|e| At::path(self.spot).failed("look at", e))
    }

    /// Puts `record` there, all of it or nothing.
    pub(super) fn write(&mut self, record: Record, wall: WallTime) -> Result<(), StoreError> {
        let at = At::path(self.spot);
        let stamped = Stamped { record, boot: self.boot.id, written: wall };
        let record = codec::encode(self.id, &stamped)
            .map_err(|e| StoreError::new(ErrorKind::Invalid, e.to_string()).with_source(e))?;
        let mut new = ZEROS;
        new[..record.len()].copy_from_slice(&record);
        if self.held.bytes().len() > LEN {
            // Only what a power cut left is longer, and void.
            self.held.empty().map_err(|e| at.failed("empty", e))?;
        }
        self.held.write(&new).map_err(|e| at.failed("write", e))
    }

    /// Raises the fence mark to `fence`, makes the file empty, which is what counts, and takes it out of `dir`.
    pub(super) fn forget(
        &mut self,
        dir: &Entered<'_>,
        fence: u64,
        deadline: &Deadline,
    ) -> Result<(), StoreError> {
        if fence > 0 {
            mark::raise(dir, self.boot, fence, deadline)?;
        }
        self.held.empty().map_err(|e| At::path(self.spot).failed("empty", e))?;
        self.remove_if_empty(dir);
        Ok(())
    }

    /// Takes the file out of `dir` if there is nothing in it. An empty one that stays is absent all the same and is swept
    /// up in time.
    pub(super) fn remove_if_empty(&self, dir: &Entered<'_>) {
        let at = At::inside(dir, self.spot);
        if self.held.is_empty() && self.held.is_at(&at).unwrap_or(false) {
            let _ = at.unlink();
        }
    }

    /// The boot that it was read in.
    pub(super) fn boot(&self) -> Boot {
        self.boot
    }
}
