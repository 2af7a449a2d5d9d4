//! A world whose clock moves on command: leases, rests and idle times all go by it.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use leasehold::{
    CellStore, Clock, Damaged, DiscardOutcome, Env, LeaseCell, ManualClock, Moment, OffloadConfig, Offloaded,
    OwnerId, OwnershipConfig, Provider, ProviderBuilder, ProviderConfig, Reach, Reading, Record, SandboxId,
    Step, StoreError, Task, WallTime, Work,
};
use leasehold_stores::memory::MemoryCell;
use parking_lot::Mutex;

use crate::yard::Yard;

/// Time and tasks. Clones are the same world.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) clock: ManualClock,
    sleepers: Arc<Mutex<Vec<(Moment, Waker)>>>,
    random: Arc<AtomicU64>,
}

impl World {
    pub(crate) fn new() -> Self {
        Self { clock: ManualClock::new(), sleepers: Arc::default(), random: Arc::new(AtomicU64::new(1)) }
    }

    /// Lets time pass, and everything happen that it brings.
    pub(crate) async fn pass(&self, duration: Duration) {
        let end = self.clock.now() + duration;
        loop {
            self.settle().await;
            let next = self.sleepers.lock().iter().map(|(at, _)| *at).filter(|at| *at <= end).min();
            let Some(next) = next else { break };
            let step = next.since(self.clock.now());
            self.clock.advance(step);
            let now = self.clock.now();
            let mut woken = Vec::new();
            self.sleepers.lock().retain(|(at, waker)| {
                let due = *at <= now;
                if due {
                    woken.push(waker.clone());
                }
                !due
            });
            woken.into_iter().for_each(Waker::wake);
        }
        self.clock.advance(end.since(self.clock.now()));
        self.settle().await;
    }

    /// Lets time pass until `done` is; an hour is more than anything here may take.
    pub(crate) async fn until<T>(&self, done: impl Future<Output = T>) -> T {
        let mut done = std::pin::pin!(done);
        for _ in 0..36_000 {
            let now = std::future::poll_fn(|cx| Poll::Ready(done.as_mut().poll(cx))).await;
            if let Poll::Ready(answer) = now {
                return answer;
            }
            self.pass(Duration::from_millis(100)).await;
        }
        panic!("it goes on for more than an hour");
    }

    /// Lets everything that can go on go on. The store's threads are real ones, so this gives them real time as well.
    pub(crate) async fn settle(&self) {
        for _ in 0..40 {
            tokio::task::yield_now().await;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
        for _ in 0..40 {
            tokio::task::yield_now().await;
        }
    }
}

struct Sleep {
    world: World,
    at: Moment,
}

impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.world.clock.now() >= self.at {
            return Poll::Ready(());
        }
        self.world.sleepers.lock().push((self.at, cx.waker().clone()));
        Poll::Pending
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
        u128::from(self.random.fetch_add(0x9E37_79B9_7F4A_7C15, Ordering::Relaxed))
    }

    fn sleep(&self, duration: Duration) -> Task {
        let world = self.clone();
        Box::pin(async move {
            let at = world.clock.now() + duration;
            Sleep { world, at }.await;
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
        tokio::task::spawn_blocking(work);
    }
}

/// Leases that many processes would see: what the memory store keeps, with the reach of a host, so that graces count.
#[derive(Clone)]
pub(crate) struct Wide(MemoryCell);

impl LeaseCell for Wide {
    fn reach(&self) -> Reach {
        Reach::Host
    }

    fn quantum(&self) -> Duration {
        self.0.quantum()
    }

    fn update<T>(
        &self,
        id: &SandboxId,
        rule: impl Fn(Option<&Record>, Reading) -> Step<T>,
    ) -> Result<T, StoreError> {
        self.0.update(id, rule)
    }

    fn scan(
        &self,
        each: &mut dyn FnMut(Result<(SandboxId, Record, Reading), Damaged>),
    ) -> Result<(), StoreError> {
        self.0.scan(each)
    }

    fn discard(&self, id: &SandboxId, force: bool) -> Result<DiscardOutcome, StoreError> {
        self.0.discard(id, force)
    }
}

/// One engine, one store, one disk, and as many gateways as are asked for.
pub(crate) struct Fleet {
    pub(crate) world: World,
    pub(crate) yard: Yard,
    pub(crate) leases: Wide,
    home: tempfile::TempDir,
}

impl Fleet {
    pub(crate) fn new() -> Self {
        let world = World::new();
        let leases = Wide(MemoryCell::new(Arc::new(world.clock.clone())));
        Self { world, yard: Yard::new(), leases, home: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn config(&self) -> ProviderConfig {
        let ownership = OwnershipConfig::new(Duration::from_secs(10), 4.0).unwrap();
        ProviderConfig::new("test".parse().unwrap())
            .with_ownership(ownership)
            .with_home(self.home.path().join("home"))
    }

    /// A store of `owner` over the shared leases, as another process would open it.
    pub(crate) fn store(&self, owner: &str) -> CellStore<Wide> {
        CellStore::new(self.leases.clone(), OwnerId::new(owner).unwrap(), self.config().ownership.ttl())
    }

    pub(crate) fn builder(&self, owner: &str, config: ProviderConfig) -> ProviderBuilder {
        let offload = OffloadConfig { spin: Duration::ZERO, ..OffloadConfig::default() };
        let store = Offloaded::new(self.store(owner), offload).unwrap();
        Provider::builder(config, Arc::new(store), Arc::new(self.yard.clone()))
            .env(Arc::new(self.world.clone()))
    }

    /// A gateway with the usual settings that renews and tidies up.
    pub(crate) async fn gateway(&self, owner: &str) -> Provider {
        self.gateway_with(owner, |_| {}).await
    }

    pub(crate) async fn gateway_with(
        &self,
        owner: &str,
        change: impl FnOnce(&mut ProviderConfig),
    ) -> Provider {
        let mut config = self.config();
        change(&mut config);
        self.builder(owner, config).start().await.unwrap()
    }
}
