//! The fence mark: at least the fence of every record that was ever forgotten.
//!
//! It is one file beside the records, `fence-mark`, of 24 bytes:
//!
//! | at | bytes | what |
//! | --- | --- | --- |
//! | 0 | 4 | `LHFM` |
//! | 4 | 4 | version: 1 |
//! | 8 | 8 | the mark, little endian |
//! | 16 | 8 | the same with every bit inverted |
//!
//! It only grows, and outlives reboots. Missing or empty, it stands for zero: fences then begin at the wall clock. It is
//! locked after a record, never before one, so no two operations can wait for each other.

use leasehold::{Boot, Deadline, ErrorKind, Fence, StoreError};
use rustix::io::Errno;

use super::entered::Entered;
use super::held::{self, Held, Locking, Page};
use super::lock::Mode;
use super::spot::{Access, At, Opened};

/// Its name. No record's name is like it, since those end in `.lease`.
const NAME: &[u8] = b"fence-mark";
const LEN: usize = 24;
const HEAD: [u8; 8] = *b"LHFM\x01\0\0\0";

/// The mark, locked until it is dropped.
#[derive(Debug)]
struct Mark<'p> {
    held: Held<'p>,
    value: u64,
}

/// Makes sure that there is a mark and that this process may write it.
pub(super) fn prepare(dir: &Entered<'_>) -> Result<(), StoreError> {
    let spot = dir.spot(NAME);
    let at = At::inside(dir, &spot);
    match at.open(Access::Create)? {
        Opened::File(_) => Ok(()),
        Opened::Nothing => Err(at.failed("make", Errno::NOENT)),
        Opened::Odd(what) => Err(damaged(&at, what)),
    }
}

/// The mark as it stands.
pub(super) fn read(dir: &Entered<'_>, boot: Boot, deadline: &Deadline) -> Result<u64, StoreError> {
    let spot = dir.spot(NAME);
    let mut page = Page::new();
    let mark = Mark::hold(&At::inside(dir, &spot), boot, Access::Read, &mut page, deadline)?;
    Ok(mark.map_or(0, |mark| mark.value))
}

/// Raises the mark to `fence` unless it is there already.
pub(super) fn raise(
    dir: &Entered<'_>,
    boot: Boot,
    fence: u64,
    deadline: &Deadline,
) -> Result<(), StoreError> {
    raise_and(dir, boot, fence, deadline, || Ok(()))
}

/// Raises the mark to `fence`, and does something else before it lets go of it.
pub(super) fn raise_and<T>(
    dir: &Entered<'_>,
    boot: Boot,
    fence: u64,
    deadline: &Deadline,
    also: impl FnOnce() -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let spot = dir.spot(NAME);
    let (at, mut page) = (At::inside(dir, &spot), Page::new());
    let mut mark = Mark::hold(&at, boot, Access::Create, &mut page, deadline)?
        .ok_or_else(|| at.failed("make", Errno::NOENT))?;
    mark.raise(&at, fence)?;
    also()
}

impl<'p> Mark<'p> {
    fn raise(&mut self, at: &At<'_>, fence: u64) -> Result<(), StoreError> {
        let fence = fence.min(Fence::MAX.get());
        if fence <= self.value {
            return Ok(());
        }
        let mut new = [0; LEN];
        new[..8].copy_from_slice(&HEAD);
        new[8..16].copy_from_slice(&fence.to_le_bytes());
        new[16..].copy_from_slice(&(!fence).to_le_bytes());
        self.held.write(&new).map_err(|e| at.failed("write", e))?;
        self.value = fence;
        Ok(())
    }

    fn hold(
        at: &At<'_>,
        boot: Boot,
        access: Access,
        page: &'p mut Page,
        deadline: &Deadline,
    ) -> Result<Option<Self>, StoreError> {
        let mode = if access == Access::Read { Mode::Shared } else { Mode::Exclusive };
        let (file, got) = loop {
            let file = match at.open(access)? {
                Opened::File(file) => file,
                Opened::Nothing => return Ok(None),
                Opened::Odd(what) => return Err(damaged(at, what)),
            };
            match held::lock(at, file, mode, LEN, page, deadline)? {
                Locking::Locked(file, got) => break (file, got),
                Locking::Odd(what) => return Err(damaged(at, what)),
                Locking::Gone => at.in_time(deadline)?,
            }
        };
        let mut held = Held::new(file, page, got);
        if let Some(value) = decode(held.bytes()) {
            return Ok(Some(Self { held, value }));
        }
        // A mark that nobody wrote in this boot was destroyed by the power cut that ended the last one. The leases of that
        // boot are void, and the wall clock, where fences begin, is past all that it was when they were made.
        if held.written().map_err(|e| at.failed("look at", e))? >= boot.started {
            return Err(damaged(at, "unreadable"));
        }
        if access == Access::Create {
            held.empty().map_err(|e| at.failed("empty", e))?;
        }
        Ok(Some(Self { held, value: 0 }))
    }
}

fn decode(bytes: &[u8]) -> Option<u64> {
    if bytes.is_empty() {
        return Some(0);
    }
    let word = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
    let value = word(8)?;
    (bytes.len() == LEN && bytes[..8] == HEAD && word(16)? == !value && value <= Fence::MAX.get())
        .then_some(value)
}

fn damaged(at: &At<'_>, what: &str) -> StoreError {
    StoreError::new(
        ErrorKind::Corrupt,
        format!(
            "the fence mark {} is {what}; stop the gateways that use this directory and remove it: fences then go on \
             from the wall clock",
            at.spot().path().display()
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flipped_bit_and_every_other_length_is_noticed() {
        let value = 1_767_225_600_000_001_u64;
        let bytes = [HEAD, value.to_le_bytes(), (!value).to_le_bytes()].concat();
        assert_eq!(decode(&bytes), Some(value));
        assert_eq!(decode(&[]), Some(0));
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(decode(&damaged), None, "bit {bit}");
        }
        for len in 1..bytes.len() {
            assert_eq!(decode(&bytes[..len]), None, "{len} bytes");
        }
        assert_eq!(decode(&[bytes, vec![0]].concat()), None);
    }
}
