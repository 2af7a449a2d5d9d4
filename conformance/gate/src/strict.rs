//! A future that panics when it blocks its thread.

use std::panic::Location;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::scope::Scope;
use crate::{Settings, Unavailable, report, status};

/// A future that panics after any poll in which blocking work happened.
///
/// The panic comes from the poll itself, when the work is over, so no code of the future can catch it or be torn
/// apart by it. Its message names each call, its target, how long it took, why it counts and the frames that led there.
///
/// A task is gated by wrapping what is spawned: `tokio::spawn(gate::strict(work()))`. The gate follows a task that moves
/// between threads, since each poll arms and disarms the thread it runs on.
///
/// ```should_panic
/// use leasehold_gate as gate;
/// # gate::require().unwrap();
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// gate::strict(async { std::fs::read("/etc/hostname") }).await;
/// # });
/// ```
///
/// # Panics
///
/// After a poll that blocked; when the gate turns out to be blind; and at once when it is unavailable and
/// `LEASEHOLD_REQUIRE` names `gate`. Unavailable and not required, it says "not run" once on standard error and polls
/// ungated: see [`status()`](crate::status()).
///
/// # Cancel safety
///
/// As the future's own. A future dropped before its end is dropped under the gate, since that too happens on a thread
/// that polls; see [`Settings::gate_cancelled_drops`].
#[track_caller]
pub fn strict<F: Future>(future: F) -> Strict<F> {
    Settings::new().strict(future)
}

/// As [`strict()`], but says so when the gate is unavailable.
///
/// ```
/// use leasehold_gate as gate;
///
/// match gate::try_strict(async { 1 }) {
///     Ok(gated) => { /* await it */ drop(gated) }
///     Err(unavailable) => println!("not run: {unavailable}"),
/// }
/// ```
///
/// # Errors
///
/// [`Unavailable`], with the reason.
#[track_caller]
pub fn try_strict<F: Future>(future: F) -> Result<Strict<F>, Unavailable> {
    Settings::new().try_strict(future)
}

/// What [`strict()`] returns.
#[must_use = "futures do nothing unless polled"]
pub struct Strict<F: Future> {
    future: Option<Pin<Box<F>>>,
    scope: Scope,
    /// Whether a panic already told what there was to tell.
    told: bool,
}

impl<F: Future> Strict<F> {
    pub(crate) fn new(future: F, settings: Settings, place: &'static Location<'static>) -> Self {
        status::admit();
        Self { future: Some(Box::pin(future)), scope: Scope::new(settings, place), told: false }
    }
}

impl<F: Future> Future for Strict<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.get_mut();
        let Strict { future, scope, told } = this;
        let place = scope.place();
        let (poll, violations) = scope.run(|| poll_and_drop(future, context));
        if !violations.is_empty() {
            *told = true;
            report::fail(&violations, place, "while an async task was being polled");
        }
        poll
    }
}

/// Polls, and drops a future that is done while the gate is still up: its last locals are dropped by the poll too.
pub(crate) fn poll_and_drop<F: Future>(
    slot: &mut Option<Pin<Box<F>>>,
    context: &mut Context<'_>,
) -> Poll<F::Output> {
    let future = slot.as_mut().expect("a future is not polled again after its end");
    let poll = future.as_mut().poll(context);
    if poll.is_ready() {
        drop(slot.take());
    }
    poll
}

impl<F: Future> Drop for Strict<F> {
    fn drop(&mut self) {
        let Some(future) = self.future.take() else { return };
        if self.told || !self.scope.gates_drops() || std::thread::panicking() {
            return;
        }
        let ((), violations) = self.scope.run(|| drop(future));
        if !violations.is_empty() {
            report::fail(&violations, self.scope.place(), "while an unfinished async task was being dropped");
        }
    }
}
