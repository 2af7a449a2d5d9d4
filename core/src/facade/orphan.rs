use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::ledger::{Entry, Ledger};
use crate::{ErrorKind, OwnershipStore, Phase, ReleaseOutcome, Replaced, SandboxId, StoreError, Tenure};

/// A tenure that a call brought after its caller had gone: its future was dropped, or its deadline had passed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Orphan {
    /// Of which sandbox.
    pub id: SandboxId,
    /// The tenure that nobody received.
    pub tenure: Tenure,
    /// What it replaced.
    pub replaced: Replaced,
    /// Held, or Teardown.
    pub phase: Phase,
}

/// What became of an orphan.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum OrphanFate {
    /// The facade released it; or it found it gone already, which comes to the same.
    Released,
    /// It stays: it replaced or refreshed an earlier tenure of this owner, or another call of this facade for the same
    /// sandbox ran beside it and may rely on it. Whoever keeps track of this owner's sandboxes decides.
    Stays,
    /// Releasing it failed. It lasts until its TTL runs out, unless it is released by hand.
    NotReleased(StoreError),
}

/// Told of every orphan and its fate, on a thread of the facade. It may block for a moment; what it throws is swallowed.
#[derive(Clone)]
pub struct OrphanHook(Arc<Told>);

type Told = dyn Fn(&Orphan, &OrphanFate) + Send + Sync;

impl OrphanHook {
    /// A hook that calls `told`.
    pub fn new(told: impl Fn(&Orphan, &OrphanFate) + Send + Sync + 'static) -> Self {
        Self(Arc::new(told))
    }
}

impl fmt::Debug for OrphanHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OrphanHook")
    }
}

/// Releases `orphan` or leaves it, and tells the hook. Runs on a worker.
pub(super) fn settle(
    store: &dyn OwnershipStore,
    ledger: &Ledger,
    orphan: &Orphan,
    entry: Entry,
    hook: Option<&OrphanHook>,
) {
    let release = || catch_unwind(AssertUnwindSafe(|| store.release_tenure(&orphan.id, orphan.tenure.fence)));
    let released = match orphan.replaced {
        Replaced::Mine(_) => None,
        Replaced::Nothing | Replaced::Peer(_) => ledger.settle(entry, release),
    };
    let fate = match released {
        None => OrphanFate::Stays,
        Some(Ok(Ok(ReleaseOutcome::Released | ReleaseOutcome::NotHeld))) => OrphanFate::Released,
        Some(Ok(Err(error))) => OrphanFate::NotReleased(error),
        Some(Err(_)) => {
            let text = "the store panicked while an orphan was released";
            OrphanFate::NotReleased(StoreError::new(ErrorKind::Panicked, text))
        }
    };
    if let Some(OrphanHook(told)) = hook {
        // A hook that panics must not take the worker with it; the orphan's fate is sealed either way.
        let _ = catch_unwind(AssertUnwindSafe(|| told(orphan, &fate)));
    }
}
