use std::sync::Arc;
use std::time::Duration;

use leasehold::{
    CellStore, ClaimOutcome, DiscardOutcome, ErrorKind, Fence, Intent, Lease, Listing, Operation, OwnerId,
    OwnershipStore, Reach, ReleaseOutcome, RenewOutcome, SandboxId, StoreError, TakeOutcome, Ttl,
};

use super::cell::RulesCell;
use super::work::Work;

/// A store whose every operation does real blocking work and then answers by the lease rules.
pub struct BlockingProbe {
    work: Arc<dyn Work>,
    leases: CellStore<RulesCell>,
}

impl BlockingProbe {
    pub(super) fn new(work: Arc<dyn Work>, cell: RulesCell, owner: OwnerId, ttl: Ttl) -> Self {
        Self { work, leases: CellStore::new(cell, owner, ttl) }
    }

    fn work(&self, operation: Operation, id: Option<&SandboxId>) -> Result<(), StoreError> {
        self.work.work().map_err(|cause| {
            let error = StoreError::new(ErrorKind::Unavailable, "the probe's own work failed");
            error.with_source(cause).during(operation, id)
        })
    }
}

impl OwnershipStore for BlockingProbe {
    fn owner(&self) -> &OwnerId {
        self.leases.owner()
    }

    fn ttl(&self) -> Ttl {
        self.leases.ttl()
    }

    fn reach(&self) -> Reach {
        self.leases.reach()
    }

    fn quantum(&self) -> Duration {
        self.leases.quantum()
    }

    fn take(&self, id: &SandboxId) -> Result<TakeOutcome, StoreError> {
        self.work(Operation::Take, Some(id))?;
        self.leases.take(id)
    }

    fn claim(&self, id: &SandboxId, intent: Intent) -> Result<ClaimOutcome, StoreError> {
        self.work(Operation::Claim, Some(id))?;
        self.leases.claim(id, intent)
    }

    fn renew(&self, id: &SandboxId) -> Result<RenewOutcome, StoreError> {
        self.work(Operation::Renew, Some(id))?;
        self.leases.renew(id)
    }

    /// One piece of work for the whole batch, as in a store that sends it in one go.
    fn renew_many(&self, ids: &[SandboxId]) -> Vec<Result<RenewOutcome, StoreError>> {
        match self.work(Operation::Renew, None) {
            Ok(()) => self.leases.renew_many(ids),
            Err(error) => {
                ids.iter().map(|id| Err(error.clone().during(Operation::Renew, Some(id)))).collect()
            }
        }
    }

    fn release(&self, id: &SandboxId) -> Result<ReleaseOutcome, StoreError> {
        self.work(Operation::Release, Some(id))?;
        self.leases.release(id)
    }

    fn release_tenure(&self, id: &SandboxId, fence: Fence) -> Result<ReleaseOutcome, StoreError> {
        self.work(Operation::Release, Some(id))?;
        self.leases.release_tenure(id, fence)
    }

    fn inspect(&self, id: &SandboxId) -> Result<Option<Lease>, StoreError> {
        self.work(Operation::Inspect, Some(id))?;
        self.leases.inspect(id)
    }

    fn list(&self) -> Result<Listing, StoreError> {
        self.work(Operation::List, None)?;
        self.leases.list()
    }

    fn discard(&self, id: &SandboxId, force: bool) -> Result<DiscardOutcome, StoreError> {
        self.work(Operation::Discard, Some(id))?;
        self.leases.discard(id, force)
    }

    fn close(&self) -> Result<(), StoreError> {
        self.work(Operation::Close, None)?;
        self.leases.close()
    }
}
