//! What all parts of a provider share, and the small steps that more than one of them takes.

use std::collections::BTreeMap;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{Either, select};
use tokio::sync::{OnceCell, Semaphore, oneshot, watch};

use super::env::Env;
use super::event::{Event, EventLog};
use super::home::Home;
use super::keys::KeyLocks;
use super::pause::Pause;
use super::planted::{Guards, Planted};
use super::registry::{Asked, Follow, Parked, Registry, Shared};
use super::shutdown::ShutdownReport;
use super::{PrepareHook, ProviderConfig};
use crate::{
    AsyncOwnershipStore, BackendError, BackendErrorKind, BackendOperation, ClaimOutcome, EngineId, Fence,
    Intent, Moment, OwnerId, RenewOutcome, SandboxBackend, SandboxId,
};

/// One provider.
pub(super) struct Inner {
    pub(super) config: ProviderConfig,
    pub(super) owner: OwnerId,
    pub(super) store: Arc<dyn AsyncOwnershipStore>,
    pub(super) backend: Arc<dyn SandboxBackend>,
    pub(super) env: Arc<dyn Env>,
    pub(super) home: Arc<dyn Home>,
    pub(super) hook: Option<PrepareHook>,
    pub(super) environment: BTreeMap<String, String>,
    pub(super) engine: OnceCell<EngineId>,
    pub(super) registry: Registry,
    pub(super) guards: Guards,
    pub(super) keys: KeyLocks,
    pub(super) events: EventLog,
    pub(super) pause: Pause,
    /// How many more stops may begin.
    pub(super) stops: Arc<Semaphore>,
    /// Tells the loops to end: the reaper first, the renewal last.
    pub(super) stage: watch::Sender<Stage>,
    /// How many of the loops that tidy up run, and how many of those that renew.
    pub(super) loops: [AtomicUsize; 2],
    /// When the last renewal that the store answered was sent, in nanoseconds of the lease clock; zero before the first.
    pub(super) renewed_at: AtomicU64,
    pub(super) ended: watch::Sender<Option<ShutdownReport>>,
}

/// One of a provider's loops, for as long as it runs: the end waits for what its last round still does.
pub(super) struct Running {
    inner: Arc<Inner>,
    ends_at: Stage,
}

impl Running {
    /// A loop that ends when the provider has come to `ends_at`.
    pub(super) fn new(inner: &Arc<Inner>, ends_at: Stage) -> Self {
        inner.count(ends_at).fetch_add(1, Ordering::SeqCst);
        Self { inner: Arc::clone(inner), ends_at }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.inner.count(self.ends_at).fetch_sub(1, Ordering::SeqCst);
        self.inner.registry.calmer.notify_waiters();
    }
}

/// How far a provider is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stage {
    Running,
    /// No more tidying up.
    Closing,
    /// No more renewals.
    Over,
}

impl Inner {
    pub(super) fn now(&self) -> Moment {
        self.env.now()
    }

    fn count(&self, ends_at: Stage) -> &AtomicUsize {
        let [tidying, renewing] = &self.loops;
        if ends_at == Stage::Over { renewing } else { tidying }
    }

    /// Whether every loop that ends at `stage` has ended, its last round too.
    pub(super) fn has_ended(&self, stage: Stage) -> bool {
        self.count(stage).load(Ordering::SeqCst) == 0
    }

    /// Waits until the provider has come to `stage`.
    pub(super) async fn reached(&self, stage: Stage) {
        let mut at = self.stage.subscribe();
        // The sender lives in `self`.
        let _ = at.wait_for(|at| *at >= stage).await;
    }

    /// Rests for `duration`, or until the provider has come to `stage`. Says whether it rested to the end.
    pub(super) async fn rest(&self, duration: Duration, stage: Stage) -> bool {
        matches!(select(self.env.sleep(duration), pin!(self.reached(stage))).await, Either::Left(_))
    }

