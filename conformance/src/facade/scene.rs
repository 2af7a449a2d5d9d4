use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use leasehold::{
    AsyncOwnershipStore, ClaimOutcome, CloseReport, Fence, Intent, Lease, OffloadConfig, Offloaded,
    SandboxId, StoreError, TakeOutcome,
};

use super::flavour::Flavour;
use super::stage::Stage;
use super::staged::Staged;
use super::{PATIENCE, rounds};
use crate::case::{Check, Stop, must};
use crate::kit::{Kit, id};

/// What a case of the facade tier works with: the store under test behind a facade and a stage, and two more handles of it
/// behind facades that nothing disturbs.
pub(super) struct Scene {
    /// Under test: the store of `me`, staged.
    pub(super) facade: Arc<Offloaded>,
    /// Directs the store under `facade`.
    pub(super) stage: Arc<Stage>,
    /// Another handle of the same owner, to set a scene with.
    pub(super) mine: Arc<Offloaded>,
    /// A peer's, to look from the side.
    pub(super) side: Arc<Offloaded>,
    prefix: String,
}

/// Few threads and a deadline far away, so that only what a case does decides.
pub(super) fn calm() -> OffloadConfig {
    OffloadConfig { workers: 2, max_stuck: 1, deadline: PATIENCE * 3, ..OffloadConfig::default() }
}

