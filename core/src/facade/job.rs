use std::task::{Poll, Waker};

use parking_lot::Mutex;

use super::ledger::Entry;
use super::request::{Reply, Request};
use crate::{Deadline, ErrorKind, Stage, StoreError};

/// One call from being asked to being answered.
///
/// ```text
/// Waiting ──begin──▶ Running ──finish──▶ Answered ──poll──▶ Over
///    │                  │
///    │ expire, drop,    │ expire, drop
///    │ refuse           ▼
///    ▼               Abandoned: the answer goes to nobody and its tenure is an orphan
///  Over
/// ```
pub(super) struct Job {
    pub(super) request: Request,
    pub(super) deadline: Deadline,
    life: Mutex<Life>,
}

struct Life {
    stage: Where,
    waker: Option<Waker>,
    entry: Option<Entry>,
}

enum Where {
    Waiting,
    Running,
    Answered(Reply),
    /// Past the deadline before or after the call was begun, or refused: what the caller is told.
    Failed(StoreError),
    Abandoned,
    Over,
}

impl Job {
    pub(super) fn new(request: Request, deadline: Deadline) -> Self {
        let life = Mutex::new(Life { stage: Where::Waiting, waker: None, entry: None });
        Self { request, deadline, life }
    }

    /// The worker's first step: whether the call is still wanted.
    pub(super) fn begin(&self) -> bool {
        let mut life = self.life.lock();
        let wanted = matches!(life.stage, Where::Waiting);
        if wanted {
            life.stage = Where::Running;
        }
        wanted
    }

    /// The worker's last step: hands the reply to the caller, or back when nobody is left to receive it.
    pub(super) fn finish(&self, reply: Reply) -> Option<Reply> {
        let waker = {
            let mut life = self.life.lock();
            if !matches!(life.stage, Where::Running) {
                return Some(reply);
            }
            life.stage = Where::Answered(reply);
            life.waker.take()
        };
        waker.into_iter().for_each(Waker::wake);
        None
    }

    /// Ends a call whose deadline has passed, for its caller; a store that is inside goes on.
    pub(super) fn expire(&self) {
        let waited = format!("no answer within {:?}", self.deadline.allowed());
        self.fail(|stage| Some(StoreError::new(ErrorKind::Timeout, waited).at(stage)));
    }

    /// Ends a call that is still waiting, since the facade is closing.
    pub(super) fn refuse(&self, error: &StoreError) {
        self.fail(|stage| (stage == Stage::Pool).then(|| error.clone()));
    }

    fn fail(&self, error: impl FnOnce(Stage) -> Option<StoreError>) {
        let waker = {
            let mut life = self.life.lock();
            let stage = match life.stage {
                Where::Waiting => Stage::Pool,
                Where::Running => Stage::Reply,
                _ => return,
            };
            let Some(error) = error(stage) else { return };
            life.stage = Where::Failed(self.request.name(error));
            life.waker.take()
        };
        waker.into_iter().for_each(Waker::wake);
    }

    /// The caller's look.
    pub(super) fn poll(&self, waker: &Waker) -> Poll<Reply> {
        let mut life = self.life.lock();
        match std::mem::replace(&mut life.stage, Where::Over) {
            Where::Answered(reply) => Poll::Ready(reply),
            Where::Failed(error) => Poll::Ready(Reply::Failed(error)),
            stage => {
                life.stage = stage;
                if !life.waker.as_ref().is_some_and(|known| known.will_wake(waker)) {
                    life.waker = Some(waker.clone());
                }
                Poll::Pending
            }
        }
    }

    /// The caller is gone. What it gets back is an answer that came and was never looked at.
    pub(super) fn abandon(&self) -> Option<Reply> {
        let mut life = self.life.lock();
        life.waker = None;
        let (next, unread) = match std::mem::replace(&mut life.stage, Where::Over) {
            Where::Running => (Where::Abandoned, None),
            Where::Answered(reply) => (Where::Over, Some(reply)),
            Where::Waiting | Where::Failed(_) | Where::Abandoned | Where::Over => (Where::Over, None),
        };
        life.stage = next;
        unread
    }

    /// Whether the call waits and somebody still wants it.
    pub(super) fn is_waiting(&self) -> bool {
        matches!(self.life.lock().stage, Where::Waiting)
    }

    /// Where the ledger has this take or claim; set before it is finished.
    pub(super) fn enter(&self, entry: Entry) {
        self.life.lock().entry = Some(entry);
    }

    pub(super) fn entry(&self) -> Option<Entry> {
        self.life.lock().entry
    }
}
