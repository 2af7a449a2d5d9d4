//! The end of a provider: what is under way ends, leases last.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{Either, select};
use futures_util::stream::{self, StreamExt};
use std::pin::pin;

use super::inner::{Inner, Stage};
use super::registry::StopWhy;
use crate::{Fence, Moment, SandboxId};

/// What becomes of the sandboxes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShutdownMode {
    /// They run on, for other gateways to take or adopt: for rolling deploys. Nothing is stopped.
    HandOver,
    /// Those that are ours and may be stopped are. Those whose tenure is too young are handed over.
    StopMine,
}

/// How a shutdown ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use = "what was left may need a look"]
#[non_exhaustive]
pub struct ShutdownReport {
    /// Sandboxes that run on and whose lease was released.
    pub handed_over: usize,
    /// Sandboxes that were stopped.
    pub stopped: usize,
    /// Stops that had not ended by the deadline; each keeps its Teardown lease for its TTL.
    pub stopping: usize,
    /// Acquires that had not ended by the deadline.
    pub acquiring: usize,
    /// Leases that could not be released; each lasts for its TTL.
    pub not_released: usize,
    /// Whether the store closed well.
    pub store_closed: bool,
}

impl ShutdownReport {
    /// Whether nothing was left undone.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.stopping == 0 && self.acquiring == 0 && self.not_released == 0 && self.store_closed
    }
}

/// How many releases and stops are under way at once.
const AT_ONCE: usize = 16;

/// Ends the provider by `deadline`.
pub(super) async fn shutdown(inner: &Arc<Inner>, mode: ShutdownMode, deadline: Duration) -> ShutdownReport {
    let mut ended = inner.ended.subscribe();
    if inner.registry.close() {
        inner.registry.freed.notify_waiters();
        let (this, end) = (Arc::clone(inner), inner.now() + deadline);
        inner.env.spawn(Box::pin(async move {
            let report = this.shut_down(mode, end).await;
            this.ended.send_replace(Some(report));
        }));
    }
    // The second call waits for what the first began, within its own deadline.
    let done = pin!(ended.wait_for(Option::is_some));
    let grace = deadline + Duration::from_secs(1);
    match select(done, inner.env.sleep(grace)).await {
        Either::Left((Ok(report), _)) => report.clone().unwrap_or_default(),
        _ => ShutdownReport { acquiring: inner.registry.acquires(), ..ShutdownReport::default() },
    }
}

impl Inner {
    async fn shut_down(self: &Arc<Self>, mode: ShutdownMode, end: Moment) -> ShutdownReport {
        let mut report = ShutdownReport::default();
        self.stage.send_replace(Stage::Closing);
        // Leases are renewed until nothing needs them any more. A third of the time is kept for letting go.
        let whole = end.since(self.now());
        let work_ends = self.now() + whole * 2 / 3;
        self.calm(work_ends, || self.registry.acquires() == 0).await;
        report.acquiring = self.registry.acquires();
        if mode == ShutdownMode::StopMine {
            report.stopped = self.stop_all(work_ends).await;
        }
        // What the reaper has just claimed is handed over like the rest.
        self.calm(work_ends, || self.registry.stops() == 0 && self.has_ended(Stage::Closing)).await;
        report.stopping = self.registry.stops();
        self.release_all(end, &mut report).await;
        // What earlier calls had left is asked for once more.
        let left = end.since(self.now());
        select(pin!(self.let_owed_leases_go()), self.env.sleep(left)).await;
        report.not_released += self.registry.known_owed();
        self.registry.forget_all();
        self.stage.send_replace(Stage::Over);
        // A claim of the last renewal may still bring a lease that has to go again, so the store is closed after it.
        self.calm(end, || self.has_ended(Stage::Over)).await;
        let left = end.since(self.now()).max(Duration::from_millis(1));
        let close = pin!(self.store.close(left));
        report.store_closed = match select(close, self.env.sleep(left)).await {
            Either::Left((closed, _)) => closed.is_clean(),
            Either::Right(_) => false,
        };
        tracing::info!(?report, ?mode, "shut down");
        report
    }

