//! A store that does as it is told, and an executor that polls when it is told.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::ThreadId;
use std::time::Duration;

use leasehold::{
    CellStore, ClaimOutcome, DiscardOutcome, Fence, Intent, Lease, Listing, ManualClock, OffloadConfig,
    OwnerId, OwnershipStore, Reach, ReleaseOutcome, RenewOutcome, SandboxId, StoreError, TakeOutcome, Ttl,
};
use leasehold_stores::memory::MemoryCell;
use parking_lot::{Condvar, Mutex};

pub(crate) fn id(text: &str) -> SandboxId {
    text.parse().unwrap()
}

pub(crate) fn ttl() -> Ttl {
    Ttl::from_secs_f64(60.0).unwrap()
}

/// Few threads and a deadline far away, so that only what a test does decides.
pub(crate) fn config() -> OffloadConfig {
    OffloadConfig { workers: 2, max_stuck: 1, deadline: Duration::from_secs(60), ..OffloadConfig::default() }
}

/// What a scripted store does before (or instead of) asking the real one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    /// Waits at a gate *before* the effect.
    WaitBefore,
    /// Waits at a gate *after* the effect, before it answers.
    WaitAfter,
    Panic,
}

/// The script, shared with the test.
#[derive(Default)]
pub(crate) struct Script {
    acts: Mutex<HashMap<SandboxId, Act>>,
    gate: Mutex<Gate>,
    moved: Condvar,
    pub(crate) calls: AtomicUsize,
    pub(crate) threads: Mutex<Vec<ThreadId>>,
    pub(crate) order: Mutex<Vec<SandboxId>>,
}

#[derive(Default)]
struct Gate {
    open: bool,
    inside: usize,
}

impl Script {
    pub(crate) fn set(&self, id: &SandboxId, act: Act) {
        self.acts.lock().insert(id.clone(), act);
    }

    pub(crate) fn clear(&self, id: &SandboxId) {
        self.acts.lock().remove(id);
    }

    /// Lets everyone through the gate, now and later.
    pub(crate) fn open(&self) {
        self.gate.lock().open = true;
        self.moved.notify_all();
    }

    /// Until `n` calls stand at the gate.
    pub(crate) fn await_inside(&self, n: usize) {
        let mut gate = self.gate.lock();
        while gate.inside < n {
            assert!(!self.moved.wait_for(&mut gate, PATIENCE).timed_out(), "{} of {n} came", gate.inside);
        }
    }

    pub(crate) fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }

    fn stand_at_gate(&self) {
        let mut gate = self.gate.lock();
        gate.inside += 1;
        self.moved.notify_all();
        while !gate.open {
            self.moved.wait(&mut gate);
        }
        gate.inside -= 1;
        self.moved.notify_all();
    }

    fn play<T>(&self, id: &SandboxId, effect: impl FnOnce() -> T) -> T {
        self.calls.fetch_add(1, Ordering::SeqCst);
        self.threads.lock().push(std::thread::current().id());
        self.order.lock().push(id.clone());
        let act = self.acts.lock().get(id).copied();
        if act == Some(Act::Panic) {
            panic!("as told");
        }
        if act == Some(Act::WaitBefore) {
            self.stand_at_gate();
        }
        let answer = effect();
        if act == Some(Act::WaitAfter) {
            self.stand_at_gate();
        }
        answer
    }
}

/// How long anything may take before a test gives up; never reached when all is well.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// The store: real leases in memory, and the script around them.
pub(crate) struct Scripted {
    real: CellStore<MemoryCell>,
    script: Arc<Script>,
}

/// A scripted store, its script, and a look at its leases from the side as another owner.
pub(crate) fn scripted() -> (Scripted, Arc<Script>, CellStore<MemoryCell>) {
    let cell = MemoryCell::new(Arc::new(ManualClock::new()));
    let side = CellStore::new(cell.clone(), OwnerId::new("side").unwrap(), ttl());
    let script = Arc::new(Script::default());
    let real = CellStore::new(cell, OwnerId::new("me").unwrap(), ttl());
    (Scripted { real, script: Arc::clone(&script) }, script, side)
}

