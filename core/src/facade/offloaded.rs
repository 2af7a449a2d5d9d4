use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use async_trait::async_trait;

use super::call::Call;
use super::close::Closing;
use super::lane::{Lane, LaneSettings};
use super::ledger::Ledger;
use super::request::{Reply, Request};
use super::watcher::{Watch, watch};
use super::worker::Crew;
use super::{AsyncOwnershipStore, CloseReport, FacadeStats, OffloadConfig};
use crate::{
    ClaimOutcome, DiscardOutcome, ErrorKind, Fence, Intent, Lease, Listing, OwnerId, OwnershipStore, Reach,
    ReleaseOutcome, RenewOutcome, SandboxId, StoreError, TakeOutcome, Ttl,
};

/// The only way from a sync store into async code: it runs every operation on threads of its own.
///
/// It consumes the store and gives no way back to it, so that nobody can call it on a thread that polls async tasks, by
/// mistake or in a hurry. It needs no runtime: its threads are started in [`new`](Self::new) and its futures run on any
/// executor.
///
/// ```
/// use leasehold::{AsyncOwnershipStore, BootClock, CellStore, Offloaded, OffloadConfig, OwnerId, TakeOutcome, Ttl};
/// use leasehold_stores::memory::MemoryCell;
/// use std::{sync::Arc, time::Duration};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let cell = MemoryCell::new(Arc::new(BootClock::new()?));
/// let store = CellStore::new(cell, OwnerId::generate(), Ttl::from_secs_f64(60.0)?);
/// let store = Offloaded::new(store, OffloadConfig::default())?;
///
/// let taken = store.take(&"sbx-1".parse()?).await?;
/// assert!(matches!(taken, TakeOutcome::Taken { .. }));
/// assert!(store.close(Duration::from_secs(1)).await.is_clean());
/// # Ok(()) }
/// ```
///
/// There is no accessor:
///
/// ```compile_fail
/// # let store: leasehold::Offloaded = unimplemented!();
/// let inner: &dyn leasehold::OwnershipStore = store.store();
/// ```
///
/// ```compile_fail
/// # let store: leasehold::Offloaded = unimplemented!();
/// let inner: &dyn leasehold::OwnershipStore = &store;
/// ```
pub struct Offloaded {
    owner: OwnerId,
    ttl: Ttl,
    reach: Reach,
    quantum: Duration,
    lanes: [Arc<Lane>; 2],
    closing: Arc<Closing>,
}

impl Offloaded {
    /// Starts the threads that `config` says and hands them `store`.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for settings out of range, [`ErrorKind::Full`] when a thread could not be started.
    pub fn new(store: impl OwnershipStore, config: OffloadConfig) -> Result<Self, StoreError> {
        config.check().map_err(|e| StoreError::new(ErrorKind::Invalid, e.to_string()))?;
        let (owner, ttl) = (store.owner().clone(), store.ttl());
        let (reach, quantum) = (store.reach(), store.quantum());
        let watcher = Arc::new(Watch::new());
        let lane = |settings| Arc::new(Lane::new(settings, Arc::clone(&watcher)));
        let lanes = [lane(LaneSettings::ordinary(&config)), lane(LaneSettings::renewals(&config))];
        let closing = Arc::new(Closing::default());
        let crew = Crew { store: Arc::new(store), ledger: Arc::new(Ledger::new()), hook: config.on_orphan };
        // From here on a failure drops `this`, which closes the lanes and so ends the threads started so far.
        let this = Self { owner, ttl, reach, quantum, lanes, closing };
        this.start(Arc::new(crew), watcher).map_err(|cause| {
            let text = "a thread of the facade could not be started; raise the limit on threads";
            StoreError::new(ErrorKind::Full, text).with_source(cause)
        })?;
        Ok(this)
    }

    fn start(&self, crew: Arc<Crew>, watcher: Arc<Watch>) -> std::io::Result<()> {
        for lane in &self.lanes {
            for seat in 0..lane.workers() {
                if let Err(cause) = crew.start_worker(lane, seat) {
                    self.lanes.iter().for_each(|lane| lane.close());
                    return Err(cause);
                }
            }
        }
        let (lanes, closing) = (self.lanes.clone(), Arc::clone(&self.closing));
        let run = move || watch(&watcher, &crew, &lanes, &closing);
        std::thread::Builder::new().name("leasehold-watch".to_owned()).spawn(run).map(drop)
    }

