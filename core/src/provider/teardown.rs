//! One stop, from the decision to its end: claim, condemn, claim once more, destroy, and only then let the lease go.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::FutureExt;
use futures_util::future::{Either, join, select};
use std::pin::pin;
use tokio::sync::watch;

use super::DestroyError;
use super::event::Event;
use super::inner::{Inner, panic_text};
use super::planted::Planted;
use super::registry::{Stop, StopEnd, StopWhy};
use crate::{
    BackendError, BackendOperation, ClaimOutcome, Destroyed, Fence, Intent, Moment, SandboxId, SandboxInfo,
    StoreError, Tenure,
};

/// How far a stop came before it failed.
enum Failed {
    /// Too little was left of the lease.
    NoTime,
    /// The engine did not condemn it, or did not say so.
    Condemning(BackendError),
    /// It is condemned, and the store did not permit or did not answer.
    NotPermitted(Option<StoreError>),
    /// It is condemned, and the engine did not stop it or did not say so.
    Destroying(BackendError),
    Panicked(String),
}

impl Inner {
    /// Stops `id` because somebody asked for it.
    pub(super) async fn destroy(self: &Arc<Self>, id: &SandboxId) -> Result<(), DestroyError> {
        let stop = self.registry.reserve(id, StopWhy::Asked, self.now()).map_err(|refusal| {
            self.events.refused(id, StopWhy::Asked, refusal);
            DestroyError::Refused(refusal)
        })?;
        let inner = Arc::clone(self);
        self.run(async move { inner.stop(stop).await }).await.unwrap_or(Err(DestroyError::Panicked))
    }

    /// Carries a decided stop out. Whatever happens, its reservation ends with it.
    pub(super) async fn stop(self: &Arc<Self>, stop: Stop) -> Result<(), DestroyError> {
        let ended = Reserved { inner: self, stop: &stop, done: false };
        let (end, result) = self.stop_by_lease(&stop).await;
        ended.end(end);
        match &result {
            Ok(()) => self.events.tell(Event::Stopped {
                id: stop.id.clone(),
                instance: stop.info.instance.clone(),
                why: stop.why,
            }),
            Err(error) => self.events.tell(Event::NotStopped {
                id: stop.id.clone(),
                why: stop.why,
                because: error.to_string(),
            }),
        }
        result
    }

    async fn stop_by_lease(&self, stop: &Stop) -> (StopEnd, Result<(), DestroyError>) {
        let (id, mut intent) = (&stop.id, Intent::DestroyTenure(stop.fence));
        if self.guards.lack(Planted::TenureOfStop) {
            intent = Intent::Destroy;
        }
        let claim = async {
            if self.guards.lack(Planted::ClaimBeforeStop) {
                let valid_until = self.now() + self.config.ownership.ttl().as_duration();
                let tenure = Tenure { fence: stop.fence, valid_until };
                return Ok(ClaimOutcome::Claimed { tenure, replaced: crate::Replaced::Nothing });
            }
            self.store.claim(id, intent).await
        };
        let tenure = match claim.await {
            Ok(ClaimOutcome::Claimed { tenure, .. }) => tenure,
            Ok(ClaimOutcome::Refused) => return (StopEnd::Refused, Err(DestroyError::NotOurs)),
            Ok(ClaimOutcome::Lapsed) => return (StopEnd::Lapsed, Err(DestroyError::NotOurs)),
            Err(error) => return (StopEnd::Unknown, Err(DestroyError::StoreUnknown(error))),
        };
        let until = AtomicU64::new(tenure.valid_until.as_nanos());
        let (over, is_over) = watch::channel(false);
        let work = async {
            let done = AssertUnwindSafe(self.stop_claimed(stop, tenure, &until)).catch_unwind().await;
            if self.guards.lack(Planted::ReleaseAfterRefresh) {
                self.let_lease_go(id, tenure.fence).await;
            }
            over.send_replace(true);
            done.unwrap_or_else(|panic| Err(Failed::Panicked(panic_text(&*panic))))
        };
        // The last refresh has been answered before the release is sent (K3).
        if self.guards.lack(Planted::TrackedWhileStopping) {
            self.registry.drop_instance(id, &stop.info.instance, super::LostReason::Stopped);
        }
        let (done, ()) = join(work, self.keep_alive(id, tenure.fence, is_over, &until)).await;
        self.let_lease_go(id, tenure.fence).await;
        match done {
            Ok(_) => (StopEnd::Gone, Ok(())),
            Err(failed) => self.failed(failed),
        }
    }

    fn failed(&self, failed: Failed) -> (StopEnd, Result<(), DestroyError>) {
        let (condemned, error) = match failed {
            Failed::NoTime => (false, DestroyError::NoTime),
            // It may have happened: a look at the instance tells, before anybody is handed it out.
            Failed::Condemning(error) => (false, DestroyError::Backend(error)),
            Failed::NotPermitted(None) => (true, DestroyError::NotOurs),
            Failed::NotPermitted(Some(error)) => (true, DestroyError::StoreUnknown(error)),
            Failed::Destroying(error) => (true, DestroyError::Backend(error)),
            Failed::Panicked(message) => {
                self.events.tell(Event::Panicked { doing: "stopping", message });
                (true, DestroyError::Panicked)
            }
        };
        (StopEnd::Failed { condemned }, Err(error))
    }

