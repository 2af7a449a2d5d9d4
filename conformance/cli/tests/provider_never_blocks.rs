//! H1 and H9 at the level of system calls: no part of a provider blocks a thread that polls tasks, and each part that
//! were done inline would be seen.

#[path = "support/yard.rs"]
#[allow(dead_code, reason = "each test uses a part of it")]
mod yard;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use leasehold::{
    Acquire, AsyncOwnershipStore, BackendOperation, BootClock, ClaimOutcome, Clock, CloseReport,
    DiscardOutcome, Env, Fence, Intent, Lease, Listing, Moment, OffloadConfig, Offloaded, OwnerId,
    OwnershipConfig, OwnershipStore, Provider, ProviderConfig, Reach, ReleaseOutcome, RenewOutcome,
    SandboxId, SessionKey, ShutdownMode, StoreError, TakeOutcome, Task, Ttl, WallTime, Work,
};
use leasehold_conformance::is_required;
use leasehold_gate as gate;
use parking_lot::Mutex;

use crate::yard::{Mishap, Yard};

/// The real clock and a runtime whose every task is looked at by the gate. What it saw is kept.
struct GatedEnv {
    clock: BootClock,
    seen: Arc<Mutex<Vec<String>>>,
    /// How many pieces of work were to be done where they may block.
    offloaded: AtomicUsize,
    /// Which of them is done inline, counted from one; zero for none.
    inline: usize,
}

impl GatedEnv {
    fn watch(&self, task: Task) -> Task {
        let seen = Arc::clone(&self.seen);
        Box::pin(async move {
            let ((), violations) = gate::record(task).await;
            seen.lock().extend(violations.iter().map(ToString::to_string));
        })
    }
}

impl Env for GatedEnv {
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
        u128::from(self.clock.now().as_nanos())
    }

    fn sleep(&self, duration: Duration) -> Task {
        Box::pin(async move { tokio::time::sleep(duration).await })
    }

    fn spawn(&self, task: Task) {
        tokio::spawn(self.watch(task));
    }

    fn drive(&self, _name: &str, task: Task) -> std::io::Result<()> {
        tokio::spawn(self.watch(task));
        Ok(())
    }

    fn offload(&self, work: Work) {
        if self.offloaded.fetch_add(1, Ordering::SeqCst) + 1 == self.inline {
            return work();
        }
        tokio::task::spawn_blocking(work);
    }
}

/// What nobody should write: a store that blocks, called where it is awaited.
struct Inline(Box<dyn OwnershipStore>);

#[async_trait]
impl AsyncOwnershipStore for Inline {
    fn owner(&self) -> &OwnerId {
        self.0.owner()
    }

    fn ttl(&self) -> Ttl {
        self.0.ttl()
    }

    fn reach(&self) -> Reach {
        self.0.reach()
    }

    fn quantum(&self) -> Duration {
        self.0.quantum()
    }

    fn deadline(&self) -> Duration {
        DEADLINE
    }

    async fn take(&self, id: &SandboxId) -> Result<TakeOutcome, StoreError> {
        self.0.take(id)
    }

    async fn claim(&self, id: &SandboxId, intent: Intent) -> Result<ClaimOutcome, StoreError> {
        self.0.claim(id, intent)
    }

    async fn heartbeat(&self, id: &SandboxId, fence: Fence) -> Result<ClaimOutcome, StoreError> {
        self.0.claim(id, Intent::DestroyTenure(fence))
    }

    async fn renew(&self, id: &SandboxId) -> Result<RenewOutcome, StoreError> {
        self.0.renew(id)
    }

    async fn renew_many(&self, ids: Vec<SandboxId>) -> Vec<Result<RenewOutcome, StoreError>> {
        self.0.renew_many(&ids)
    }

    async fn release(&self, id: &SandboxId) -> Result<ReleaseOutcome, StoreError> {
        self.0.release(id)
    }

    async fn release_tenure(&self, id: &SandboxId, fence: Fence) -> Result<ReleaseOutcome, StoreError> {
        self.0.release_tenure(id, fence)
    }

    async fn inspect(&self, id: &SandboxId) -> Result<Option<Lease>, StoreError> {
        self.0.inspect(id)
    }

    async fn list(&self) -> Result<Listing, StoreError> {
        self.0.list()
    }

    async fn discard(&self, id: &SandboxId, force: bool) -> Result<DiscardOutcome, StoreError> {
        self.0.discard(id, force)
    }

    async fn close(&self, _deadline: Duration) -> CloseReport {
        // Its end is not what is looked at.
        CloseReport::default()
    }
}

const DEADLINE: Duration = Duration::from_secs(1);