/// Plays a case on both flavours, as often as is asked for, under the gate wherever there is one: whatever else the case
/// proves, nothing in it may block a thread that polls.
pub(super) fn play<F>(kit: &Kit<'_>, config: OffloadConfig, body: impl Fn(Arc<Scene>) -> F) -> Check
where
    F: Future<Output = Check> + Send + 'static,
{
    for round in 0..rounds()? {
        for flavour in Flavour::ALL {
            let scene = Arc::new(Scene::new(kit, flavour, round, config.clone())?);
            let stage = Arc::clone(&scene.stage);
            let (played, ends) = (body(Arc::clone(&scene)), Arc::clone(&stage));
            let (check, blocked) = flavour.run_gated(async move {
                let check = played.await;
                ends.open();
                scene.end().await;
                check
            })?;
            check.map_err(|stop| on(stop, flavour, round))?;
            let seen = blocked.join("\n");
            must(
                blocked.is_empty(),
                &format!("nothing that blocks a polling thread, on {flavour}"),
                Text(seen),
            )?;
        }
    }
    Ok(())
}

/// Text that is shown as it is.
pub(super) struct Text(pub(super) String);

impl std::fmt::Debug for Text {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Says where it failed.
fn on(stop: Stop, flavour: Flavour, round: usize) -> Stop {
    match stop {
        Stop::Failed { expected, seen } => {
            Stop::Failed { expected, seen: format!("{seen}\n(on {flavour}, round {})", round + 1) }
        }
        other => other,
    }
}

impl Scene {
    fn new(kit: &Kit<'_>, flavour: Flavour, round: usize, config: OffloadConfig) -> Result<Self, Stop> {
        let stage = Stage::new();
        let staged = Staged::new(kit.open("me", Kit::TESTED)?, Arc::clone(&stage));
        let config = OffloadConfig { on_orphan: Some(stage.hook()), ..config };
        let calmly = |owner| -> Result<_, Stop> {
            let store = Staged::new(kit.open(owner, Kit::TESTED)?, Stage::new());
            Ok(Arc::new(Offloaded::new(store, calm())?))
        };
        let prefix = format!("r{round}-{}", if flavour == Flavour::CurrentThread { "one" } else { "many" });
        Ok(Self {
            facade: Arc::new(Offloaded::new(staged, config)?),
            stage,
            mine: calmly("me")?,
            side: calmly("side")?,
            prefix,
        })
    }

    /// Closes what the case did not, so that rounds don't pile up threads and connections. What the reports say is for
    /// the cases about closing to judge.
    async fn end(&self) {
        for facade in [&self.facade, &self.mine, &self.side] {
            let _ = facade.close(PATIENCE).await;
        }
    }

    /// An id that no other round or flavour uses.
    pub(super) fn id(&self, name: &str) -> SandboxId {
        id(&format!("{}-{name}", self.prefix))
    }

    /// What a peer sees on `id`.
    pub(super) async fn look(&self, id: &SandboxId) -> Result<Option<Lease>, Stop> {
        Ok(self.side.inspect(id).await?)
    }

    /// Insists that a peer sees nothing on `id`.
    pub(super) async fn must_be_absent(&self, id: &SandboxId, why: &str) -> Check {
        let lease = self.look(id).await?;
        must(lease.is_none(), why, lease)
    }

    /// Insists that a peer sees the tenure with `fence` on `id`.
    pub(super) async fn must_hold(&self, id: &SandboxId, fence: Fence, why: &str) -> Check {
        let lease = self.look(id).await?;
        must(lease.as_ref().is_some_and(|lease| lease.fence == Some(fence)), why, lease)
    }

    /// Asks for `call`, to be polled by hand.
    pub(super) fn ask(
        &self,
        call: super::Call,
        id: &SandboxId,
        fence: Fence,
    ) -> ByHand<Result<Fence, StoreError>> {
        let (facade, id) = (Arc::clone(&self.facade), id.clone());
        ByHand::new(async move { call.ask(&*facade, &id, fence).await })
    }

    /// Closes the facade under test, to be polled by hand.
    pub(super) fn close(&self, deadline: Duration) -> ByHand<CloseReport> {
        let facade = Arc::clone(&self.facade);
        ByHand::new(async move { facade.close(deadline).await })
    }

    /// Takes through the facade under test, to be polled by hand.
    pub(super) fn take(&self, name: &str) -> ByHand<Result<TakeOutcome, StoreError>> {
        let (facade, id) = (Arc::clone(&self.facade), self.id(name));
        ByHand::new(async move { facade.take(&id).await })
    }
}

/// Takes, and says under which fence.
pub(super) async fn taken(store: &Offloaded, id: &SandboxId) -> Result<Fence, Stop> {
    match store.take(id).await? {
        TakeOutcome::Taken { tenure, .. } => Ok(tenure.fence),
        other @ TakeOutcome::BeingDestroyed => Err(Stop::failed(format!("Taken of {id}"), other)),
    }
}

/// Claims, and says under which fence.
pub(super) async fn claimed(store: &Offloaded, id: &SandboxId, intent: Intent) -> Result<Fence, Stop> {
    match store.claim(id, intent).await? {
        ClaimOutcome::Claimed { tenure, .. } => Ok(tenure.fence),
        other => Err(Stop::failed(format!("Claimed of {id} with {intent:?}"), other)),
    }
}

/// Looks again and again, without blocking, until `done`; for what has no signal of its own.
pub(super) async fn eventually(what: &str, mut done: impl FnMut() -> bool) -> Check {
    let patience = leasehold::Deadline::after(PATIENCE);
    while !done() {
        must(!patience.passed(), what, "never")?;
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    Ok(())
}

/// A call that is polled when a case says so, and dropped when a case says so.
pub(super) struct ByHand<T> {
    future: Pin<Box<dyn Future<Output = T> + Send>>,
    bell: Arc<Bell>,
}

#[derive(Default)]
struct Bell {
    rung: AtomicBool,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.rung.store(true, Ordering::SeqCst);
    }
}

impl<T> ByHand<T> {
    fn new(future: impl Future<Output = T> + Send + 'static) -> Self {
        Self { future: Box::pin(future), bell: Arc::default() }
    }

    /// Polls it once.
    pub(super) fn poll(&mut self) -> Poll<T> {
        self.bell.rung.store(false, Ordering::SeqCst);
        let waker = Waker::from(Arc::clone(&self.bell));
        self.future.as_mut().poll(&mut Context::from_waker(&waker))
    }

    /// Polls it once, and insists that it is not done.
    pub(super) fn must_wait(&mut self) -> Check {
        must(self.poll().is_pending(), "a call that waits", "an answer at once")
    }

    /// Until it was woken, without polling it.
    pub(super) async fn woken(&mut self) -> Check {
        eventually("a call is woken when its answer is there", || self.bell.rung.load(Ordering::SeqCst)).await
    }

    /// To its end.
    pub(super) async fn done(self) -> T {
        self.future.await
    }
}
