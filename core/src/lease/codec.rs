//! The one form of a record in bytes, used wherever a record is kept on this host.
//!
//! Little endian, 52 bytes and the owner's name:
//!
//! | at | bytes | what |
//! | --- | --- | --- |
//! | 0 | 4 | `LHLD` |
//! | 4 | 1 | version: 1 |
//! | 5 | 1 | phase: 0 held, 1 teardown |
//! | 6 | 2 | length of the owner's name |
//! | 8 | 8 | fence |
//! | 16 | 8 | expiry, nanoseconds of the boot clock |
//! | 24 | 8 | last written, microseconds since 1970 by the wall clock of the writer |
//! | 32 | 16 | boot id of the writer |
//! | 48 | n | the owner's name, UTF-8 |
//! | 48 + n | 4 | CRC-32 of the sandbox id, a zero byte, and all of the above |
//!
//! The checksum covers the id, so that a record which got into another id's place is seen to be damaged. Only the
//! version is looked at before the checksum: what a newer version wrote is refused as such.

use std::fmt;

use super::{Fence, Phase, Record};
use crate::clock::{Boot, BootId, WallTime};
use crate::{ErrorKind, Moment, OwnerId, SandboxId, StoreError};

/// The longest record, in bytes.
pub const MAX_LEN: usize = HEAD + OwnerId::MAX_LEN + SUM;

const MAGIC: [u8; 4] = *b"LHLD";
const VERSION: u8 = 1;
const HEAD: usize = 48;
const SUM: usize = 4;

/// A record together with what tells whether its clock is ours: who wrote it when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamped {
    /// The record.
    pub record: Record,
    /// The boot of the writer.
    pub boot: BootId,
    /// When it was last written, by the wall clock of the writer.
    pub written: WallTime,
}

/// What a stamped record means to a process of some boot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Written in this boot: its expiry can be compared with this boot's clock.
    Counts(Record),
    /// Written before this kernel started: whoever held it is gone with that boot. Only its fence lives on.
    Void(Option<Fence>),
}

impl Stamped {
    /// What this record means in the boot `here`.
    ///
    /// # Errors
    /// [`ErrorKind::Unsafe`] when another kernel wrote it after this one started: two live kernels share the place,
    /// and their boot clocks can't be compared.
    pub fn standing(self, here: Boot) -> Result<Standing, StoreError> {
        if self.boot == here.id {
            Ok(Standing::Counts(self.record))
        } else if self.written < here.started {
            Ok(Standing::Void(self.record.fence))
        } else {
            Err(StoreError::new(
                ErrorKind::Unsafe,
                format!(
                    "owner {} wrote it under another live kernel (boot {}); a host store can't be shared between \
                     kernels: give each host a directory of its own or use a server",
                    self.record.owner, self.boot
                ),
            ))
        }
    }
}

/// The bytes of `stamped`, the record of `id`.
///
/// # Errors
/// [`FormatError::Fenceless`] for a record without a fence, which this form can't carry.
pub fn encode(id: &SandboxId, stamped: &Stamped) -> Result<Vec<u8>, FormatError> {
    let Stamped { record, boot, written } = stamped;
    let fence = record.fence.ok_or(FormatError::Fenceless)?;
    let owner = record.owner.as_str().as_bytes();
    let mut bytes = Vec::with_capacity(HEAD + owner.len() + SUM);
    bytes.extend_from_slice(&MAGIC);
    bytes.push(VERSION);
    bytes.push(match record.phase {
        Phase::Held => 0,
        Phase::Teardown => 1,
    });
    bytes.extend_from_slice(&(owner.len() as u16).to_le_bytes());
    bytes.extend_from_slice(&fence.get().to_le_bytes());
    bytes.extend_from_slice(&record.expires.as_nanos().to_le_bytes());
    bytes.extend_from_slice(&written.to_le_bytes());
    bytes.extend_from_slice(&boot.to_bits().to_le_bytes());
    bytes.extend_from_slice(owner);
    let sum = checksum(id, &bytes);
    bytes.extend_from_slice(&sum.to_le_bytes());
    Ok(bytes)
}

