//! The harness, and the one line that has the store proved: one `#[test]` a case.

use std::sync::{Arc, Mutex, PoisonError};

use leasehold::{CellStore, Clock, OwnerId, OwnershipStore, Reach, StoreError, Ttl};
use leasehold_conformance::{Capabilities, Harness, Namespace, Unready};
use somebody_elses_store::{ListCell, Table};

#[derive(Default)]
struct ListHarness;

impl Harness for ListHarness {
    fn name(&self) -> String {
        "list".to_owned()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::virtual_time(Reach::Process)
    }

    fn fresh(&self) -> Result<Box<dyn Namespace>, Unready> {
        Ok(Box::new(ListNamespace(Arc::default())))
    }
}

struct ListNamespace(Arc<Mutex<Table>>);

impl Namespace for ListNamespace {
    fn open(&self, owner: OwnerId, ttl: Ttl, clock: Arc<dyn Clock>) -> Result<Arc<dyn OwnershipStore>, StoreError> {
        Ok(Arc::new(CellStore::new(ListCell(Arc::clone(&self.0), clock), owner, ttl)))
    }

    fn stored(&self) -> Option<u64> {
        Some(self.0.lock().unwrap_or_else(PoisonError::into_inner).0.len() as u64)
    }
}

leasehold_conformance::conformance_suite!(ListHarness);
