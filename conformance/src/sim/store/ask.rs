//! What can be asked of the store and answered, and how that is told.

use leasehold::{
    ClaimOutcome, DiscardOutcome, ErrorKind, Fence, Intent, Lease, Listing, Operation, ReleaseOutcome,
    RenewOutcome, SandboxId, StoreError, TakeOutcome,
};

use crate::sim::plan::StoreCall;
use crate::sim::world::Names;

/// What a gateway asks of the store.
#[derive(Clone, Debug)]
pub(super) enum Ask {
    Take(SandboxId),
    Claim(SandboxId, Intent),
    Renew(Vec<SandboxId>),
    Release(SandboxId, Option<Fence>),
    Inspect(SandboxId),
    List,
    Discard(SandboxId, bool),
}

/// What the store answers.
#[derive(Debug)]
pub(super) enum Answer {
    Take(TakeOutcome),
    Claim(ClaimOutcome),
    Renew(Vec<RenewOutcome>),
    Release(ReleaseOutcome),
    Inspect(Option<Lease>),
    List(Listing),
    Discard(DiscardOutcome),
}

/// What a call comes to.
pub(super) type Reply = Result<Answer, StoreError>;

impl Ask {
    pub(super) fn kind(&self) -> StoreCall {
        match self {
            Self::Take(_) => StoreCall::Take,
            Self::Claim(..) => StoreCall::Claim,
            Self::Renew(_) => StoreCall::Renew,
            Self::Release(..) => StoreCall::Release,
            Self::Inspect(_) | Self::List | Self::Discard(..) => StoreCall::Any,
        }
    }

    pub(super) fn lane(&self) -> &'static str {
        match self {
            Self::Renew(_) => "queue of renewals",
            _ => "queue",
        }
    }

    pub(super) fn way_there(&self) -> &'static str {
        match self {
            Self::Take(_) => "take there",
            Self::Claim(..) => "claim there",
            Self::Renew(_) => "renew there",
            Self::Release(..) => "release there",
            _ => "look there",
        }
    }

    pub(super) fn way_back(&self) -> &'static str {
        match self {
            Self::Take(_) => "take back",
            Self::Claim(..) => "claim back",
            Self::Renew(_) => "renew back",
            Self::Release(..) => "release back",
            _ => "look back",
        }
    }

    pub(super) fn tenure_of(&self) -> Option<&SandboxId> {
        match self {
            Self::Take(id) | Self::Claim(id, _) => Some(id),
            _ => None,
        }
    }

    pub(super) fn id(&self) -> Option<&SandboxId> {
        match self {
            Self::Release(id, _) => Some(id),
            _ => self.tenure_of(),
        }
    }

    pub(super) fn error(&self, kind: ErrorKind, text: &'static str) -> StoreError {
        use Operation as Op;
        let (operation, id) = match self {
            Self::Take(id) => (Op::Take, Some(id)),
            Self::Claim(id, _) => (Op::Claim, Some(id)),
            Self::Renew(_) => (Op::Renew, None),
            Self::Release(id, _) => (Op::Release, Some(id)),
            Self::Inspect(id) => (Op::Inspect, Some(id)),
            Self::List => (Op::List, None),
            Self::Discard(id, _) => (Op::Discard, Some(id)),
        };
        StoreError::new(kind, text).during(operation, id)
    }

    pub(super) fn told(&self, names: &Names) -> String {
        match self {
            Self::Take(id) => format!("take {}", names.sandbox(id)),
            Self::Claim(id, intent) => format!("claim {} {intent:?}", names.sandbox(id)),
            Self::Renew(ids) => {
                let ids: Vec<_> = ids.iter().map(|id| names.sandbox(id)).collect();
                format!("renew {}", ids.join(", "))
            }
            Self::Release(id, None) => format!("release {}", names.sandbox(id)),
            Self::Release(id, Some(fence)) => format!("release {} under {fence:?}", names.sandbox(id)),
            Self::Inspect(id) => format!("look at the lease of {}", names.sandbox(id)),
            Self::List => "list the leases".to_owned(),
            Self::Discard(id, _) => format!("discard {}", names.sandbox(id)),
        }
    }
}

/// An answer in words.
pub(super) fn told(reply: &Reply) -> String {
    match reply {
        Ok(Answer::Take(TakeOutcome::Taken { tenure, replaced })) => {
            format!("taken under {:?}, replacing {replaced:?}", tenure.fence)
        }
        Ok(Answer::Claim(ClaimOutcome::Claimed { tenure, replaced })) => {
            format!("claimed under {:?}, replacing {replaced:?}", tenure.fence)
        }
        Ok(Answer::Take(other)) => format!("{other:?}"),
        Ok(Answer::Claim(other)) => format!("{other:?}"),
        Ok(Answer::Renew(outcomes)) => {
            let told: Vec<_> = outcomes
                .iter()
                .map(|outcome| match outcome {
                    RenewOutcome::Renewed(tenure) => format!("renewed {:?}", tenure.fence),
                    other => format!("{other:?}"),
                })
                .collect();
            told.join(", ")
        }
        Ok(Answer::Release(outcome)) => format!("{outcome:?}"),
        Ok(other) => format!("{other:?}"),
        Err(error) => error.to_string(),
    }
}
