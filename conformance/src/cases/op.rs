use leasehold::{ErrorKind, Fence, Intent, SandboxId, StoreError};

use crate::kit::Store;

/// Every operation of a store, for the cases that want each of them to answer alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    Take,
    Keep,
    Destroy,
    DestroyTenure,
    Renew,
    RenewMany,
    Release,
    ReleaseTenure,
    Inspect,
    Discard,
    List,
}

impl Op {
    /// Those that are about one sandbox.
    pub(super) const ALL: [Self; 10] = [
        Self::Take,
        Self::Keep,
        Self::Destroy,
        Self::DestroyTenure,
        Self::Renew,
        Self::RenewMany,
        Self::Release,
        Self::ReleaseTenure,
        Self::Inspect,
        Self::Discard,
    ];

    /// Asks, with a fence that no tenure has where one is asked for, and gives the answer in words.
    pub(super) fn ask(self, store: &Store, sbx: &SandboxId) -> Result<String, StoreError> {
        Ok(match self {
            Self::Take => format!("{:?}", store.take(sbx)?),
            Self::Keep => format!("{:?}", store.claim(sbx, Intent::Keep)?),
            Self::Destroy => format!("{:?}", store.claim(sbx, Intent::Destroy)?),
            Self::DestroyTenure => format!("{:?}", store.claim(sbx, Intent::DestroyTenure(Fence::MIN))?),
            Self::Renew => format!("{:?}", store.renew(sbx)?),
            Self::RenewMany => {
                let outcome = store.renew_many(std::slice::from_ref(sbx)).into_iter().next();
                let none = || StoreError::new(ErrorKind::Invalid, "renew_many of one id gave no outcome");
                format!("{:?}", outcome.ok_or_else(none)??)
            }
            Self::Release => format!("{:?}", store.release(sbx)?),
            Self::ReleaseTenure => format!("{:?}", store.release_tenure(sbx, Fence::MIN)?),
            Self::Inspect => format!("{:?}", store.inspect(sbx)?),
            Self::Discard => format!("{:?}", store.discard(sbx, false)?),
            Self::List => format!("{:?}", store.list()?.leases),
        })
    }
}