    /// Waits until `calm`, or until `end`.
    async fn calm(&self, end: Moment, calm: impl Fn() -> bool) {
        loop {
            let mut calmer = pin!(self.registry.calmer.notified());
            calmer.as_mut().enable();
            if calm() || self.now() >= end {
                return;
            }
            let left = end.since(self.now());
            select(calmer, self.env.sleep(left)).await;
        }
    }

    /// Stops all that may be stopped. Says how many were.
    async fn stop_all(self: &Arc<Self>, end: Moment) -> usize {
        let all = self.registry.all_tracked();
        let stops = stream::iter(all)
            .map(|id| {
                let inner = Arc::clone(self);
                async move {
                    let Ok(stop) = inner.registry.reserve(&id, StopWhy::ShutDown, inner.now()) else {
                        return false;
                    };
                    let task = Arc::clone(&inner);
                    // It goes on when nobody waits for it any more, and keeps its lease alive meanwhile.
                    inner.run(async move { task.stop(stop).await.is_ok() }).await.unwrap_or(false)
                }
            })
            .buffer_unordered(AT_ONCE);
        let mut stopped = 0;
        let mut stops = pin!(stops);
        loop {
            let left = end.since(self.now());
            match select(stops.next(), self.env.sleep(left)).await {
                Either::Left((Some(done), _)) => stopped += usize::from(done),
                Either::Left((None, _)) | Either::Right(_) => return stopped,
            }
        }
    }

    /// Lets every lease go that no stop needs.
    async fn release_all(&self, end: Moment, report: &mut ShutdownReport) {
        let leases: Vec<(SandboxId, Fence)> = self.registry.all_leases();
        let mut left = leases.len();
        let releases = stream::iter(leases)
            .map(async |(id, fence)| {
                // From here on nothing renews it.
                self.registry.handed_over(&id);
                if self.guards.lack(super::planted::Planted::LeasesGo) {
                    return true;
                }
                match self.store.release_tenure(&id, fence).await {
                    Ok(_) => true,
                    Err(error) => {
                        self.events.tell(super::Event::StoreUnknown { doing: "releasing", error });
                        false
                    }
                }
            })
            .buffer_unordered(AT_ONCE);
        let mut releases = pin!(releases);
        while left > 0 {
            let rest = end.since(self.now());
            match select(releases.next(), self.env.sleep(rest)).await {
                Either::Left((Some(released), _)) => {
                    left -= 1;
                    if released {
                        report.handed_over += 1;
                    } else {
                        report.not_released += 1;
                    }
                }
                Either::Left((None, _)) => return,
                Either::Right(_) => break,
            }
        }
        report.not_released += left;
    }
}

/// Shuts `provider` down when the process is told to end (SIGTERM, SIGINT), and returns the report.
///
/// Opt-in, since a library that handles signals by itself surprises. Call it from the gateway's main task, within a tokio
/// runtime that drives signals. It never ends the process: with which status that ends is the gateway's to say, as below.
///
/// ```no_run
/// use leasehold::{Provider, ShutdownMode, shutdown_on_signals};
/// use std::{process::ExitCode, time::Duration};
///
/// # async fn example(provider: Provider) -> std::io::Result<ExitCode> {
/// // Less than what the supervisor waits before it kills: 30 s in Kubernetes, 90 s in systemd.
/// let report = shutdown_on_signals(&provider, ShutdownMode::HandOver, Duration::from_secs(20)).await?;
/// Ok(if report.is_clean() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
/// # }
/// ```
///
/// # Signals
/// Until this is first polled they end the process at once, as always. The first one begins the shutdown; every later one
/// changes nothing, since the shutdown ends within its deadline by itself, with a store and an engine that hang too. From
/// the first poll on neither signal ends this process any more, until it ends by itself or is killed; leases of a gateway
/// that was killed last for their TTL.
///
/// # Errors
/// The operating system's, when the signals can't be listened to.
///
/// # Cancel safety
/// Dropped before a signal came, nothing is shut down; later, the shutdown goes on to its end. The signals stay caught.
#[cfg(all(unix, feature = "signals"))]
pub async fn shutdown_on_signals(
    provider: &super::Provider,
    mode: ShutdownMode,
    deadline: Duration,
) -> std::io::Result<ShutdownReport> {
    use tokio::signal::unix::{SignalKind, signal};
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    select(pin!(terminate.recv()), pin!(interrupt.recv())).await;
    Ok(provider.shutdown(mode, deadline).await)
}
