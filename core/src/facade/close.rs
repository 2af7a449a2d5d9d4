use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::Duration;

use parking_lot::Mutex;

use super::lane::Lane;
use super::watcher::Watch;
use super::worker::Crew;
use crate::{Deadline, ErrorKind, StoreError};

/// How closing a facade ended.
#[derive(Clone, Debug, Default)]
#[must_use = "what was abandoned may still take effect"]
#[non_exhaustive]
pub struct CloseReport {
    /// Calls inside the store that had not returned by the deadline. They go on; their effects are orphans.
    pub running: usize,
    /// Calls that were still waiting at the deadline and were never made.
    pub waiting: usize,
    /// What went wrong in closing the store itself, if anything did. `None` also when that was never tried, because
    /// `running` calls were still inside.
    pub error: Option<StoreError>,
}

impl CloseReport {
    /// Whether everything ended in time and the store closed well.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.running == 0 && self.waiting == 0 && self.error.is_none()
    }
}

/// The end of a facade, between the task that asks for it and the watcher that brings it about.
#[derive(Default)]
pub(super) struct Closing {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    by: Option<Deadline>,
    /// What the store's own close answered, on a thread of its own.
    answered: Option<Result<(), StoreError>>,
    asked_store: bool,
    report: Option<CloseReport>,
    wakers: Vec<Waker>,
}

impl Closing {
    /// Asks for the end by `deadline`; whoever asks later gets the same report.
    pub(super) async fn close(&self, deadline: Duration, lanes: &[Arc<Lane>; 2]) -> CloseReport {
        self.state.lock().by.get_or_insert_with(|| Deadline::after(deadline));
        lanes.iter().for_each(|lane| lane.close());
        poll_fn(|cx| {
            let mut state = self.state.lock();
            if let Some(report) = &state.report {
                return Poll::Ready(report.clone());
            }
            if !state.wakers.iter().any(|waker| waker.will_wake(cx.waker())) {
                state.wakers.push(cx.waker().clone());
            }
            Poll::Pending
        })
        .await
    }

    /// The watcher's part: brings the end one step further, and says when to look again; `None` for not before called.
    pub(super) fn advance(
        self: &Arc<Self>,
        over: bool,
        crew: &Arc<Crew>,
        lanes: &[Arc<Lane>; 2],
        watch: &Arc<Watch>,
    ) -> Option<Duration> {
        let (left, ask_store) = {
            let mut state = self.state.lock();
            if state.report.is_some() {
                return None;
            }
            let left = state.by.as_ref()?.left();
            let ask_store = over && left.is_some() && !state.asked_store;
            state.asked_store |= ask_store;
            (left, ask_store)
        };
        if ask_store {
            self.ask_store(crew, watch);
        }
        if left.is_none() {
            let ended = lanes.iter().map(|lane| lane.abandon());
            let (waiting, running) = ended.fold((0, 0), |sum, lane| (sum.0 + lane.0, sum.1 + lane.1));
            let late = || StoreError::new(ErrorKind::Timeout, "the store did not close in time");
            let error = self.state.lock().asked_store.then(late);
            self.report(CloseReport { running, waiting, error });
            return None;
        }
        let answered = self.state.lock().answered.take();
        if let Some(answer) = answered {
            self.report(CloseReport { error: answer.err(), ..CloseReport::default() });
            return None;
        }
        left
    }

    /// Whether the watcher has nothing left to do once the lanes are over.
    pub(super) fn is_done(&self) -> bool {
        let state = self.state.lock();
        state.by.is_none() || state.report.is_some()
    }

    /// On a thread of its own, since closing may hang as any other call may.
    fn ask_store(self: &Arc<Self>, crew: &Arc<Crew>, watch: &Arc<Watch>) {
        let (this, crew, watch_too) = (Arc::clone(self), Arc::clone(crew), Arc::clone(watch));
        let close = move || {
            let answer = crew.close_store();
            this.state.lock().answered = Some(answer);
            watch_too.look_now();
        };
        if let Err(cause) = std::thread::Builder::new().name("leasehold-close".to_owned()).spawn(close) {
            let error =
                StoreError::new(ErrorKind::Unavailable, "no thread could be started to close the store");
            self.state.lock().answered = Some(Err(error.with_source(cause)));
        }
    }

    fn report(&self, report: CloseReport) {
        let wakers = {
            let mut state = self.state.lock();
            state.report = Some(report);
            std::mem::take(&mut state.wakers)
        };
        wakers.into_iter().for_each(Waker::wake);
    }
}
