//! A future that tells what in it blocked.

use std::panic::Location;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::scope::Scope;
use crate::strict::poll_and_drop;
use crate::{Settings, Violation, status};

/// A future that yields its output and every piece of blocking work in its polls, in order.
///
/// For tests about the blocking itself, and for finding out how much there is before turning to
/// [`strict`](crate::strict()).
///
/// ```
/// use leasehold_gate as gate;
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let (_, violations) = gate::record(async { std::fs::read("/etc/hostname") }).await;
/// for violation in &violations {
///     println!("{violation}");
/// }
/// # if gate::status().is_available() { assert_eq!(violations[0].call(), "openat"); }
/// # });
/// ```
///
/// # Panics
///
/// As [`strict`](crate::strict()) does when the gate is blind, or unavailable and required. Unavailable and not
/// required, the list is empty: ask [`status`](crate::status()) before relying on it.
///
/// # Cancel safety
///
/// As the future's own; what was recorded is lost with it.
#[track_caller]
pub fn record<F: Future>(future: F) -> Record<F> {
    Settings::new().record(future)
}

/// What [`record()`] returns.
#[must_use = "futures do nothing unless polled"]
pub struct Record<F: Future> {
    future: Option<Pin<Box<F>>>,
    scope: Scope,
    seen: Vec<Violation>,
}

impl<F: Future> Record<F> {
    pub(crate) fn new(future: F, settings: Settings, place: &'static Location<'static>) -> Self {
        status::admit();
        Self { future: Some(Box::pin(future)), scope: Scope::new(settings, place), seen: Vec::new() }
    }
}

impl<F: Future> Future for Record<F> {
    type Output = (F::Output, Vec<Violation>);

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Record { future, scope, seen } = self.get_mut();
        let (poll, violations) = scope.run(|| poll_and_drop(future, context));
        seen.extend(violations);
        poll.map(|output| (output, std::mem::take(seen)))
    }
}
