use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use tokio::runtime::{Builder, Handle};
use tokio::sync::watch;

use super::{Env, Task, Work};
use crate::{BootClock, Clock, Moment, StoreError, WallTime};

/// The real world: the kernel's clocks, and threads of its own.
///
/// Tasks run on one thread with a runtime of its own, so that a provider works the same under any executor of the
/// gateway, and goes on tidying up when the gateway's runtime has ended. It lasts as long as somebody holds a clone.
#[derive(Clone)]
pub struct ThreadedEnv {
    inner: Arc<Inner>,
}

struct Inner {
    clock: BootClock,
    runtime: Handle,
    /// Dropped with the last clone, which ends the thread.
    _alive: watch::Sender<()>,
}

impl ThreadedEnv {
    /// How many pieces of blocking work run at once.
    pub const BLOCKING_THREADS: usize = 16;

    /// Reads the clock and starts the thread.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) when the kernel doesn't say which boot this is,
    /// [`ErrorKind::Full`](crate::ErrorKind::Full) when no thread could be started.
    pub fn start() -> Result<Self, StoreError> {
        let full = |cause: io::Error| {
            let text = "a thread of the provider could not be started; raise the limit on threads";
            StoreError::new(crate::ErrorKind::Full, text).with_source(cause)
        };
        let clock = BootClock::new()?;
        let runtime = Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(Self::BLOCKING_THREADS)
            .thread_name("leasehold-disk")
            .build()
            .map_err(full)?;
        let handle = runtime.handle().clone();
        let (alive, mut ended) = watch::channel(());
        std::thread::Builder::new()
            .name("leasehold".to_owned())
            .spawn(move || {
                // Ends when the sender is dropped. What is left then belongs to nobody.
                runtime.block_on(async move { while ended.changed().await.is_ok() {} });
                runtime.shutdown_background();
            })
            .map_err(full)?;
        Ok(Self { inner: Arc::new(Inner { clock, runtime: handle, _alive: alive }) })
    }
}

impl fmt::Debug for ThreadedEnv {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ThreadedEnv")
    }
}

impl Env for ThreadedEnv {
    fn now(&self) -> Moment {
        self.inner.clock.now()
    }

    fn awake(&self) -> Moment {
        let time = clock_gettime(ClockId::Monotonic);
        Moment::from_nanos((time.tv_sec as u64).saturating_mul(1_000_000_000) + time.tv_nsec as u64)
    }

    fn wall(&self) -> WallTime {
        self.inner.clock.wall()
    }

    fn random(&self) -> u128 {
        let mut bits = [0_u8; 16];
        getrandom::fill(&mut bits).expect("the operating system gives 16 random bytes");
        u128::from_be_bytes(bits)
    }

    fn sleep(&self, duration: Duration) -> Task {
        // Made when it is polled, since a timer belongs to the runtime that runs the task.
        Box::pin(async move { tokio::time::sleep(duration).await })
    }

    fn spawn(&self, task: Task) {
        // A task keeps the runtime it runs on alive, so that nothing is cut off in the middle.
        let alive = self.clone();
        self.inner.runtime.spawn(async move {
            task.await;
            drop(alive);
        });
    }

    fn drive(&self, name: &str, task: Task) -> io::Result<()> {
        let runtime = Builder::new_current_thread().enable_time().build()?;
        std::thread::Builder::new()
            .name(format!("leasehold-{name}"))
            .spawn(move || runtime.block_on(task))
            .map(drop)
    }

    fn offload(&self, work: Work) {
        self.inner.runtime.spawn_blocking(work);
    }
}
