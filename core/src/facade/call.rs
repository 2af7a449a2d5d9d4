use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::job::Job;
use super::lane::Lane;
use super::request::{Reply, Request};
use crate::Deadline;

/// A call as its caller holds it: asked when first polled, abandoned when dropped.
pub(super) struct Call<'a> {
    lane: &'a Arc<Lane>,
    state: State,
}

enum State {
    Unasked(Request),
    Asked(Arc<Job>),
    Over,
}

impl<'a> Call<'a> {
    pub(super) fn new(lane: &'a Arc<Lane>, request: Request) -> Self {
        Self { lane, state: State::Unasked(request) }
    }
}

impl Future for Call<'_> {
    type Output = Reply;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Reply> {
        if let State::Unasked(_) = self.state {
            let State::Unasked(request) = std::mem::replace(&mut self.state, State::Over) else {
                unreachable!()
            };
            let job = Arc::new(Job::new(request, Deadline::after(self.lane.deadline())));
            // The waker goes in before the job does, so that the first look can't come too late.
            let _ = job.poll(cx.waker());
            if let Err(error) = self.lane.submit(Arc::clone(&job)) {
                return Poll::Ready(Reply::Failed(job.request.name(error)));
            }
            self.state = State::Asked(job);
            return Poll::Pending;
        }
        let State::Asked(job) = &self.state else { panic!("a call was polled after its answer") };
        let answer = job.poll(cx.waker());
        if answer.is_ready() {
            self.state = State::Over;
        }
        answer
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        let State::Asked(job) = &self.state else { return };
        let Some(unread) = job.abandon() else { return };
        if let Some(orphan) = job.request.orphan_in(&unread) {
            let entry = job.entry().expect("an answered take or claim is in the ledger");
            self.lane.settle_later(orphan, entry);
        }
    }
}
