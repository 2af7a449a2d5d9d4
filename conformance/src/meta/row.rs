use leasehold::codec::{self, Stamped, Standing};
use leasehold::{Boot, ErrorKind, Fence, Record, SandboxId, StoreError, WallTime};

/// One record as bytes, and as it was before its last change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Row {
    /// `None` where another kind of thing stands in its place.
    pub(super) bytes: Option<Vec<u8>>,
    pub(super) before: Vec<u8>,
    /// The process that wrote it.
    pub(super) writer: u32,
    /// What a foreign program wrote, in a form that has room for a lease without a fence.
    pub(super) foreign: Option<Stamped>,
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
        if let Some(foreign) = &self.foreign {
            return Ok(foreign.clone());
        }
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
        if self.foreign.is_some() && stamped.record.fence.is_none() {
            self.foreign = Some(stamped);
            return;
        }
        let bytes = codec::encode(id, &stamped).expect("every record of ours has a fence");
        self.before = self.bytes.replace(bytes).unwrap_or_default();
        self.foreign = None;
        self.writer = std::process::id();
    }
}
