//! The store as one gateway sees it: the async facade's behaviour, in virtual time, over the one set of leases.

mod ask;
mod call;
mod core;
mod judge;
mod ledger;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use leasehold::{
    AsyncOwnershipStore, ClaimOutcome, CloseReport, DiscardOutcome, Fence, Intent, Lease, Listing, OwnerId,
    Reach, ReleaseOutcome, RenewOutcome, SandboxId, StoreError, TakeOutcome, Ttl,
};

use self::ask::{Answer, Ask};
use self::call::Asking;
use self::core::Core;
use crate::sim::executor::Life;
use crate::sim::world::World;

/// One gateway's handle to the store of the world.
pub(in crate::sim) struct SimStore {
    core: Arc<Core>,
}

impl SimStore {
    pub(in crate::sim) fn new(world: &World, life: Life, gateway: usize, owner: OwnerId, ttl: Ttl) -> Self {
        let world = world.clone();
        let core = Core {
            world,
            life,
            gateway,
            owner,
            ttl,
            ledger: Mutex::default(),
            closed: Mutex::new(false),
            open: Mutex::new(0),
        };
        Self { core: Arc::new(core) }
    }

    fn ask(&self, ask: Ask) -> Asking {
        Asking { core: Arc::clone(&self.core), ask, call: None }
    }
}

#[async_trait]
impl AsyncOwnershipStore for SimStore {
    fn owner(&self) -> &OwnerId {
        &self.core.owner
    }

    fn ttl(&self) -> Ttl {
        self.core.ttl
    }

    fn reach(&self) -> Reach {
        if self.core.world.make.one_host && !self.core.world.make.server_clock {
            Reach::Host
        } else {
            Reach::Cluster
        }
    }

    fn quantum(&self) -> Duration {
        Duration::ZERO
    }

    fn deadline(&self) -> Duration {
        self.core.world.make.store_deadline
    }

    async fn take(&self, id: &SandboxId) -> Result<TakeOutcome, StoreError> {
        match self.ask(Ask::Take(id.clone())).await? {
            Answer::Take(outcome) => Ok(outcome),
            other => unreachable!("a take was answered {other:?}"),
        }
    }

    async fn claim(&self, id: &SandboxId, intent: Intent) -> Result<ClaimOutcome, StoreError> {
        match self.ask(Ask::Claim(id.clone(), intent)).await? {
            Answer::Claim(outcome) => Ok(outcome),
            other => unreachable!("a claim was answered {other:?}"),
        }
    }

    async fn heartbeat(&self, id: &SandboxId, fence: Fence) -> Result<ClaimOutcome, StoreError> {
        self.claim(id, Intent::DestroyTenure(fence)).await
    }

    async fn renew(&self, id: &SandboxId) -> Result<RenewOutcome, StoreError> {
        match self.ask(Ask::Renew(vec![id.clone()])).await? {
            Answer::Renew(mut outcomes) if outcomes.len() == 1 => Ok(outcomes.remove(0)),
            other => unreachable!("a renewal was answered {other:?}"),
        }
    }

    async fn renew_many(&self, ids: Vec<SandboxId>) -> Vec<Result<RenewOutcome, StoreError>> {
        match self.ask(Ask::Renew(ids.clone())).await {
            Ok(Answer::Renew(outcomes)) => outcomes.into_iter().map(Ok).collect(),
            Ok(other) => unreachable!("renewals were answered {other:?}"),
            Err(error) => ids.iter().map(|_| Err(error.clone())).collect(),
        }
    }

    async fn release(&self, id: &SandboxId) -> Result<ReleaseOutcome, StoreError> {
        match self.ask(Ask::Release(id.clone(), None)).await? {
            Answer::Release(outcome) => Ok(outcome),
            other => unreachable!("a release was answered {other:?}"),
        }
    }

    async fn release_tenure(&self, id: &SandboxId, fence: Fence) -> Result<ReleaseOutcome, StoreError> {
        match self.ask(Ask::Release(id.clone(), Some(fence))).await? {
            Answer::Release(outcome) => Ok(outcome),
            other => unreachable!("a release was answered {other:?}"),
        }
    }

    async fn inspect(&self, id: &SandboxId) -> Result<Option<Lease>, StoreError> {
        match self.ask(Ask::Inspect(id.clone())).await? {
            Answer::Inspect(lease) => Ok(lease),
            other => unreachable!("a look was answered {other:?}"),
        }
    }

    async fn list(&self) -> Result<Listing, StoreError> {
        match self.ask(Ask::List).await? {
            Answer::List(listing) => Ok(listing),
            other => unreachable!("a list was answered {other:?}"),
        }
    }

    async fn discard(&self, id: &SandboxId, force: bool) -> Result<DiscardOutcome, StoreError> {
        match self.ask(Ask::Discard(id.clone(), force)).await? {
            Answer::Discard(outcome) => Ok(outcome),
            other => unreachable!("a discard was answered {other:?}"),
        }
    }

    /// Waits for what was asked before.
    async fn close(&self, deadline: Duration) -> CloseReport {
        *self.core.closed.lock().unwrap_or_else(PoisonError::into_inner) = true;
        let executor = &self.core.world.executor;
        let end = executor.now() + crate::sim::executor::nanos(deadline);
        let mut report = CloseReport::default();
        loop {
            report.running = *self.core.open.lock().unwrap_or_else(PoisonError::into_inner);
            if report.running == 0 || executor.now() >= end {
                return report;
            }
            executor.sleep(self.core.life, Duration::from_millis(10)).await;
        }
    }
}