    /// What it is doing right now. A look at two short locks, cheap enough for a dashboard.
    #[must_use]
    pub fn stats(&self) -> FacadeStats {
        let mut stats = FacadeStats { threads: 1, ..FacadeStats::default() };
        for lane in &self.lanes {
            let (waiting, running, stuck, threads, replaced) = lane.count();
            stats.waiting += waiting;
            stats.running += running;
            stats.stuck += stuck;
            stats.threads += threads;
            stats.replaced += replaced;
            stats.timed_out += lane.timed_out.load(Ordering::Relaxed);
            stats.panicked += lane.panicked.load(Ordering::Relaxed);
            stats.orphaned += lane.orphaned.load(Ordering::Relaxed);
        }
        stats
    }

    fn ask(&self, request: Request) -> Call<'_> {
        let [ordinary, _] = &self.lanes;
        Call::new(ordinary, request)
    }

    /// In the lane where nothing but renewals and heartbeats waits.
    fn ask_in_time(&self, request: Request) -> Call<'_> {
        let [_, renewals] = &self.lanes;
        Call::new(renewals, request)
    }
}

/// The answer of the kind that was asked for.
macro_rules! answer {
    ($kind:ident, $reply:expr) => {
        match $reply {
            Reply::$kind(answer) => answer,
            other => Err(other.failure()),
        }
    };
}

#[async_trait]
impl AsyncOwnershipStore for Offloaded {
    fn owner(&self) -> &OwnerId {
        &self.owner
    }

    fn ttl(&self) -> Ttl {
        self.ttl
    }

    fn reach(&self) -> Reach {
        self.reach
    }

    fn quantum(&self) -> Duration {
        self.quantum
    }

    fn deadline(&self) -> Duration {
        self.lanes[0].deadline()
    }

    async fn take(&self, id: &SandboxId) -> Result<TakeOutcome, StoreError> {
        answer!(Take, self.ask(Request::Take(id.clone())).await)
    }

    async fn claim(&self, id: &SandboxId, intent: Intent) -> Result<ClaimOutcome, StoreError> {
        answer!(Claim, self.ask(Request::Claim(id.clone(), intent)).await)
    }

    async fn heartbeat(&self, id: &SandboxId, fence: Fence) -> Result<ClaimOutcome, StoreError> {
        let request = Request::Claim(id.clone(), Intent::DestroyTenure(fence));
        answer!(Claim, self.ask_in_time(request).await)
    }

    async fn renew(&self, id: &SandboxId) -> Result<RenewOutcome, StoreError> {
        answer!(Renew, self.ask_in_time(Request::Renew(id.clone())).await)
    }

    async fn renew_many(&self, ids: Vec<SandboxId>) -> Vec<Result<RenewOutcome, StoreError>> {
        match self.ask_in_time(Request::RenewMany(ids.clone())).await {
            Reply::RenewMany(outcomes) => outcomes,
            other => {
                let error = other.failure();
                ids.iter().map(|id| Err(error.clone().during(crate::Operation::Renew, Some(id)))).collect()
            }
        }
    }

    async fn release(&self, id: &SandboxId) -> Result<ReleaseOutcome, StoreError> {
        answer!(Release, self.ask(Request::Release(id.clone())).await)
    }

    async fn release_tenure(&self, id: &SandboxId, fence: Fence) -> Result<ReleaseOutcome, StoreError> {
        answer!(Release, self.ask(Request::ReleaseTenure(id.clone(), fence)).await)
    }

    async fn inspect(&self, id: &SandboxId) -> Result<Option<Lease>, StoreError> {
        answer!(Inspect, self.ask(Request::Inspect(id.clone())).await)
    }

    async fn list(&self) -> Result<Listing, StoreError> {
        answer!(List, self.ask(Request::List).await)
    }

    async fn discard(&self, id: &SandboxId, force: bool) -> Result<DiscardOutcome, StoreError> {
        answer!(Discard, self.ask(Request::Discard(id.clone(), force)).await)
    }

    async fn close(&self, deadline: Duration) -> CloseReport {
        self.closing.close(deadline, &self.lanes).await
    }
}

impl Drop for Offloaded {
    /// Doesn't block: the threads end by themselves once what they were asked is done, and the last of them drops the
    /// store.
    fn drop(&mut self) {
        self.lanes.iter().for_each(|lane| lane.close());
    }
}

impl fmt::Debug for Offloaded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Offloaded")
            .field("owner", &self.owner)
            .field("stats", &self.stats())
            .finish_non_exhaustive()
    }
}
