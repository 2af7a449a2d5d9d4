use std::path::Path;

use leasehold::codec::{self, Stamped, Standing};
use leasehold::{Clock, ErrorKind, Fence, Record, SandboxId, StoreError};
use rusqlite::types::ValueRef;

/// What a row of the table of leases means here and now.
pub(super) enum Row {
    /// No row.
    Absent,
    /// A record of this boot, live or not.
    Counts(Record),
    /// A record of a boot that is over: absent, but for its fence.
    Void(Option<Fence>),
    /// One that another live kernel wrote: it can be read and not judged.
    Foreign(Option<Fence>, StoreError),
    /// Bytes that are no record of this id; the fence is a guess.
    Damaged(Option<Fence>, StoreError),
}

impl Row {
    /// The row of `id` with this `record` column, in the database at `path`.
    pub(super) fn of(id: &SandboxId, record: ValueRef<'_>, clock: &dyn Clock, path: &Path) -> Self {
        let ValueRef::Blob(bytes) = record else {
            let error = StoreError::new(
                ErrorKind::Corrupt,
                format!(
                    "the record is of type {} and not a blob; look at {}, and discard the id once you know that \
                     nobody uses it",
                    record.data_type(),
                    place(id, path)
                ),
            );
            return Self::Damaged(None, error);
        };
        let stamped = match codec::decode(id, bytes) {
            Ok((stamped, used)) if used == bytes.len() => stamped,
            Ok(_) => {
                return Self::damaged(bytes, codec::FormatError::Value("length").at(&place(id, path)), clock);
            }
            Err(error) => return Self::damaged(bytes, error.at(&place(id, path)), clock),
        };
        let fence = stamped.record.fence;
        match stamped.standing(clock.boot()) {
            Ok(Standing::Counts(record)) => Self::Counts(record),
            Ok(Standing::Void(fence)) => Self::Void(fence),
            Err(error) => Self::Foreign(fence, error),
        }
    }

    fn damaged(bytes: &[u8], error: StoreError, clock: &dyn Clock) -> Self {
        const DAY: u64 = 24 * 60 * 60 * 1_000_000;
        let ceiling = clock.wall().saturating_add(DAY);
        Self::Damaged(codec::salvage_fence(bytes, ceiling), error)
    }

    /// Whether it can be forgotten without harm: it can be read, and its time is over.
    pub(super) fn ran_out(&self, clock: &dyn Clock) -> bool {
        match self {
            Self::Counts(record) => !record.is_live(clock.now()),
            Self::Void(_) => true,
            Self::Absent | Self::Foreign(..) | Self::Damaged(..) => false,
        }
    }

    /// The fence that the mark must reach before this is forgotten.
    pub(super) fn fence(&self) -> Option<Fence> {
        match self {
            Self::Absent => None,
            Self::Counts(record) => record.fence,
            Self::Void(fence) | Self::Foreign(fence, _) | Self::Damaged(fence, _) => *fence,
        }
    }
}

/// Where the record of `id` is kept, in the words of an error.
fn place(id: &SandboxId, path: &Path) -> String {
    format!("the row {id:?} of the table lease in {}", path.display(), id = id.as_str())
}

/// The bytes of `record`, as this boot writes it now.
pub(super) fn bytes(id: &SandboxId, record: Record, clock: &dyn Clock) -> Result<Vec<u8>, StoreError> {
    let stamped = Stamped { record, boot: clock.boot().id, written: clock.wall() };
    codec::encode(id, &stamped).map_err(|e| StoreError::new(ErrorKind::Invalid, e.to_string()).with_source(e))
}