/// A place on the disk, an engine, and what the gate saw of everything that ran there.
struct Scene {
    dir: tempfile::TempDir,
    yard: Yard,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Scene {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap(), yard: Yard::new(), seen: Arc::default() }
    }

    fn config(&self) -> ProviderConfig {
        let ownership = OwnershipConfig::new(Duration::from_millis(250), 8.0).unwrap();
        ProviderConfig::new("test".parse().unwrap())
            .with_ownership(ownership)
            .with_home(self.dir.path().join("home"))
    }

    fn leases(&self) -> Box<dyn OwnershipStore> {
        let url = format!("file:{}", self.dir.path().join("leases").display());
        leasehold_stores::open(&url, OwnerId::generate(), self.config().ownership.ttl()).unwrap()
    }

    fn store(&self) -> Arc<dyn AsyncOwnershipStore> {
        let config = OffloadConfig { deadline: DEADLINE, ..OffloadConfig::default() };
        Arc::new(Offloaded::new(self.leases(), config).unwrap())
    }

    async fn gateway(&self, store: Arc<dyn AsyncOwnershipStore>, inline: usize) -> Provider {
        let clock = BootClock::new().unwrap();
        let env = GatedEnv { clock, seen: Arc::clone(&self.seen), offloaded: 0.into(), inline };
        let builder = Provider::builder(self.config(), store, Arc::new(self.yard.clone())).env(Arc::new(env));
        builder.start().await.unwrap()
    }

    fn seen(&self) -> Vec<String> {
        std::mem::take(&mut *self.seen.lock())
    }

    /// Makes the policy view of a session, so that its id is scoped by it.
    fn with_policy(&self, session: &SessionKey) {
        let home = leasehold::HomeDirectory::new(self.dir.path().join("home"), "skills_view");
        let view = home.session(session).join("skills_view");
        std::fs::create_dir_all(&view).unwrap();
        std::fs::write(view.join("skill.md"), "do good").unwrap();
    }
}

fn session() -> SessionKey {
    SessionKey::new("ada", "thread-7").unwrap()
}

fn acquire() -> Acquire {
    Acquire::session(session()).within(Duration::from_secs(20))
}

/// Whether the gate can be used here; where it can't, says so.
fn gate_works() -> bool {
    match gate::status() {
        gate::Status::Unavailable(why) => {
            assert!(!is_required("gate"), "{why}");
            eprintln!("not run: {why}");
            false
        }
        _ => true,
    }
}

fn run(test: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test);
}

/// Opening a store may block; what comes after must not.
async fn every_path(scene: &Scene) {
    let a = scene.gateway(scene.store(), 0).await;
    let b = scene.gateway(scene.store(), 0).await;
    gate::strict(every_path_of(scene, a, b)).await;
}

async fn every_path_of(scene: &Scene, a: Provider, b: Provider) {
    let made = a.acquire(acquire()).await.unwrap();
    let reused = a.acquire(acquire()).await.unwrap();
    let id = made.id().clone();
    // In memory: no task of the provider runs for it, and so no store is asked.
    let before = scene.yard.calls(BackendOperation::Inspect);
    let ((), looked) = gate::during(|| assert!(a.get(&id).is_some()));
    assert!(looked.is_empty(), "{looked:?}");
    assert_eq!(scene.yard.calls(BackendOperation::Inspect), before);
    made.release().await;
    drop(reused);
    let reclaimed = a.acquire(acquire()).await.unwrap();
    assert_eq!(reclaimed.id(), &id, "warm was asked with the id that was derived");
    drop(reclaimed);
    let discovered = b.acquire(acquire()).await.unwrap();
    assert_eq!(discovered.id(), &id);
    drop(discovered);
    // One that never becomes ready is stopped under its lease.
    scene.yard.next(BackendOperation::WaitReady, Mishap::Fails);
    a.acquire(Acquire::anonymous()).await.unwrap_err();
    assert_eq!(scene.yard.calls(BackendOperation::Destroy), 1);
    // And one that is old enough is destroyed because somebody asks.
    let young = a.acquire(Acquire::anonymous()).await.unwrap();
    let young_id = young.id().clone();
    drop(young);
    tokio::time::sleep(a_horizon(scene)).await;
    a.destroy(&young_id).await.unwrap();
    for (gateway, mode) in [(a, ShutdownMode::StopMine), (b, ShutdownMode::HandOver)] {
        let report = gateway.shutdown(mode, Duration::from_secs(20)).await;
        assert!(report.is_clean(), "{report:?}");
    }
}

fn a_horizon(scene: &Scene) -> Duration {
    scene.config().horizon() + Duration::from_millis(50)
}

#[test]
fn h9_no_path_blocks_a_thread_that_polls() {
    if !gate_works() {
        return;
    }
    let scene = Scene::new();
    run(every_path(&scene));
    assert_eq!(scene.seen(), Vec::<String>::new());
}

#[test]
fn h9_nor_with_an_id_that_is_scoped_by_a_policy() {
    if !gate_works() {
        return;
    }
    let scene = Scene::new();
    scene.with_policy(&session());
    run(every_path(&scene));
    assert_eq!(scene.seen(), Vec::<String>::new());
}

#[test]
fn a_lease_that_is_published_inline_is_seen() {
    if !gate_works() {
        return;
    }
    let scene = Scene::new();
    run(async {
        let a = scene.gateway(Arc::new(Inline(scene.leases())), 0).await;
        drop(a.acquire(acquire()).await.unwrap());
    });
    let seen = scene.seen();
    assert!(seen.iter().any(|call| call.contains("leases")), "{seen:?}");
}

/// The first piece of work derives the id and makes the directories, the second opens the create lock, the third closes it.
#[test]
fn an_id_or_a_lock_path_that_is_resolved_inline_is_seen() {
    if !gate_works() {
        return;
    }
    for (policy, inline, says) in [
        (false, 1, "users"),
        (true, 1, "skills_view"),
        (false, 2, ".lock"),
        (true, 2, ".lock"),
        (false, 3, ".lock"),
    ] {
        let scene = Scene::new();
        if policy {
            scene.with_policy(&session());
        }
        run(async {
            let a = scene.gateway(scene.store(), inline).await;
            drop(a.acquire(acquire()).await.unwrap());
        });
        let seen = scene.seen();
        assert!(seen.iter().any(|call| call.contains(says)), "work {inline}: {seen:?}");
    }
}
