//! One call, as its caller holds it and as the worker has it: the facade's jobs in virtual time.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use leasehold::{ErrorKind, StoreError};

use super::ask::{Ask, Reply};
use super::core::Core;
use super::ledger::Entry;
use crate::sim::executor::TimerKey;

/// A call as its caller holds it.
pub(super) struct Asking {
    pub(super) core: Arc<Core>,
    pub(super) ask: Ask,
    pub(super) call: Option<Arc<Call>>,
}

/// One call, from being asked to being answered.
pub(super) struct Call {
    pub(super) life: Mutex<Where>,
}

/// How far a call is.
pub(super) struct Where {
    pub(super) stage: At,
    pub(super) waker: Option<Waker>,
    pub(super) deadline: Option<TimerKey>,
    /// When it was asked and sent, and the number of its effect, once there was one.
    pub(super) asked: u64,
    pub(super) sent: u64,
    pub(super) effect: u64,
    pub(super) entry: Option<Entry>,
}

/// The stages of a call; see the facade's jobs.
pub(super) enum At {
    Waiting,
    Running,
    Answered(Reply),
    Abandoned,
    Over,
}

impl Future for Asking {
    type Output = Reply;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Reply> {
        let this = &mut *self;
        let call = match &this.call {
            Some(call) => call,
            None => {
                if *this.core.closed.lock().unwrap_or_else(PoisonError::into_inner) {
                    return Poll::Ready(Err(StoreError::new(ErrorKind::Closed, "the facade was closed")));
                }
                this.call.insert(this.core.begin(this.ask.clone()))
            }
        };
        let answered = {
            let mut at = call.at();
            match std::mem::replace(&mut at.stage, At::Over) {
                At::Answered(reply) => Some((reply, (at.asked, at.sent), at.effect, at.deadline.take())),
                stage => {
                    at.stage = stage;
                    at.waker = Some(cx.waker().clone());
                    None
                }
            }
        };
        let Some((reply, sent, effect, deadline)) = answered else { return Poll::Pending };
        if let Some(key) = deadline {
            this.core.world.executor.cancel(key);
        }
        this.core.waits(&this.ask, false);
        this.core.heard(&this.ask, &reply, sent, effect);
        Poll::Ready(reply)
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        let Some(call) = &self.call else { return };
        if !matches!(call.at().stage, At::Over) {
            self.core.waits(&self.ask, false);
        }
        let (unread, entry, deadline) = {
            let mut at = call.at();
            at.waker = None;
            let deadline = at.deadline.take();
            let unread = match std::mem::replace(&mut at.stage, At::Over) {
                At::Running => {
                    at.stage = At::Abandoned;
                    None
                }
                At::Answered(reply) => Some(reply),
                At::Waiting | At::Abandoned | At::Over => None,
            };
            (unread, at.entry, deadline)
        };
        if let Some(key) = deadline {
            self.core.world.executor.cancel(key);
        }
        if let Some(reply) = unread {
            self.core.settle(&self.ask, &reply, entry);
        }
    }
}

impl Call {
    pub(super) fn at(&self) -> MutexGuard<'_, Where> {
        self.life.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn answer(&self, reply: Reply) -> Option<Reply> {
        let waker = {
            let mut at = self.at();
            if !matches!(at.stage, At::Running) {
                return Some(reply);
            }
            at.stage = At::Answered(reply);
            at.waker.take()
        };
        waker.into_iter().for_each(Waker::wake);
        None
    }
}