impl OwnershipStore for Scripted {
    fn owner(&self) -> &OwnerId {
        self.real.owner()
    }
    fn ttl(&self) -> Ttl {
        self.real.ttl()
    }
    fn reach(&self) -> Reach {
        self.real.reach()
    }
    fn quantum(&self) -> Duration {
        self.real.quantum()
    }
    fn take(&self, id: &SandboxId) -> Result<TakeOutcome, StoreError> {
        self.script.play(id, || self.real.take(id))
    }
    fn claim(&self, id: &SandboxId, intent: Intent) -> Result<ClaimOutcome, StoreError> {
        self.script.play(id, || self.real.claim(id, intent))
    }
    fn renew(&self, id: &SandboxId) -> Result<RenewOutcome, StoreError> {
        self.script.play(id, || self.real.renew(id))
    }
    fn release(&self, id: &SandboxId) -> Result<ReleaseOutcome, StoreError> {
        self.script.play(id, || self.real.release(id))
    }
    fn release_tenure(&self, id: &SandboxId, fence: Fence) -> Result<ReleaseOutcome, StoreError> {
        // The facade's own clean-up is never scripted.
        self.real.release_tenure(id, fence)
    }
    fn inspect(&self, id: &SandboxId) -> Result<Option<Lease>, StoreError> {
        self.script.play(id, || self.real.inspect(id))
    }
    fn list(&self) -> Result<Listing, StoreError> {
        self.script.play(&id("list"), || self.real.list())
    }
    fn discard(&self, id: &SandboxId, force: bool) -> Result<DiscardOutcome, StoreError> {
        self.script.play(id, || self.real.discard(id, force))
    }
    fn close(&self) -> Result<(), StoreError> {
        self.script.play(&id("close"), || self.real.close())
    }
}

/// Wakes a thread that waits for it.
#[derive(Default)]
struct Bell {
    rung: Mutex<bool>,
    ring: Condvar,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        *self.rung.lock() = true;
        self.ring.notify_all();
    }
}

/// A future that is polled by hand, and only when told: an executor of the plainest kind.
pub(crate) struct Polled<'a, T> {
    future: Pin<Box<dyn Future<Output = T> + Send + 'a>>,
    bell: Arc<Bell>,
}

impl<'a, T> Polled<'a, T> {
    pub(crate) fn new(future: impl Future<Output = T> + Send + 'a) -> Self {
        Self { future: Box::pin(future), bell: Arc::default() }
    }

    pub(crate) fn poll(&mut self) -> Poll<T> {
        *self.bell.rung.lock() = false;
        let waker = Waker::from(Arc::clone(&self.bell));
        self.future.as_mut().poll(&mut Context::from_waker(&waker))
    }

    /// Until it was woken, without polling it.
    pub(crate) fn await_wake(&self) {
        let mut rung = self.bell.rung.lock();
        while !*rung {
            assert!(!self.bell.ring.wait_for(&mut rung, PATIENCE).timed_out(), "never woken");
        }
    }

    /// Polls it whenever it is woken, to the end.
    pub(crate) fn run(mut self) -> T {
        loop {
            if let Poll::Ready(done) = self.poll() {
                return done;
            }
            self.await_wake();
        }
    }
}

/// Runs a future to its end on this thread.
pub(crate) fn block_on<T>(future: impl Future<Output = T> + Send) -> T {
    Polled::new(future).run()
}

/// Until `done`, looking again and again, since the last step of a worker has no signal of its own.
pub(crate) fn eventually(what: &str, mut done: impl FnMut() -> bool) {
    let patience = leasehold::Deadline::after(PATIENCE);
    while !done() {
        assert!(!patience.passed(), "never: {what}");
        std::thread::yield_now();
    }
}
