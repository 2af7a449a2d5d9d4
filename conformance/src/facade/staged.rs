use std::sync::Arc;
use std::time::Duration;

use leasehold::{
    ClaimOutcome, DiscardOutcome, Fence, Intent, Lease, Listing, OwnerId, OwnershipStore, Reach,
    ReleaseOutcome, RenewOutcome, SandboxId, StoreError, TakeOutcome, Ttl,
};

use super::stage::Stage;
use crate::kit::Store;

/// The store under test behind a [`Stage`]: every answer is its own, and when it is asked the case decides.
pub(super) struct Staged {
    real: Store,
    stage: Arc<Stage>,
}

impl Staged {
    pub(super) fn new(real: Store, stage: Arc<Stage>) -> Self {
        Self { real, stage }
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        self.stage.dropped();
    }
}

impl OwnershipStore for Staged {
    fn owner(&self) -> &OwnerId {
        self.real.owner()
    }

    fn ttl(&self) -> Ttl {
        self.real.ttl()
    }

    fn reach(&self) -> Reach {
        self.real.reach()
    }

    fn quantum(&self) -> Duration {
        self.real.quantum()
    }

    fn take(&self, id: &SandboxId) -> Result<TakeOutcome, StoreError> {
        self.stage.play("take", Some(id), || self.real.take(id))
    }

    fn claim(&self, id: &SandboxId, intent: Intent) -> Result<ClaimOutcome, StoreError> {
        self.stage.play("claim", Some(id), || self.real.claim(id, intent))
    }

    fn renew(&self, id: &SandboxId) -> Result<RenewOutcome, StoreError> {
        self.stage.play("renew", Some(id), || self.real.renew(id))
    }

    /// Directed by the first of its ids.
    fn renew_many(&self, ids: &[SandboxId]) -> Vec<Result<RenewOutcome, StoreError>> {
        self.stage.play("renew_many", ids.first(), || self.real.renew_many(ids))
    }

    fn release(&self, id: &SandboxId) -> Result<ReleaseOutcome, StoreError> {
        self.stage.play("release", Some(id), || self.real.release(id))
    }

    fn release_tenure(&self, id: &SandboxId, fence: Fence) -> Result<ReleaseOutcome, StoreError> {
        self.stage.play("release_tenure", Some(id), || self.real.release_tenure(id, fence))
    }

    fn inspect(&self, id: &SandboxId) -> Result<Option<Lease>, StoreError> {
        self.stage.play("inspect", Some(id), || self.real.inspect(id))
    }

    fn list(&self) -> Result<Listing, StoreError> {
        self.stage.play("list", None, || self.real.list())
    }

    fn discard(&self, id: &SandboxId, force: bool) -> Result<DiscardOutcome, StoreError> {
        self.stage.play("discard", Some(id), || self.real.discard(id, force))
    }

    fn close(&self) -> Result<(), StoreError> {
        self.stage.play("close", None, || self.real.close())
    }
}
