use std::time::Duration;

use async_trait::async_trait;
use leasehold::{
    AsyncOwnershipStore, ClaimOutcome, Clock, CloseReport, DiscardOutcome, Fence, Intent, Lease, Listing,
    OwnerId, Reach, ReleaseOutcome, RenewOutcome, Replaced, SandboxId, StoreError, TakeOutcome, Tenure, Ttl,
};
use std::sync::Arc;

/// A store that says yes to everything and remembers nothing: it costs next to nothing, whatever the number of leases, and
/// the provider's own cost is left.
pub(super) struct Yes {
    pub(super) owner: OwnerId,
    pub(super) ttl: Ttl,
    pub(super) clock: Arc<dyn Clock>,
}

impl Yes {
    fn tenure(&self) -> Tenure {
        let fence = Fence::new(1).expect("one is a fence");
        Tenure { fence, valid_until: self.clock.now() + self.ttl.as_duration() }
    }
}

#[async_trait]
impl AsyncOwnershipStore for Yes {
    fn owner(&self) -> &OwnerId {
        &self.owner
    }

    fn ttl(&self) -> Ttl {
        self.ttl
    }

    fn reach(&self) -> Reach {
        Reach::Host
    }

    fn quantum(&self) -> Duration {
        Duration::ZERO
    }

    fn deadline(&self) -> Duration {
        Duration::from_secs(1)
    }

    async fn take(&self, _id: &SandboxId) -> Result<TakeOutcome, StoreError> {
        Ok(TakeOutcome::Taken { tenure: self.tenure(), replaced: Replaced::Nothing })
    }

    async fn claim(&self, _id: &SandboxId, _intent: Intent) -> Result<ClaimOutcome, StoreError> {
        Ok(ClaimOutcome::Claimed { tenure: self.tenure(), replaced: Replaced::Nothing })
    }

    async fn heartbeat(&self, id: &SandboxId, fence: Fence) -> Result<ClaimOutcome, StoreError> {
        self.claim(id, Intent::DestroyTenure(fence)).await
    }

    async fn renew(&self, _id: &SandboxId) -> Result<RenewOutcome, StoreError> {
        Ok(RenewOutcome::Renewed(self.tenure()))
    }

    async fn renew_many(&self, ids: Vec<SandboxId>) -> Vec<Result<RenewOutcome, StoreError>> {
        let tenure = self.tenure();
        ids.iter().map(|_| Ok(RenewOutcome::Renewed(tenure))).collect()
    }

    async fn release(&self, _id: &SandboxId) -> Result<ReleaseOutcome, StoreError> {
        Ok(ReleaseOutcome::Released)
    }

    async fn release_tenure(&self, _id: &SandboxId, _fence: Fence) -> Result<ReleaseOutcome, StoreError> {
        Ok(ReleaseOutcome::Released)
    }

    async fn inspect(&self, _id: &SandboxId) -> Result<Option<Lease>, StoreError> {
        Ok(None)
    }

    async fn list(&self) -> Result<Listing, StoreError> {
        Ok(Listing::default())
    }

    async fn discard(&self, _id: &SandboxId, _force: bool) -> Result<DiscardOutcome, StoreError> {
        Ok(DiscardOutcome::Absent)
    }

    async fn close(&self, _deadline: Duration) -> CloseReport {
        CloseReport::default()
    }
}
