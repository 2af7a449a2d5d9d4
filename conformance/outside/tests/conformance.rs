//! The harness and the one line that has the store proved.

use std::sync::{Arc, Mutex};

use leasehold::{CellStore, Clock, OwnerId, OwnershipStore, Reach, StoreError, Ttl};
use leasehold_conformance::{Capabilities, Harness, Namespace, Unready};
use somebody_elses_store::{ListCell, Table};

#[derive(Clone, Default)]
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
}

leasehold_conformance::conformance_suite!(ListHarness);
