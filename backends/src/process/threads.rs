use std::any::Any;
use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Duration;

use leasehold::{BackendError, BackendErrorKind, Deadline};
use tokio::sync::oneshot;

/// Threads on which everything runs that may block, and one that keeps time for those who wait.
///
/// They are started with the backend and no runtime is needed, so that nothing depends on the kind of runtime that polls.
#[derive(Debug)]
pub(super) struct Threads {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    work: Condvar,
    time: Condvar,
}

#[derive(Default)]
struct State {
    queue: VecDeque<Job>,
    timers: Vec<(Deadline, oneshot::Sender<()>)>,
    /// By when the keeper of time looks next; `None` while it has nothing to look for.
    next: Option<Deadline>,
    closed: bool,
}

type Job = Box<dyn FnOnce() + Send>;

impl Threads {
    /// How many calls may wait for a thread.
    const QUEUE: usize = 4096;

    pub(super) fn start(workers: usize) -> Result<Self, BackendError> {
        let threads = Self { shared: Arc::default() };
        for number in 0..workers {
            let shared = Arc::clone(&threads.shared);
            start(format!("sandbox-{number}"), move || shared.work())?;
        }
        let shared = Arc::clone(&threads.shared);
        start("sandbox-time".to_owned(), move || shared.keep_time())?;
        Ok(threads)
    }

    /// Runs `job` on one of the threads. When its caller leaves before it began, it is never begun.
    ///
    /// # Errors
    /// [`BackendErrorKind::Timeout`] when it has not ended within `limit`; it goes on then.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        limit: Duration,
        job: impl FnOnce() -> Result<T, BackendError> + Send + 'static,
    ) -> Result<T, BackendError> {
        let (answer, mut answered) = oneshot::channel();
        let job = move || {
            if answer.is_closed() {
                return;
            }
            let done = catch_unwind(AssertUnwindSafe(job)).unwrap_or_else(|panic| {
                Err(BackendError::new(BackendErrorKind::Panicked, panic_text(&*panic)))
            });
            // What nobody waits for any more is dropped here, where dropping may block.
            let _ = answer.send(done);
        };
        self.enqueue(Box::new(job))?;
        let mut over = self.timer(limit);
        poll_fn(|context| {
            if let Poll::Ready(done) = Pin::new(&mut answered).poll(context) {
                return Poll::Ready(done.unwrap_or_else(|_| {
                    Err(BackendError::new(BackendErrorKind::Unavailable, "the backend was dropped meanwhile"))
                }));
            }
            Pin::new(&mut over).poll(context).map(|_| {
                let text = format!("the operating system did not answer within {limit:?}");
                Err(BackendError::new(BackendErrorKind::Timeout, text))
            })
        })
        .await
    }

    /// Waits.
    pub(super) async fn sleep(&self, pause: Duration) {
        // Where time is kept no more, nobody has to wait.
        let _ = self.timer(pause).await;
    }

    fn enqueue(&self, job: Job) -> Result<(), BackendError> {
        let mut state = self.shared.lock();
        if state.queue.len() >= Self::QUEUE {
            let text = "too many calls wait for a thread; try again, or raise `workers`";
            return Err(BackendError::new(BackendErrorKind::Full, text));
        }
        state.queue.push_back(job);
        drop(state);
        self.shared.work.notify_one();
        Ok(())
    }

    fn timer(&self, pause: Duration) -> oneshot::Receiver<()> {
        let (ring, rung) = oneshot::channel();
        let deadline = Deadline::after(pause);
        let mut state = self.shared.lock();
        // Most timers are for calls that ended in time; their number stays near that of the calls under way.
        if state.timers.len() == state.timers.capacity() {
            state.timers.retain(|(_, ring)| !ring.is_closed());
        }
        state.timers.push((deadline, ring));
        let sooner = state.next.is_none_or(|next| deadline.left() < next.left());
        if sooner {
            state.next = Some(deadline);
        }
        drop(state);
        if sooner {
            self.shared.time.notify_one();
        }
        rung
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.shared.work.notify_all();
        self.shared.time.notify_all();
    }
}

impl Shared {
    fn work(&self) {
        loop {
            let mut state = self.lock();
            let job = loop {
                if let Some(job) = state.queue.pop_front() {
                    break job;
                }
                if state.closed {
                    return;
                }
                state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
            };
            drop(state);
            job();
        }
    }

    fn keep_time(&self) {
        let mut state = self.lock();
        while !state.closed {
            // Dropping a sender wakes whoever waits; those who left are forgotten.
            state.timers.retain(|(deadline, ring)| !deadline.passed() && !ring.is_closed());
            state.next = state.timers.iter().map(|(deadline, _)| *deadline).min_by_key(Deadline::left);
            state = match state.next.map(|next| next.left().unwrap_or_default()) {
                None => self.time.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(left) => self.time.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0,
            };
        }
        state.timers.clear();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No code of others runs under the lock, so what is in it is whole whatever happened.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State")
            .field("queue", &self.queue.len())
            .field("timers", &self.timers.len())
            .finish_non_exhaustive()
    }
}

/// Starts a named thread.
pub(super) fn start(name: String, body: impl FnOnce() + Send + 'static) -> Result<(), BackendError> {
    std::thread::Builder::new().name(name).spawn(body).map(drop).map_err(|e| {
        let text = "cannot start a thread; raise the limit of threads";
        BackendError::new(BackendErrorKind::Full, text).with_source(e)
    })
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let said =
        panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("the backend panicked: {}", said.unwrap_or("without a word"))
}
