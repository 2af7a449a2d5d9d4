//! Leases are renewed on a thread of their own, whatever else goes on, idle reaping or not (N1).

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures_util::FutureExt;
use futures_util::stream::{self, StreamExt};

use super::event::Event;
use super::inner::{Inner, Running, Stage, panic_text};
use super::registry::{Asked, Heard};

/// How many leases one call renews.
const CHUNK: usize = 1_000;
/// How many such calls are under way at once, so that one that hangs delays only its own.
const AT_ONCE: usize = 4;
/// How many claims of leases that ran out in use are under way at once.
const CLAIMS_AT_ONCE: usize = 16;

/// Renews until the provider is over.
pub(super) async fn run(_running: Running, inner: Arc<Inner>) {
    let interval = inner.config.ownership.renewal_interval();
    // Gateways that start together don't renew together for ever.
    let share = (inner.env.random() % 1_000) as u32;
    let mut next = inner.now() + interval / 2 + interval * share / 2_000;
    loop {
        if !inner.rest(next.since(inner.now()), Stage::Over).await {
            return;
        }
        let tick = AssertUnwindSafe(inner.renew_all()).catch_unwind().await;
        if let Err(panic) = tick {
            inner.events.tell(Event::Panicked { doing: "renewing", message: panic_text(&*panic) });
        }
        // After a stall the rhythm starts anew: ticks neither overlap nor catch up in a burst.
        next = (next + interval).max(inner.now() + interval / 4);
    }
}

impl Inner {
    /// One tick: every lease that is held, and every one in use that ran out.
    pub(super) async fn renew_all(self: &Arc<Self>) {
        metrics::gauge!("leasehold_tracked").set(self.registry.len() as f64);
        let started = self.now();
        let mut below = usize::MAX;
        // Each is made when its turn comes, so that it says what is so then.
        let chunks = std::iter::from_fn(|| {
            let (chunk, rest) = self.registry.renewals(below, CHUNK);
            below = rest;
            (!chunk.is_empty()).then_some(chunk)
        });
        let unknown: Vec<Vec<Asked>> = stream::iter(chunks)
            .map(|chunk| self.renew_chunk(chunk))
            .buffer_unordered(AT_ONCE)
            .filter(|unknown| std::future::ready(!unknown.is_empty()))
            .collect()
            .await;
        // What got no answer is asked once more in the same tick: a call that waited behind one that hung has lost its
        // turn, and not the store.
        stream::iter(unknown)
            .for_each_concurrent(AT_ONCE, async |chunk| drop(self.renew_chunk(self.as_of_now(chunk)).await))
            .await;
        stream::iter(self.registry.unleased_in_use())
            .for_each_concurrent(CLAIMS_AT_ONCE, async |asked| self.reclaim(&asked.id).await)
            .await;
        metrics::histogram!("leasehold_renewal_tick_seconds").record(self.now().since(started).as_secs_f64());
    }

    /// Renews one chunk. Returns those that got no answer.
    async fn renew_chunk(&self, chunk: Vec<Asked>) -> Vec<Asked> {
        let sent = self.now();
        let ids = chunk.iter().map(|asked| asked.id.clone()).collect();
        let answers = self.store.renew_many(ids).await;
        if answers.iter().any(Result::is_ok) {
            self.renewed_at.fetch_max(sent.as_nanos(), Ordering::Relaxed);
        }
        let Heard { follows, unknown, failure } =
            self.registry.renewed_all(chunk, answers, self.now(), self.env.awake());
        if let Some(error) = failure {
            // One word for the chunk, not one for each of a thousand.
            self.events.tell(Event::StoreUnknown { doing: "renewing", error });
        }
        stream::iter(follows)
            .for_each_concurrent(CLAIMS_AT_ONCE, async |(asked, follow)| self.follow(&asked, follow).await)
            .await;
        unknown
    }

    /// What was asked and not answered, as it is now.
    fn as_of_now(&self, chunk: Vec<Asked>) -> Vec<Asked> {
        let now = |asked: &Asked| self.registry.snapshot(&asked.id).map(|then| Asked::new(&asked.id, then));
        chunk.iter().filter_map(now).collect()
    }
}
