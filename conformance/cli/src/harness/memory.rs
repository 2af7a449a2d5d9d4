//! The harness of the memory store.

use std::sync::Arc;

use leasehold::{CellStore, Clock, ManualClock, OwnerId, OwnershipStore, Reach, StoreError, Ttl};
use leasehold_conformance::{Capabilities, Harness, Namespace, Unready};
use leasehold_stores::memory::MemoryCell;

/// Every namespace is a cell of its own.
#[derive(Clone, Copy, Debug, Default)]
pub struct MemoryHarness;

impl Harness for MemoryHarness {
    fn name(&self) -> String {
        "memory".to_owned()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::virtual_time(Reach::Process)
    }

    fn fresh(&self) -> Result<Box<dyn Namespace>, Unready> {
        Ok(Box::new(MemoryNamespace { cell: MemoryCell::new(Arc::new(ManualClock::new())) }))
    }
}

struct MemoryNamespace {
    cell: MemoryCell,
}

impl Namespace for MemoryNamespace {
    fn open(
        &self,
        owner: OwnerId,
        ttl: Ttl,
        clock: Arc<dyn Clock>,
    ) -> Result<Arc<dyn OwnershipStore>, StoreError> {
        Ok(Arc::new(CellStore::new(self.cell.with_clock(clock), owner, ttl)))
    }

    fn stored(&self) -> Option<u64> {
        Some(self.cell.len() as u64)
    }
}
