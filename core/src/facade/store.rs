use std::time::Duration;

use async_trait::async_trait;

use super::CloseReport;
use crate::{
    ClaimOutcome, DiscardOutcome, Fence, Intent, Lease, Listing, OwnerId, Reach, ReleaseOutcome,
    RenewOutcome, SandboxId, StoreError, TakeOutcome, Ttl,
};

/// An [`OwnershipStore`](crate::OwnershipStore) for async code: the same operations with the same answers, none of
/// which ever blocks the thread that awaits it.
///
/// [`Offloaded`](super::Offloaded) makes one of any sync store. A store whose driver is async all the way down may
/// implement this itself; the kit's facade tier proves either.
///
/// # Errors
/// Every operation fails as its sync twin does, and besides with [`ErrorKind::Timeout`](crate::ErrorKind::Timeout)
/// past [`deadline`](Self::deadline), [`ErrorKind::Panicked`](crate::ErrorKind::Panicked) when the store did, and
/// [`ErrorKind::Closed`](crate::ErrorKind::Closed) after [`close`](Self::close).
///
/// # Cancel safety
/// Every future may be dropped at any time. Dropped before the store was called, nothing happens. Dropped later, the
/// store's call goes on to its end; a tenure that it brings and that nobody is left to receive is released again,
/// unless it took the place of an earlier tenure of this owner, which may have a holder: then it stays and is reported
/// as an [`Orphan`](super::Orphan).
#[async_trait]
pub trait AsyncOwnershipStore: Send + Sync + 'static {
    /// In whose name this handle asks.
    fn owner(&self) -> &OwnerId;

    /// How long a lease lasts from its last refresh.
    fn ttl(&self) -> Ttl;

    /// How far these leases are seen.
    fn reach(&self) -> Reach;

    /// How much later than its TTL a lease may vanish.
    fn quantum(&self) -> Duration;

    /// How long any one operation may take before it is given up.
    fn deadline(&self) -> Duration;

    /// See [`OwnershipStore::take`](crate::OwnershipStore::take).
    async fn take(&self, id: &SandboxId) -> Result<TakeOutcome, StoreError>;

    /// See [`OwnershipStore::claim`](crate::OwnershipStore::claim).
    async fn claim(&self, id: &SandboxId, intent: Intent) -> Result<ClaimOutcome, StoreError>;

    /// Keeps a Teardown alive while its stop runs: a `claim(DestroyTenure)` in the lane of the renewals, where nothing
    /// else delays it.
    async fn heartbeat(&self, id: &SandboxId, fence: Fence) -> Result<ClaimOutcome, StoreError>;

    /// See [`OwnershipStore::renew`](crate::OwnershipStore::renew). In a lane of its own.
    async fn renew(&self, id: &SandboxId) -> Result<RenewOutcome, StoreError>;

    /// See [`OwnershipStore::renew_many`](crate::OwnershipStore::renew_many). In the lane of the renewals.
    async fn renew_many(&self, ids: Vec<SandboxId>) -> Vec<Result<RenewOutcome, StoreError>>;

    /// See [`OwnershipStore::release`](crate::OwnershipStore::release).
    async fn release(&self, id: &SandboxId) -> Result<ReleaseOutcome, StoreError>;

    /// See [`OwnershipStore::release_tenure`](crate::OwnershipStore::release_tenure).
    async fn release_tenure(&self, id: &SandboxId, fence: Fence) -> Result<ReleaseOutcome, StoreError>;

    /// See [`OwnershipStore::inspect`](crate::OwnershipStore::inspect).
    async fn inspect(&self, id: &SandboxId) -> Result<Option<Lease>, StoreError>;

    /// See [`OwnershipStore::list`](crate::OwnershipStore::list).
    async fn list(&self) -> Result<Listing, StoreError>;

    /// See [`OwnershipStore::discard`](crate::OwnershipStore::discard).
    async fn discard(&self, id: &SandboxId, force: bool) -> Result<DiscardOutcome, StoreError>;

    /// Refuses what comes, lets what was asked before end within `deadline`, closes the store and says what had to be
    /// abandoned. Leases stay. Closing again is harmless and waits for nothing.
    async fn close(&self, deadline: Duration) -> CloseReport;
}
