use std::collections::HashSet;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, ThreadId};

use leasehold_gate::{self as gate, Violation};
use tokio::runtime::{Builder, Runtime};

use crate::case::Stop;

/// A way for the usual runtime to run tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavour {
    /// One thread polls everything: whatever blocks it blocks all.
    CurrentThread,
    /// Several threads poll, and tasks move between them.
    MultiThread,
}

/// How a task went.
pub(super) struct Ran<T> {
    pub(super) output: T,
    /// The threads that polled it. Which threads a runtime starts for what is its own affair: under load one that was started
    /// first may turn out to do blocking work.
    pub(super) polled_by: HashSet<ThreadId>,
}

type Threads = Arc<Mutex<HashSet<ThreadId>>>;

impl Flavour {
    /// Both.
    pub const ALL: [Self; 2] = [Self::CurrentThread, Self::MultiThread];

    /// Runs `task` to its end as a task of its own, each poll under the gate where there is one.
    pub(super) fn run_gated<T: Send + 'static>(
        self,
        task: impl Future<Output = T> + Send + 'static,
    ) -> Result<(T, Vec<String>), Stop> {
        let gated = async {
            if gate::status().is_available() { gate::record(task).await } else { (task.await, Vec::new()) }
        };
        let (output, violations) = self.run(gated)?.output;
        Ok((output, words(&violations)))
    }

    /// Runs `task` to its end as a task of its own.
    pub(super) fn run<T: Send + 'static>(
        self,
        task: impl Future<Output = T> + Send + 'static,
    ) -> Result<Ran<T>, Stop> {
        let threads = Threads::default();
        let runtime = self.runtime().map_err(|e| Stop::Harness(format!("no runtime: {e}")))?;
        let task = noting(task, Arc::clone(&threads));
        let output =
            runtime.block_on(async { tokio::spawn(task).await }).map_err(|e| match e.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(error) => Stop::Harness(format!("the task of a case did not end: {error}")),
            })?;
        let polled_by = std::mem::take(&mut *threads.lock().unwrap_or_else(PoisonError::into_inner));
        Ok(Ran { output, polled_by })
    }

    fn runtime(self) -> std::io::Result<Runtime> {
        let mut builder = match self {
            Self::CurrentThread => Builder::new_current_thread(),
            Self::MultiThread => Builder::new_multi_thread(),
        };
        if self == Self::MultiThread {
            builder.worker_threads(2);
        }
        builder.enable_time().build()
    }
}

/// What blocked, in words: the first with all that led to it, the others in short. Looks names and lines up, which is work
/// for outside all polls.
pub(super) fn words(violations: &[Violation]) -> Vec<String> {
    let short = |seen: &Violation| {
        [Some(seen.call()), seen.target()].into_iter().flatten().collect::<Vec<_>>().join(" ")
    };
    let first = violations.first().map(ToString::to_string);
    first.into_iter().chain(violations.iter().skip(1).map(short)).collect()
}

fn note(threads: &Threads) {
    threads.lock().unwrap_or_else(PoisonError::into_inner).insert(thread::current().id());
}

/// The same task, whose every poll notes the thread it is made on.
async fn noting<T>(task: impl Future<Output = T>, threads: Threads) -> T {
    let mut task = pin!(task);
    poll_fn(|cx| {
        note(&threads);
        task.as_mut().poll(cx)
    })
    .await
}

impl fmt::Display for Flavour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::CurrentThread => "a runtime of one thread",
            Self::MultiThread => "a runtime of several threads",
        })
    }
}
