use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use leasehold::codec::{self, Stamped, Standing};
use leasehold::{Boot, ErrorKind, Fence, Record, SandboxId, StoreError, WallTime};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::Outage;

/// What a faulty store keeps, for all its handles: rows of bytes, a high-water mark, and what is broken just now.
#[derive(Clone, Debug, Default)]
pub(super) struct World {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    /// How often the state was changed, so that a race can be seen.
    version: AtomicU64,
}

/// The state behind the lock.
#[derive(Clone, Debug, Default)]
pub(super) struct State {
    pub(super) rows: BTreeMap<String, Row>,
    pub(super) mark: u64,
    pub(super) outage: Option<Outage>,
    /// A handle has met an outage and never got over it.
    pub(super) broken: bool,
}

/// One record as bytes, and as it was before its last change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Row {
    /// `None` where another kind of thing stands in its place.
    pub(super) bytes: Option<Vec<u8>>,
    pub(super) before: Vec<u8>,
}

impl World {
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn version(&self) -> u64 {
        self.shared.version.load(Ordering::SeqCst)
    }

    pub(super) fn changed(&self) {
        self.shared.version.fetch_add(1, Ordering::SeqCst);
    }
}

impl Row {
    /// The record as it counts in the boot `here`, and the fence of one that doesn't.
    pub(super) fn read(
        &self,
        id: &SandboxId,
        here: Boot,
    ) -> Result<(Option<Record>, Option<Fence>), StoreError> {
        let stamped = self.decode(id)?;
        Ok(match stamped.standing(here)? {
            Standing::Counts(record) => (Some(record), None),
            Standing::Void(fence) => (None, fence),
        })
    }

    /// Whatever is there, whoever wrote it when.
    pub(super) fn decode(&self, id: &SandboxId) -> Result<Stamped, StoreError> {
        let place = format!("row {id}");
        let Some(bytes) = &self.bytes else {
            return Err(StoreError::new(ErrorKind::Corrupt, format!("{place} is not a record at all")));
        };
        match codec::decode(id, bytes) {
            Ok((stamped, len)) if len == bytes.len() => Ok(stamped),
            Ok(_) => Err(StoreError::new(ErrorKind::Corrupt, format!("{place} is longer than its record"))),
            Err(error) => Err(error.at(&place)),
        }
    }

    pub(super) fn write(&mut self, id: &SandboxId, record: Record, boot: Boot, written: WallTime) {
        let stamped = Stamped { record, boot: boot.id, written };
        let bytes = codec::encode(id, &stamped).expect("every record of ours has a fence");
        self.before = self.bytes.replace(bytes).unwrap_or_default();
    }
}