/// Reads the record of `id` from the front of `bytes`, and says how many bytes it took.
///
/// # Errors
/// [`FormatError`] when the bytes are not a whole, undamaged record of this id in a version this build reads.
pub fn decode(id: &SandboxId, bytes: &[u8]) -> Result<(Stamped, usize), FormatError> {
    let head = bytes.get(..HEAD).ok_or(FormatError::Short)?;
    if head[..4] != MAGIC {
        return Err(FormatError::NotARecord);
    }
    if head[4] != VERSION {
        return Err(FormatError::Version(head[4]));
    }
    let owner_len = usize::from(u16::from_le_bytes(array(head, 6)));
    let body = bytes.get(..HEAD + owner_len).ok_or(FormatError::Short)?;
    let sum = bytes.get(HEAD + owner_len..HEAD + owner_len + SUM).ok_or(FormatError::Short)?;
    if checksum(id, body).to_le_bytes() != sum {
        return Err(FormatError::Checksum);
    }
    // From here on the bytes are what some writer meant; what follows catches a writer that meant nonsense.
    let phase = match head[5] {
        0 => Phase::Held,
        1 => Phase::Teardown,
        _ => return Err(FormatError::Value("phase")),
    };
    let owner = std::str::from_utf8(&body[HEAD..]).ok().and_then(|text| OwnerId::new(text).ok());
    let record = Record {
        owner: owner.ok_or(FormatError::Value("owner"))?,
        phase,
        fence: Some(Fence::new(u64::from_le_bytes(array(head, 8))).ok_or(FormatError::Value("fence"))?),
        expires: Moment::from_nanos(u64::from_le_bytes(array(head, 16))),
    };
    let boot = BootId::from_bits(u128::from_le_bytes(array(head, 32)));
    let written = u64::from_le_bytes(array(head, 24));
    Ok((Stamped { record, boot, written }, HEAD + owner_len + SUM))
}

/// The fence that a damaged record seems to have had, for the high-water mark of a store that is told to discard it.
///
/// A guess is good enough there, because a mark that is too high harms nobody; one beyond `ceiling` is not believed,
/// since a wild value would use up all fences at once.
#[must_use]
pub fn salvage_fence(bytes: &[u8], ceiling: u64) -> Option<Fence> {
    let field = bytes.get(8..16)?;
    Fence::new(u64::from_le_bytes(array(field, 0))).filter(|fence| fence.get() <= ceiling)
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut out = [0; N];
    out.copy_from_slice(&bytes[at..at + N]);
    out
}

fn checksum(id: &SandboxId, bytes: &[u8]) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    sum.update(id.as_str().as_bytes());
    sum.update(&[0]);
    sum.update(bytes);
    sum.finalize()
}

/// Why bytes are not a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FormatError {
    /// Fewer bytes than the record says it has: a torn write or a truncated file.
    Short,
    /// They don't begin as a record does.
    NotARecord,
    /// Another version wrote them.
    Version(u8),
    /// The checksum is wrong: damaged, or another id's record.
    Checksum,
    /// Undamaged, but this field has a value that can't be.
    Value(&'static str),
    /// A record without a fence has no form in bytes.
    Fenceless,
}

impl fmt::Display for FormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Short => f.write_str("the record is cut short"),
            Self::NotARecord => f.write_str("it is not a lease record"),
            Self::Version(v) => {
                write!(f, "the record has version {v}; this build reads version {VERSION}: upgrade it")
            }
            Self::Checksum => f.write_str("the record's checksum is wrong: it is damaged or another id's"),
            Self::Value(field) => write!(f, "the record's {field} has an impossible value"),
            Self::Fenceless => f.write_str("a record needs a fence"),
        }
    }
}

impl std::error::Error for FormatError {}

impl FormatError {
    /// The store error for a record of unreadable bytes kept at `place`.
    #[must_use]
    pub fn at(self, place: &str) -> StoreError {
        StoreError::new(
            ErrorKind::Corrupt,
            format!("{self}; look at {place}, and discard the id once you know that nobody uses it"),
        )
        .with_source(self)
    }
}
