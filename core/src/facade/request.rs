use std::panic::{AssertUnwindSafe, catch_unwind};

use super::Orphan;
use super::ledger::Entry;
use crate::{
    ClaimOutcome, DiscardOutcome, ErrorKind, Fence, Intent, Lease, Listing, Operation, OwnershipStore, Phase,
    ReleaseOutcome, RenewOutcome, Replaced, SandboxId, StoreError, TakeOutcome,
};

/// What a caller asks of the store.
#[derive(Clone, Debug)]
pub(super) enum Request {
    Take(SandboxId),
    Claim(SandboxId, Intent),
    Renew(SandboxId),
    RenewMany(Vec<SandboxId>),
    Release(SandboxId),
    ReleaseTenure(SandboxId, Fence),
    Inspect(SandboxId),
    List,
    Discard(SandboxId, bool),
    /// Asked by the facade itself: a tenure came back after its caller had gone.
    Settle(Box<Orphan>, Entry),
}

/// What the store answered.
#[derive(Debug)]
pub(super) enum Reply {
    Take(Result<TakeOutcome, StoreError>),
    Claim(Result<ClaimOutcome, StoreError>),
    Renew(Result<RenewOutcome, StoreError>),
    RenewMany(Vec<Result<RenewOutcome, StoreError>>),
    Release(Result<ReleaseOutcome, StoreError>),
    Inspect(Result<Option<Lease>, StoreError>),
    List(Result<Listing, StoreError>),
    Discard(Result<DiscardOutcome, StoreError>),
    /// The store's code panicked, or there is nobody to answer.
    Failed(StoreError),
}

impl Request {
    pub(super) fn operation(&self) -> Operation {
        match self {
            Self::Take(_) => Operation::Take,
            Self::Claim(..) => Operation::Claim,
            Self::Renew(_) | Self::RenewMany(_) => Operation::Renew,
            Self::Release(_) | Self::ReleaseTenure(..) | Self::Settle(..) => Operation::Release,
            Self::Inspect(_) => Operation::Inspect,
            Self::List => Operation::List,
            Self::Discard(..) => Operation::Discard,
        }
    }

    pub(super) fn id(&self) -> Option<&SandboxId> {
        match self {
            Self::Take(id)
            | Self::Claim(id, _)
            | Self::Renew(id)
            | Self::Release(id)
            | Self::ReleaseTenure(id, _)
            | Self::Inspect(id)
            | Self::Discard(id, _) => Some(id),
            Self::RenewMany(_) | Self::List => None,
            Self::Settle(orphan, _) => Some(&orphan.id),
        }
    }

    /// The id on which this may begin or refresh a tenure that somebody then relies on.
    pub(super) fn tenure_of(&self) -> Option<&SandboxId> {
        match self {
            Self::Take(id) | Self::Claim(id, _) => Some(id),
            _ => None,
        }
    }

    /// `error`, saying what was asked.
    pub(super) fn name(&self, error: StoreError) -> StoreError {
        error.during(self.operation(), self.id())
    }

    /// Asks the store. A panic in there becomes an error of this call alone.
    pub(super) fn perform(&self, store: &dyn OwnershipStore) -> Reply {
        catch_unwind(AssertUnwindSafe(|| self.ask(store))).unwrap_or_else(|panic| {
            let said = panic
                .downcast_ref::<&str>()
                .copied()
                .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
                .unwrap_or("no message");
            let error = StoreError::new(ErrorKind::Panicked, format!("the store panicked: {said}"));
            Reply::Failed(self.name(error))
        })
    }

    fn ask(&self, store: &dyn OwnershipStore) -> Reply {
        match self {
            Self::Take(id) => Reply::Take(store.take(id)),
            Self::Claim(id, intent) => Reply::Claim(store.claim(id, *intent)),
            Self::Renew(id) => Reply::Renew(store.renew(id)),
            Self::RenewMany(ids) => Reply::RenewMany(store.renew_many(ids)),
            Self::Release(id) => Reply::Release(store.release(id)),
            Self::ReleaseTenure(id, fence) => Reply::Release(store.release_tenure(id, *fence)),
            Self::Settle(orphan, _) => Reply::Release(store.release_tenure(&orphan.id, orphan.tenure.fence)),
            Self::Inspect(id) => Reply::Inspect(store.inspect(id)),
            Self::List => Reply::List(store.list()),
            Self::Discard(id, force) => Reply::Discard(store.discard(id, *force)),
        }
    }

    /// The tenure in `reply`, as an orphan in case nobody is left to receive it.
    pub(super) fn orphan_in(&self, reply: &Reply) -> Option<Orphan> {
        let (tenure, replaced, phase) = match (self, reply) {
            (Self::Take(_), Reply::Take(Ok(TakeOutcome::Taken { tenure, replaced }))) => {
                (tenure, replaced, Phase::Held)
            }
            (Self::Claim(_, intent), Reply::Claim(Ok(ClaimOutcome::Claimed { tenure, replaced }))) => {
                let phase = if *intent == Intent::Keep { Phase::Held } else { Phase::Teardown };
                (tenure, replaced, phase)
            }
            _ => return None,
        };
        let id = self.tenure_of()?.clone();
        Some(Orphan { id, tenure: *tenure, replaced: replaced.clone(), phase })
    }
}

impl Reply {
    /// Why there is no answer of the kind that was asked for.
    pub(super) fn failure(self) -> StoreError {
        match self {
            Self::Failed(error) => error,
            other => unreachable!("the store answered another question: {other:?}"),
        }
    }

    /// Whether a tenure that was there already was given to this call too.
    pub(super) fn is_refresh(&self) -> bool {
        matches!(self, Self::Claim(Ok(ClaimOutcome::Claimed { tenure, replaced: Replaced::Mine(fence) }))
            if *fence == tenure.fence)
    }
}
