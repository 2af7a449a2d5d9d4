use std::fmt;
use std::time::Duration;

use leasehold::{
    AsyncOwnershipStore, ClaimOutcome, Fence, Intent, RenewOutcome, SandboxId, StoreError, TakeOutcome,
};

/// One operation of [`AsyncOwnershipStore`]; a claim counts once for each intent that callers have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Call {
    /// `take`.
    Take,
    /// `claim(Keep)`.
    Keep,
    /// `claim(Destroy)`.
    Destroy,
    /// `heartbeat`, which a store sees as `claim(DestroyTenure)`.
    Heartbeat,
    /// `renew`.
    Renew,
    /// `renew_many`.
    RenewMany,
    /// `release`.
    Release,
    /// `release_tenure`.
    ReleaseTenure,
    /// `inspect`.
    Inspect,
    /// `list`.
    List,
    /// `discard`, forced.
    Discard,
    /// `close`.
    Close,
}

impl Call {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::Take,
        Self::Keep,
        Self::Destroy,
        Self::Heartbeat,
        Self::Renew,
        Self::RenewMany,
        Self::Release,
        Self::ReleaseTenure,
        Self::Inspect,
        Self::List,
        Self::Discard,
        Self::Close,
    ];

    /// All of them in an order in which each finds a lease to work on, asked of an id that is absent.
    pub(super) const DAY: [Self; 13] = [
        Self::Take,
        Self::Keep,
        Self::Renew,
        Self::RenewMany,
        Self::Inspect,
        Self::List,
        Self::ReleaseTenure,
        Self::Destroy,
        Self::Heartbeat,
        Self::Release,
        Self::Take,
        Self::Discard,
        Self::Close,
    ];

    /// How long a close may take; never reached where all is well.
    const CLOSE: Duration = Duration::from_secs(20);

    /// The name of the operation, which the intents of a claim have in common.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Take => "take",
            Self::Keep | Self::Destroy => "claim",
            Self::Heartbeat => "heartbeat",
            Self::Renew => "renew",
            Self::RenewMany => "renew_many",
            Self::Release => "release",
            Self::ReleaseTenure => "release_tenure",
            Self::Inspect => "inspect",
            Self::List => "list",
            Self::Discard => "discard",
            Self::Close => "close",
        }
    }

    /// The operation of a sync store that it comes down to.
    #[must_use]
    pub const fn of_store(self) -> &'static str {
        match self {
            Self::Heartbeat => "claim",
            other => other.name(),
        }
    }

    /// Whether it is asked in the lane of the renewals.
    pub(super) const fn is_renewal(self) -> bool {
        matches!(self, Self::Heartbeat | Self::Renew | Self::RenewMany)
    }

    /// Asks it of `store` about `id`, where `fence` is that of the tenure that its caller knows, and says which tenure the
    /// caller knows afterwards.
    ///
    /// # Errors
    /// Those of the operation; of a close the store's own.
    ///
    /// # Cancel safety
    /// That of the operation.
    pub async fn ask(
        self,
        store: &dyn AsyncOwnershipStore,
        id: &SandboxId,
        fence: Fence,
    ) -> Result<Fence, StoreError> {
        let of_claim = |outcome| match outcome {
            ClaimOutcome::Claimed { tenure, .. } => tenure.fence,
            ClaimOutcome::Refused | ClaimOutcome::Lapsed => fence,
        };
        let of_renewal = |outcome| match outcome {
            RenewOutcome::Renewed(tenure) => tenure.fence,
            RenewOutcome::Lost | RenewOutcome::Lapsed => fence,
        };
        Ok(match self {
            Self::Take => match store.take(id).await? {
                TakeOutcome::Taken { tenure, .. } => tenure.fence,
                TakeOutcome::BeingDestroyed => fence,
            },
            Self::Keep => of_claim(store.claim(id, Intent::Keep).await?),
            Self::Destroy => of_claim(store.claim(id, Intent::Destroy).await?),
            Self::Heartbeat => of_claim(store.heartbeat(id, fence).await?),
            Self::Renew => of_renewal(store.renew(id).await?),
            Self::RenewMany => {
                let outcomes = store.renew_many(vec![id.clone()]).await;
                outcomes.into_iter().next().map_or(Ok(fence), |outcome| outcome.map(of_renewal))?
            }
            Self::Release => store.release(id).await.map(|_| fence)?,
            Self::ReleaseTenure => store.release_tenure(id, fence).await.map(|_| fence)?,
            Self::Inspect => store.inspect(id).await.map(|_| fence)?,
            Self::List => store.list().await.map(|_| fence)?,
            Self::Discard => store.discard(id, true).await.map(|_| fence)?,
            Self::Close => store.close(Self::CLOSE).await.error.map_or(Ok(fence), Err)?,
        })
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Keep => f.write_str("claim(Keep)"),
            Self::Destroy => f.write_str("claim(Destroy)"),
            other => f.write_str(other.name()),
        }
    }
}
