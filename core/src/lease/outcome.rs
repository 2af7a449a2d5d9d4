use super::{Fence, Lease};
use crate::{Moment, OwnerId};

/// One unbroken responsibility of one owner in one phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tenure {
    /// Orders tenures of this sandbox; kept by every refresh.
    pub fence: Fence,
    /// Until when it surely holds unless refreshed, by this host's boot clock: the record's expiry where the store
    /// itself goes by that clock, else the moment the call was sent plus the TTL.
    pub valid_until: Moment,
}

/// What a successful take or claim found in the place of what it wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Replaced {
    /// Nothing: it was never written, released, or its time had run out.
    Nothing,
    /// A tenure of this same owner, by its fence. Where the new tenure has that very fence, it was refreshed.
    Mine(Fence),
    /// A live peer's lease. Only [`take`](crate::OwnershipStore::take) does that.
    Peer(OwnerId),
}

/// What a claim is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Intent {
    /// To be responsible for it (adopting, keeping).
    Keep,
    /// To stop it, when nothing is known of an earlier tenure.
    Destroy,
    /// To stop it on a decision made under the tenure with this fence, and only if that tenure is still the one that
    /// counts. Every stop of a provider begins with this.
    DestroyTenure(Fence),
}

/// The answer to [`take`](crate::OwnershipStore::take).
#[must_use = "a take may be turned away, and its tenure must be released or kept track of"]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TakeOutcome {
    /// It is mine now, under a new tenure.
    Taken {
        /// The new tenure.
        tenure: Tenure,
        /// What was there before.
        replaced: Replaced,
    },
    /// It is being stopped, by a peer or by this owner. Nothing was changed; wait and try again.
    BeingDestroyed,
}

/// The answer to [`claim`](crate::OwnershipStore::claim).
#[must_use = "only Claimed is a permission"]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClaimOutcome {
    /// It is mine, in the phase asked for.
    Claimed {
        /// The tenure: new, or refreshed when it replaced mine under the same fence.
        tenure: Tenure,
        /// What was there before.
        replaced: Replaced,
    },
    /// A peer's, or mine in a phase or under a fence that doesn't allow this. Nothing was changed.
    Refused,
    /// [`Intent::DestroyTenure`] found nothing there: that tenure is over. Nothing was planted.
    Lapsed,
}

/// The answer to [`renew`](crate::OwnershipStore::renew).
#[must_use = "Lost and Lapsed mean that the lease is not held"]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RenewOutcome {
    /// Still mine; the tenure as it stands now.
    Renewed(Tenure),
    /// Nobody holds it any more: it ran out, was released, or the store lost it. Nobody took it. Nothing was planted.
    Lapsed,
    /// A peer has it, or this owner is stopping it.
    Lost,
}

/// The answer to [`release`](crate::OwnershipStore::release) and
/// [`release_tenure`](crate::OwnershipStore::release_tenure).
#[must_use = "NotHeld says that somebody else may have it"]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReleaseOutcome {
    /// It was mine and is absent now, for everyone, at once.
    Released,
    /// It was not mine, or not that tenure. Nothing was changed.
    NotHeld,
}

/// The answer to [`discard`](crate::OwnershipStore::discard).
#[must_use = "a readable lease is discarded only when forced"]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DiscardOutcome {
    /// There was a record, readable or not; it is gone.
    Discarded,
    /// There was nothing.
    Absent,
    /// It is a live lease that can be read, and `force` was not given. Nothing was changed.
    Refused(Lease),
}
