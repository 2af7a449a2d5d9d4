//! Everything a provider needs of the world besides its store and its backend: time, rest, chance, tasks and threads.

mod threads;

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

pub use threads::ThreadedEnv;

use crate::{Moment, WallTime};

/// A future that owns all it needs.
pub type Task<T = ()> = Pin<Box<dyn Future<Output = T> + Send + 'static>>;

/// Work that may block: it touches the disk, waits for a file lock, calls the integrator's code.
pub type Work = Box<dyn FnOnce() + Send + 'static>;

/// The world as a provider sees it. [`ThreadedEnv`] is the real one; a simulation puts virtual time and seeded chance in
/// its place and runs every task on one thread.
pub trait Env: Send + Sync + 'static {
    /// Now, by the clock that leases are timed by: it never steps and counts suspended time.
    fn now(&self) -> Moment;

    /// Now, by a clock that stands still while the host is suspended: a host that wakes up must not think that it has
    /// been watching all the while.
    fn awake(&self) -> Moment;

    /// What the calendar says; for people to read.
    fn wall(&self) -> WallTime;

    /// 128 random bits.
    fn random(&self) -> u128;

    /// Rests for `duration`.
    fn sleep(&self, duration: Duration) -> Task;

    /// Runs `task` beside whoever asks, to its end, whether or not the asker stays.
    fn spawn(&self, task: Task);

    /// Runs `task` on a thread of its own, so that nothing that other tasks do can delay it.
    ///
    /// # Errors
    /// The operating system's, when there is no thread to be had.
    fn drive(&self, name: &str, task: Task) -> std::io::Result<()>;

    /// Does `work` where it may block, at once or when one of a bounded number of threads is free.
    fn offload(&self, work: Work);
}