    /// Under the Teardown lease.
    async fn stop_claimed(
        &self,
        stop: &Stop,
        tenure: Tenure,
        until: &AtomicU64,
    ) -> Result<Destroyed, Failed> {
        let (id, instance) = (&stop.id, &stop.info.instance);
        // Condemning can't be undone, so it begins only while it will surely end within the lease (K8).
        let left = Moment::from_nanos(until.load(Ordering::Relaxed)).since(self.now());
        let needed = self.config.backend_deadline.min(self.config.ownership.ttl().as_duration() / 2);
        if left < needed && !self.guards.lack(Planted::TimeForStop) {
            return Err(Failed::NoTime);
        }
        if !self.guards.lack(Planted::Condemning) {
            let call = self.backend.condemn(instance);
            self.within(needed, BackendOperation::Condemn, id, call).await.map_err(Failed::Condemning)?;
        }
        let once_more = async {
            if self.guards.lack(Planted::ClaimAfterCondemning) {
                return Ok(ClaimOutcome::Claimed { tenure, replaced: crate::Replaced::Nothing });
            }
            self.store.claim(id, Intent::DestroyTenure(tenure.fence)).await
        };
        match once_more.await {
            Ok(ClaimOutcome::Claimed { tenure, .. }) => {
                until.fetch_max(tenure.valid_until.as_nanos(), Ordering::Relaxed);
            }
            Ok(ClaimOutcome::Refused | ClaimOutcome::Lapsed) => return Err(Failed::NotPermitted(None)),
            Err(error) => return Err(Failed::NotPermitted(Some(error))),
        }
        let mut instance = instance.clone();
        if self.guards.lack(Planted::StopByInstance) {
            match self.discover(id).await.map_err(Failed::Destroying)? {
                Some(named) => instance = named.instance,
                None => return Ok(Destroyed::AlreadyGone),
            }
        }
        let call = self.backend.destroy(&instance);
        self.within(self.config.stop_deadline, BackendOperation::Destroy, id, call)
            .await
            .map_err(Failed::Destroying)
    }

    /// Refreshes the Teardown for as long as the stop runs, so that no acquire gets in between.
    async fn keep_alive(
        &self,
        id: &SandboxId,
        fence: Fence,
        mut over: watch::Receiver<bool>,
        until: &AtomicU64,
    ) {
        let interval = self.config.ownership.renewal_interval();
        loop {
            let ended = pin!(async { over.wait_for(|over| *over).await.is_ok() });
            if let Either::Right(_) = select(self.env.sleep(interval), ended).await {
                return;
            }
            if self.guards.lack(Planted::Heartbeat) {
                continue;
            }
            let beat = async {
                if self.guards.lack(Planted::HeartbeatByTenure) {
                    return self.store.claim(id, Intent::Destroy).await;
                }
                self.store.heartbeat(id, fence).await
            };
            match beat.await {
                Ok(ClaimOutcome::Claimed { tenure, .. }) => {
                    until.fetch_max(tenure.valid_until.as_nanos(), Ordering::Relaxed);
                }
                // The marker is gone. It is not planted anew; the stop asks once more before it does what can't be undone.
                Ok(ClaimOutcome::Refused | ClaimOutcome::Lapsed) => {
                    tracing::warn!(%id, clause = "K3", "the teardown lease ran out under a slow stop");
                }
                Err(error) => {
                    self.events.tell(Event::StoreUnknown { doing: "keeping a teardown alive", error })
                }
            }
        }
    }

    /// Finishes a condemned instance that an earlier stop left (K8): the id is ours, and nobody here uses that instance.
    pub(super) async fn finish(self: &Arc<Self>, info: &SandboxInfo) {
        let id = &info.id;
        let Some(fence) = self.registry.may_finish(info, self.now()) else { return };
        // Only what the store has just called ours, by the same tenure, may be finished.
        if !self.ask(id).await || self.registry.may_finish(info, self.now()) != Some(fence) {
            return;
        }
        let call = self.backend.destroy(&info.instance);
        match self.within(self.config.stop_deadline, BackendOperation::Destroy, id, call).await {
            Ok(_) => self.events.tell(Event::Finished { id: id.clone(), instance: info.instance.clone() }),
            Err(error) => {
                self.events.tell(Event::EngineUnknown { doing: "finishing a condemned instance", error })
            }
        }
    }
}

/// A reservation that ends whatever happens to the stop.
struct Reserved<'a> {
    inner: &'a Inner,
    stop: &'a Stop,
    done: bool,
}

impl Reserved<'_> {
    fn end(mut self, end: StopEnd) {
        self.done = true;
        self.inner.registry.stop_ended(self.stop, end, self.inner.now(), self.inner.env.awake());
    }
}

impl Drop for Reserved<'_> {
    /// Only a panic outside the stop itself comes here: how far it came is not known.
    fn drop(&mut self) {
        if !self.done {
            let now = self.inner.now();
            self.inner.registry.stop_ended(self.stop, StopEnd::Unknown, now, self.inner.env.awake());
        }
    }
}
