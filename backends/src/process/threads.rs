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

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::mpsc;

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    fn begun(done: &Arc<AtomicBool>) -> impl FnOnce() -> Result<(), BackendError> + Send + use<> {
        let done = Arc::clone(done);
        move || {
            done.store(true, Ordering::SeqCst);
            Ok(())
        }
    }

    #[tokio::test]
    async fn what_its_caller_left_before_it_began_is_never_begun() {
        let threads = Threads::start(1).unwrap();
        let (release, released) = mpsc::channel::<()>();
        let (left, stayed) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let busy = threads.run(LONG, move || {
            let _ = released.recv();
            Ok(())
        });
        let others = async {
            // Asked for while the only thread is busy, and given up.
            let given_up = tokio::time::timeout(Duration::from_millis(1), threads.run(LONG, begun(&left)));
            assert!(given_up.await.is_err());
            drop(release);
            threads.run(LONG, begun(&stayed)).await.unwrap();
        };
        let (done, ()) = tokio::join!(busy, others);
        done.unwrap();
        assert_eq!((left.load(Ordering::SeqCst), stayed.load(Ordering::SeqCst)), (false, true));
    }

    #[tokio::test]
    async fn a_call_that_hangs_is_given_up_at_its_limit_and_holds_up_no_other() {
        let threads = Threads::start(2).unwrap();
        let (release, released) = mpsc::channel::<()>();
        let hung = threads.run(Duration::from_millis(20), move || {
            let _ = released.recv();
            Ok(())
        });
        assert_eq!(hung.await.unwrap_err().kind(), BackendErrorKind::Timeout);
        assert_eq!(threads.run(LONG, || Ok(7)).await.unwrap(), 7);
        drop(release);
    }

    #[tokio::test]
    async fn a_panic_is_an_error_of_that_call_alone() {
        let threads = Threads::start(1).unwrap();
        let error = threads.run::<()>(LONG, || panic!("a wheel came off")).await.unwrap_err();
        assert!(
            error.kind() == BackendErrorKind::Panicked && error.to_string().contains("a wheel"),
            "{error}"
        );
        assert_eq!(threads.run(LONG, || Ok(7)).await.unwrap(), 7);
    }

    #[tokio::test]
    async fn a_short_wait_is_not_held_up_by_a_long_one() {
        let threads = Threads::start(1).unwrap();
        let mut long = Box::pin(threads.sleep(LONG));
        assert!(tokio::time::timeout(Duration::ZERO, &mut long).await.is_err());
        threads.sleep(Duration::from_millis(1)).await;
        drop(threads.timer(LONG));
        threads.sleep(Duration::from_millis(1)).await;
    }
}
