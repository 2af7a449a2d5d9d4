use std::time::Duration;

use crate::{
    ClaimOutcome, DiscardOutcome, Fence, Intent, Lease, Listing, OwnerId, Reach, ReleaseOutcome,
    RenewOutcome, SandboxId, StoreError, TakeOutcome, Ttl,
};

/// A place where leases are kept, as one owner sees it.
///
/// Synchronous, because most drivers block; it may take up to the store's deadline and must never be called on a thread
/// that polls async tasks. Most stores are best written as a [`LeaseCell`](crate::LeaseCell), which is much less to
/// get wrong; implement this trait when the rules have to run inside the server.
///
/// Each operation does what one row of the lease table in `docs/contract.md` says. A definite answer is a value;
/// "could not find out" is always an error, and never means "free".
///
/// # Errors
/// Every operation may fail with any [`ErrorKind`](crate::ErrorKind); each kind says whether the effect may have
/// happened. Trying again converges.
pub trait OwnershipStore: Send + Sync + 'static {
    /// In whose name this handle asks.
    fn owner(&self) -> &OwnerId;

    /// How long a lease lasts from its last refresh.
    fn ttl(&self) -> Ttl;

    /// How far these leases are seen. What it says must be true: it decides whether peers can be kept out at all.
    fn reach(&self) -> Reach;

    /// How much later than its TTL a lease may vanish: the grain of the store's clock.
    fn quantum(&self) -> Duration;

    /// Makes this owner responsible, whoever was: for *using* a sandbox. Moves it from a live peer, whose next renewal
    /// is then [`RenewOutcome::Lost`]; only a stop under way keeps it out. To tidy up, use [`claim`](Self::claim).
    ///
    /// # Errors
    /// See the [trait](Self#errors).
    fn take(&self, id: &SandboxId) -> Result<TakeOutcome, StoreError>;

    /// Makes this owner responsible only if nobody else is: for *reaping* (adopting, keeping, stopping). Never moves a
    /// live peer's lease. To use a sandbox that a peer may have, use [`take`](Self::take).
    ///
    /// # Errors
    /// See the [trait](Self#errors).
    fn claim(&self, id: &SandboxId, intent: Intent) -> Result<ClaimOutcome, StoreError>;

    /// Goes on being responsible for another TTL. Never begins a tenure and never shortens one.
    ///
    /// # Errors
    /// See the [trait](Self#errors).
    fn renew(&self, id: &SandboxId) -> Result<RenewOutcome, StoreError>;

    /// Renews many at once: an outcome for each id in the order asked, equal to renewing one by one. What is wrong
    /// with one id fails no other; when the server fails midway, every id whose outcome is not certain is an error.
    fn renew_many(&self, ids: &[SandboxId]) -> Vec<Result<RenewOutcome, StoreError>> {
        ids.iter().map(|id| self.renew(id)).collect()
    }

    /// Stops being responsible, in either phase and whatever the tenure. A peer's lease is left alone.
    ///
    /// # Errors
    /// See the [trait](Self#errors).
    fn release(&self, id: &SandboxId) -> Result<ReleaseOutcome, StoreError>;

    /// Ends the tenure with this fence and leaves any other alone, so that a late release can't free a newer one.
    ///
    /// # Errors
    /// See the [trait](Self#errors).
    fn release_tenure(&self, id: &SandboxId, fence: Fence) -> Result<ReleaseOutcome, StoreError>;

    /// Looks, and changes nothing.
    ///
    /// # Errors
    /// See the [trait](Self#errors).
    fn inspect(&self, id: &SandboxId) -> Result<Option<Lease>, StoreError>;

    /// Every live lease of the namespace, whoever's, and the records that can't be read. Changes nothing.
    ///
    /// # Errors
    /// See the [trait](Self#errors). A list that fails is not an empty list.
    fn list(&self) -> Result<Listing, StoreError>;

    /// Removes the record of `id`, whoever's: an operator's way out when it can't be read. A live lease that can be
    /// read is removed only with `force`.
    ///
    /// # Errors
    /// See the [trait](Self#errors).
    fn discard(&self, id: &SandboxId, force: bool) -> Result<DiscardOutcome, StoreError>;

    /// Lets go of files and connections. Leases stay. Closing twice is harmless; every other call afterwards fails
    /// with [`ErrorKind::Closed`](crate::ErrorKind::Closed).
    ///
    /// # Errors
    /// See the [trait](Self#errors).
    fn close(&self) -> Result<(), StoreError>;
}

/// A boxed store is a store, so that what `leasehold_stores::open` gives can be handed on, to a facade for instance.
impl OwnershipStore for Box<dyn OwnershipStore> {
    fn owner(&self) -> &OwnerId {
        (**self).owner()
    }

    fn ttl(&self) -> Ttl {
        (**self).ttl()
    }

    fn reach(&self) -> Reach {
        (**self).reach()
    }

    fn quantum(&self) -> Duration {
        (**self).quantum()
    }

    fn take(&self, id: &SandboxId) -> Result<TakeOutcome, StoreError> {
        (**self).take(id)
    }

    fn claim(&self, id: &SandboxId, intent: Intent) -> Result<ClaimOutcome, StoreError> {
        (**self).claim(id, intent)
    }

    fn renew(&self, id: &SandboxId) -> Result<RenewOutcome, StoreError> {
        (**self).renew(id)
    }

    fn renew_many(&self, ids: &[SandboxId]) -> Vec<Result<RenewOutcome, StoreError>> {
        (**self).renew_many(ids)
    }

    fn release(&self, id: &SandboxId) -> Result<ReleaseOutcome, StoreError> {
        (**self).release(id)
    }

    fn release_tenure(&self, id: &SandboxId, fence: Fence) -> Result<ReleaseOutcome, StoreError> {
        (**self).release_tenure(id, fence)
    }

    fn inspect(&self, id: &SandboxId) -> Result<Option<Lease>, StoreError> {
        (**self).inspect(id)
    }

    fn list(&self) -> Result<Listing, StoreError> {
        (**self).list()
    }

    fn discard(&self, id: &SandboxId, force: bool) -> Result<DiscardOutcome, StoreError> {
        (**self).discard(id, force)
    }

    fn close(&self) -> Result<(), StoreError> {
        (**self).close()
    }
}
