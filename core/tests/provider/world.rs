//! A world whose clock moves on command: leases, rests and idle times all go by it.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use leasehold::{
    CellStore, Clock, Damaged, DiscardOutcome, Env, LeaseCell, ManualClock, Moment, Namespace, OffloadConfig,
    Offloaded, OwnerId, OwnershipConfig, OwnershipStore, Provider, ProviderBuilder, ProviderConfig, Reach,
    Reading, Record, SandboxId, Step, StoreError, Task, WallTime, Work,
};
use leasehold_stores::memory::MemoryCell;
use parking_lot::Mutex;
use tokio::sync::Semaphore;

use crate::ledger::{Ledger, Script};
use crate::yard::Yard;

/// Time and tasks. Clones are the same world.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) clock: ManualClock,
    /// For how long it was suspended, in nanoseconds.
    asleep: Arc<AtomicU64>,
    sleepers: Arc<Mutex<Vec<(Moment, Waker)>>>,
    random: Arc<AtomicU64>,
    /// Work on real threads that has not ended.
    busy: Arc<AtomicUsize>,
    /// What was asked of the store, the engine and the disk, in order.
    journal: Arc<Mutex<Vec<String>>>,
    /// The names of the tasks that have a thread of their own.
    driven: Arc<Mutex<Vec<String>>>,
    /// Where every call waits before and after its effect, while it is shut.
    turnstile: Arc<Mutex<Option<Arc<Semaphore>>>>,
}

/// Work on a real thread, until dropped.
pub(crate) struct Busy(Arc<AtomicUsize>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl World {
    pub(crate) fn new() -> Self {
        Self {
            clock: ManualClock::new(),
            asleep: Arc::default(),
            sleepers: Arc::default(),
            random: Arc::new(AtomicU64::new(1)),
            busy: Arc::default(),
            journal: Arc::default(),
            driven: Arc::default(),
            turnstile: Arc::default(),
        }
    }

    /// The host is suspended: leases run on, and nothing is awake to see it.
    pub(crate) fn suspend(&self, duration: Duration) {
        self.clock.advance(duration);
        self.asleep.fetch_add(duration.as_nanos() as u64, Ordering::SeqCst);
    }

    pub(crate) fn busy(&self) -> Busy {
        self.busy.fetch_add(1, Ordering::SeqCst);
        Busy(Arc::clone(&self.busy))
    }

    pub(crate) fn note(&self, what: impl Into<String>) {
        self.journal.lock().push(what.into());
    }

    /// What was asked of the store, the engine and the disk since this was asked last.
    pub(crate) fn journal(&self) -> Vec<String> {
        std::mem::take(&mut *self.journal.lock())
    }

    /// The names of the tasks that have a thread of their own.
    pub(crate) fn driven(&self) -> Vec<String> {
        self.driven.lock().clone()
    }

    /// From here on every call waits before and after its effect until it is let through.
    pub(crate) fn shut_turnstile(&self) {
        *self.turnstile.lock() = Some(Arc::new(Semaphore::new(0)));
    }

    /// Lets one call take one step, as soon as one wants to.
    pub(crate) async fn step(&self) {
        self.turnstile.lock().as_ref().expect("the turnstile is shut").add_permits(1);
        self.settle().await;
    }

    pub(crate) fn open_turnstile(&self) {
        if let Some(turnstile) = self.turnstile.lock().take() {
            turnstile.add_permits(1_000_000);
        }
    }

    pub(crate) async fn through_turnstile(&self) {
        let turnstile = self.turnstile.lock().clone();
        if let Some(turnstile) = turnstile {
            turnstile.acquire().await.unwrap().forget();
        }
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
            // Time stands still as long as anything goes on without it.
            for _ in 0..2 {
                let now = std::future::poll_fn(|cx| Poll::Ready(done.as_mut().poll(cx))).await;
                if let Poll::Ready(answer) = now {
                    return answer;
                }
                self.settle().await;
            }
            self.pass(Duration::from_millis(100)).await;
        }
        panic!("it goes on for more than an hour");
    }

    /// Lets everything that can go on go on, until all that is left waits for time or for a gate. The store's threads are
    /// real ones: what they have begun is waited for.
    pub(crate) async fn settle(&self) {
        let (mut quiet, mut noisy) = (0, 0);
        while quiet < 2 {
            for _ in 0..40 {
                tokio::task::yield_now().await;
            }
            if self.busy.load(Ordering::SeqCst) == 0 {
                quiet += 1;
                continue;
            }
            (quiet, noisy) = (0, noisy + 1);
            if noisy % 8 == 0 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
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
        Moment::from_nanos(self.clock.now().as_nanos() - self.asleep.load(Ordering::SeqCst))
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

    fn drive(&self, name: &str, task: Task) -> std::io::Result<()> {
        self.driven.lock().push(name.to_owned());
        tokio::spawn(task);
        Ok(())
    }

    fn offload(&self, work: Work) {
        let (world, busy) = (self.clone(), self.busy());
        if self.turnstile.lock().is_none() {
            tokio::task::spawn_blocking(move || {
                work();
                drop(busy);
            });
            return;
        }
        drop(busy);
        tokio::spawn(async move {
            world.through_turnstile().await;
            let busy = world.busy();
            tokio::task::spawn_blocking(move || {
                work();
                drop(busy);
            });
        });
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
    /// What happens to calls of the store.
    pub(crate) script: Script,
    home: tempfile::TempDir,
}

impl Fleet {
    pub(crate) fn new() -> Self {
        let world = World::new();
        let leases = Wide(MemoryCell::new(Arc::new(world.clock.clone())));
        let yard = Yard::new(world.clone(), "yard");
        Self { world, yard, leases, script: Script::default(), home: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn config(&self) -> ProviderConfig {
        let ownership = OwnershipConfig::new(Duration::from_secs(10), 4.0).unwrap();
        ProviderConfig::new(Namespace::new("test").unwrap())
            .with_ownership(ownership)
            .with_home(self.home.path().join("home"))
    }

    /// A store of `owner` over the shared leases, as another process would open it.
    pub(crate) fn store(&self, owner: &str) -> CellStore<Wide> {
        CellStore::new(self.leases.clone(), OwnerId::new(owner).unwrap(), self.config().ownership.ttl())
    }

    /// The ids that `owner` holds.
    pub(crate) fn leases_of(&self, owner: &str) -> Vec<SandboxId> {
        let listed = self.store("look").list().unwrap().leases.into_iter();
        listed.filter(|(_, lease)| lease.owner.as_str() == owner).map(|(id, _)| id).collect()
    }

    /// The same behind its facade, with whatever the script has in store for it.
    pub(crate) fn ledger(&self, owner: &str) -> Ledger {
        let offload = OffloadConfig { spin: Duration::ZERO, ..OffloadConfig::default() };
        let store = Offloaded::new(self.store(owner), offload).unwrap();
        Ledger::new(store, self.world.clone(), self.script.clone())
    }

    pub(crate) fn builder(&self, owner: &str, config: ProviderConfig) -> ProviderBuilder {
        Provider::builder(config, Arc::new(self.ledger(owner)), Arc::new(self.yard.clone()))
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
