use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use leasehold::{
    Clock, CreateGuard, Env, Home, HomeError, ManualClock, Moment, Prepared, SandboxId, SessionKey, Task,
    WallTime, Work,
};
use parking_lot::Mutex;

/// Time that passes on command; everything runs on the runtime of whoever lets it pass.
#[derive(Clone)]
pub(super) struct World {
    pub(super) clock: Arc<dyn Clock>,
    hand: ManualClock,
    sleepers: Arc<Mutex<Sleepers>>,
    random: Arc<AtomicU64>,
}

#[derive(Default)]
struct Sleepers {
    next: u64,
    waiting: BTreeMap<(Moment, u64), Waker>,
}

impl World {
    pub(super) fn new() -> Self {
        let hand = ManualClock::new();
        Self { clock: Arc::new(hand.clone()), hand, sleepers: Arc::default(), random: Arc::default() }
    }

    /// A world with a clock of its own, which nobody moves.
    pub(super) fn with_clock(clock: Arc<dyn Clock>) -> Self {
        Self { clock, ..Self::new() }
    }

    /// Lets `duration` pass, and the loops that it wakes do their work until they rest again.
    pub(super) async fn tick(&self, duration: Duration) {
        self.hand.advance(duration);
        let now = self.clock.now();
        let (resting, woken) = {
            let mut sleepers = self.sleepers.lock();
            let resting = sleepers.waiting.len();
            let later = sleepers.waiting.split_off(&(now + Duration::from_nanos(1), 0));
            (resting, std::mem::replace(&mut sleepers.waiting, later))
        };
        if woken.is_empty() {
            return;
        }
        woken.into_values().for_each(Waker::wake);
        while self.sleepers.lock().waiting.len() < resting {
            tokio::task::yield_now().await;
        }
    }
}

struct Sleep {
    world: World,
    at: Moment,
    place: Option<u64>,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.world.clock.now() >= self.at {
            return Poll::Ready(());
        }
        let at = self.at;
        let place = self.place;
        let mut sleepers = self.world.sleepers.lock();
        let place = place.unwrap_or_else(|| {
            sleepers.next += 1;
            sleepers.next
        });
        sleepers.waiting.insert((at, place), cx.waker().clone());
        drop(sleepers);
        self.place = Some(place);
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let Some(place) = self.place {
            self.world.sleepers.lock().waiting.remove(&(self.at, place));
        }
    }
}

impl Env for World {
    fn now(&self) -> Moment {
        self.clock.now()
    }

    fn awake(&self) -> Moment {
        self.clock.now()
    }

    fn wall(&self) -> WallTime {
        self.clock.wall()
    }

    fn random(&self) -> u128 {
        u128::from(self.random.fetch_add(1, Ordering::Relaxed))
    }

    fn sleep(&self, duration: Duration) -> Task {
        let world = self.clone();
        Box::pin(async move {
            let at = world.clock.now() + duration;
            Sleep { world, at, place: None }.await;
        })
    }

    fn spawn(&self, task: Task) {
        tokio::spawn(task);
    }

    fn drive(&self, _name: &str, task: Task) -> std::io::Result<()> {
        tokio::spawn(task);
        Ok(())
    }

    fn offload(&self, work: Work) {
        work();
    }
}

/// A home without a disk.
pub(super) struct NoHome;

impl Home for NoHome {
    fn prepare(&self, _session: &SessionKey) -> Result<Prepared, HomeError> {
        Ok(Prepared::default())
    }

    fn try_lock(&self, _id: &SandboxId) -> Result<Option<CreateGuard>, HomeError> {
        Ok(Some(Box::new(())))
    }
}