    /// Runs `task` where the provider's tasks run, to its end; `None` when it panicked. Dropping the future doesn't end it.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        task: impl Future<Output = T> + Send + 'static,
    ) -> Option<T> {
        let (answer, answered) = oneshot::channel();
        self.env.spawn(Box::pin(async move {
            let done = AssertUnwindSafe(task).catch_unwind().await;
            // Whoever asked may have left.
            let _ = answer.send(done.ok());
        }));
        answered.await.ok().flatten()
    }

    /// Does `work` where it may block; `None` when it panicked or was never done.
    pub(super) async fn offload<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let (answer, answered) = oneshot::channel();
        self.env.offload(Box::new(move || {
            let done = std::panic::catch_unwind(AssertUnwindSafe(work));
            let _ = answer.send(done.ok());
        }));
        answered.await.ok().flatten()
    }

    /// Ends a call of the backend about `id` after `limit`; otherwise as [`ask_engine`](Self::ask_engine).
    pub(super) async fn within<T>(
        &self,
        limit: Duration,
        operation: BackendOperation,
        id: &SandboxId,
        call: impl Future<Output = Result<T, BackendError>>,
    ) -> Result<T, BackendError> {
        self.ask_engine(limit, operation, call).await.map_err(|error| error.of(id))
    }

    /// Ends a call of the backend after `limit`, and contains its panic. Neither is an answer: what was asked for may have
    /// happened.
    pub(super) async fn ask_engine<T>(
        &self,
        limit: Duration,
        operation: BackendOperation,
        call: impl Future<Output = Result<T, BackendError>>,
    ) -> Result<T, BackendError> {
        let call = AssertUnwindSafe(call).catch_unwind();
        match select(pin!(call), self.env.sleep(limit)).await {
            Either::Left((Ok(answer), _)) => answer,
            Either::Left((Err(panic), _)) => {
                let message = panic_text(&*panic);
                let text = format!("the backend panicked: {message}; report it to whoever wrote the backend");
                self.events.tell(Event::Panicked { doing: operation.text(), message });
                Err(BackendError::new(BackendErrorKind::Panicked, text).during(operation))
            }
            Either::Right(_) => {
                let text = format!("the engine did not answer within {limit:?}");
                Err(BackendError::new(BackendErrorKind::Timeout, text).during(operation))
            }
        }
    }

    /// The engine's id, asked for once.
    pub(super) async fn engine(&self) -> Result<EngineId, BackendError> {
        let ask = || {
            let limit = self.config.backend_deadline;
            self.ask_engine(limit, BackendOperation::EngineId, self.backend.engine_id())
        };
        self.engine.get_or_try_init(ask).await.cloned()
    }

    pub(super) fn let_go(&self, shared: &Arc<Shared>, holder: u64) -> Parked {
        let id = &shared.info.id;
        let parked = self.registry.let_go(id, shared, holder, self.now());
        if parked == Parked::Warm {
            self.events.tell(Event::Parked { id: id.clone() });
        }
        parked
    }

    /// Asks the store about one lease, and does what the answer asks for. Says whether the store called it ours.
    pub(super) async fn ask(&self, id: &SandboxId) -> bool {
        let Some(then) = self.registry.snapshot(id) else { return false };
        let asked = Asked::new(id, then);
        let answer = self.store.renew(id).await;
        let ours = matches!(answer, Ok(RenewOutcome::Renewed(_)));
        self.heard(&asked, answer).await;
        ours
    }

    /// A renewal was answered, or not.
    pub(super) async fn heard(&self, asked: &Asked, answer: Result<RenewOutcome, crate::StoreError>) {
        match answer {
            Ok(outcome) => {
                let follow = self.registry.renewed(asked, &outcome, self.now(), self.env.awake());
                self.follow(asked, follow).await;
            }
            // Kept; tried again.
            Err(error) => self.events.tell(Event::StoreUnknown { doing: "renewing", error }),
        }
    }

    /// Does what an answer about a lease asks for.
    pub(super) async fn follow(&self, asked: &Asked, follow: Follow) {
        match follow {
            Follow::Nothing => {}
            Follow::Lost => self.events.tell(Event::Lost { id: asked.id.clone() }),
            Follow::Unowned => self.events.tell(Event::Unowned { id: asked.id.clone() }),
            Follow::AskAgain => self.ask_again(&asked.id).await,
            Follow::Undo(fence) => self.let_lease_go(&asked.id, fence).await,
            Follow::Reclaim => self.reclaim(&asked.id).await,
        }
    }

    /// An answer about a lease overlapped a take. While that is on its way, whoever sent it will ask; else it is asked now,
    /// once (N4).
    async fn ask_again(&self, id: &SandboxId) {
        let Some(then) = self.registry.snapshot(id).filter(|then| !then.in_flight()) else { return };
        let asked = Asked::new(id, then);
        match self.store.renew(id).await {
            Ok(outcome) => match self.registry.renewed(&asked, &outcome, self.now(), self.env.awake()) {
                Follow::Lost => self.events.tell(Event::Lost { id: id.clone() }),
                Follow::Unowned => self.events.tell(Event::Unowned { id: id.clone() }),
                Follow::Reclaim => self.reclaim(id).await,
                // Another take came in between, and will ask.
                Follow::AskAgain | Follow::Nothing | Follow::Undo(_) => {}
            },
            Err(error) => self.events.tell(Event::StoreUnknown { doing: "renewing", error }),
        }
    }

    /// Claims the lease of a sandbox that is in use or being made, and whose lease ran out.
    pub(super) async fn reclaim(&self, id: &SandboxId) {
        let Some(then) = self.registry.snapshot(id) else { return };
        let asked = Asked::new(id, then);
        match self.store.claim(id, Intent::Keep).await {
            Ok(outcome) => {
                let follow = self.registry.reclaimed(&asked, &outcome, self.now(), self.env.awake());
                if follow == Follow::Nothing && matches!(outcome, ClaimOutcome::Claimed { .. }) {
                    self.events.tell(Event::Reclaimed { id: id.clone() });
                }
                match follow {
                    Follow::Undo(fence) => self.let_lease_go(id, fence).await,
                    Follow::Lost => self.events.tell(Event::Lost { id: id.clone() }),
                    _ => {}
                }
            }
            Err(error) => self.events.tell(Event::StoreUnknown { doing: "claiming again", error }),
        }
    }

    /// Releases one tenure and no other. Where the store doesn't answer it is asked again while the tenure lasts.
    pub(super) async fn let_lease_go(&self, id: &SandboxId, fence: Fence) {
        let released = if self.guards.lack(Planted::ReleaseByTenure) {
            self.store.release(id).await
        } else {
            self.store.release_tenure(id, fence).await
        };
        if let Err(error) = released {
            self.registry.owe(id, Some(fence), self.now());
            self.events.tell(Event::StoreUnknown { doing: "releasing", error });
        }
    }

    pub(super) fn last_renewal(&self) -> Option<Duration> {
        match self.renewed_at.load(Ordering::Relaxed) {
            0 => None,
            at => Some(self.now().since(Moment::from_nanos(at))),
        }
    }
}

/// What a task that panicked said.
pub(super) fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    if let Some(text) = panic.downcast_ref::<&str>() {
        (*text).to_owned()
    } else if let Some(text) = panic.downcast_ref::<String>() {
        text.clone()
    } else {
        "a panic without words".to_owned()
    }
}
