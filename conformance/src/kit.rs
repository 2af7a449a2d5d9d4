use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use leasehold::{
    ClaimOutcome, Clock, Deadline, Fence, Intent, Lease, ManualClock, Moment, OwnerId, OwnershipStore,
    SandboxId, TakeOutcome, Tenure, Ttl,
};

use crate::case::Stop;
use crate::children::Again;
use crate::guard::{Guarded, guarded};
use crate::time::Time;
use crate::{Capabilities, Harness, Namespace};

/// What a case works with: a namespace of its own, the clock, and short words for what every case does.
pub struct Kit<'a> {
    harness: &'a dyn Harness,
    namespace: Box<dyn Namespace>,
    capabilities: Capabilities,
    time: Time,
    seed: u64,
    again: Option<Again>,
    /// The shortest TTL that a handle of this case has, in milliseconds.
    shortest: AtomicU64,
}

/// A store under test, opened for one owner.
pub type Store = Arc<dyn OwnershipStore>;

impl<'a> Kit<'a> {
    /// The TTL of the handles that set a scene.
    pub const SCENE: Duration = Duration::from_secs(60);
    /// The TTL of the handle under test: longer, so that a refresh shows at once and without waiting.
    pub const TESTED: Duration = Duration::from_secs(120);
    /// The TTL where a broken server may use up minutes.
    pub const LONG: Duration = Duration::from_secs(3_600);
    /// The grain of the servers' clocks, for times left that are compared with this host's.
    const GRAIN: Duration = Duration::from_millis(10);

    /// A kit on a fresh namespace of `harness`.
    ///
    /// # Errors
    /// What the harness says, and where this host has no boot clock.
    pub fn new(harness: &'a dyn Harness, seed: u64) -> Result<Self, Stop> {
        let capabilities = guarded("capabilities", || harness.capabilities())?;
        let namespace = guarded("fresh", || harness.fresh())??;
        let time = if capabilities.virtual_time {
            Time::moved()
        } else {
            Time::real().map_err(|e| Stop::Harness(e.to_string()))?
        };
        let (again, shortest) = (None, AtomicU64::new(u64::MAX));
        Ok(Self { harness, namespace, capabilities, time, seed, again, shortest })
    }

    /// The same, for a program that `again` tells how to run again.
    pub(crate) fn in_program(self, again: Option<Again>) -> Self {
        Self { again, ..self }
    }

    /// How this program is run again as a child of itself.
    ///
    /// # Errors
    /// Not run in a program that did not say.
    pub fn again(&self) -> Result<&Again, Stop> {
        let why = "this program did not say how it is run again as a child; see Options::again";
        self.again.as_ref().ok_or_else(|| Stop::NotRun(why.to_owned()))
    }

    /// The harness itself. What its own code may panic in is better asked through the kit.
    pub fn harness(&self) -> &dyn Harness {
        self.harness
    }

    /// The namespace of this case.
    pub fn namespace(&self) -> &dyn Namespace {
        &*self.namespace
    }

    /// What is declared.
    pub fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    /// What chance goes by.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Another fresh namespace.
    ///
    /// # Errors
    /// What the harness says.
    pub fn fresh(&self) -> Result<Box<dyn Namespace>, Stop> {
        Ok(guarded("fresh", || self.harness.fresh())??)
    }

    /// The namespace at `address`, as another process sees it.
    ///
    /// # Errors
    /// What the harness says.
    pub fn at(&self, address: &str) -> Result<Box<dyn Namespace>, Stop> {
        Ok(guarded("at", || self.harness.at(address))??)
    }

    /// Where the namespace of this case is, for other processes.
    ///
    /// # Errors
    /// [`Stop::Harness`] when the harness panics.
    pub fn address(&self) -> Result<Option<String>, Stop> {
        guarded("address", || self.namespace.address())
    }

    /// How many records the namespace of this case holds, where the harness can count them.
    ///
    /// # Errors
    /// [`Stop::Harness`] when the harness panics.
    pub fn stored(&self) -> Result<Option<u64>, Stop> {
        guarded("stored", || self.namespace.stored())
    }

    /// The clock that handles are opened with.
    pub fn clock(&self) -> Arc<dyn Clock> {
        self.time.clock()
    }

    /// Now.
    pub fn now(&self) -> Moment {
        self.time.now()
    }

    /// The clock that moves on command.
    ///
    /// # Errors
    /// Not applicable to stores whose server times the leases.
    pub fn virtual_clock(&self) -> Result<&ManualClock, Stop> {
        self.time.manual().ok_or_else(|| Stop::not_applicable("the store's server times the leases"))
    }

    /// A TTL to wait for: a minute of virtual time, or the shortest that the harness thinks wise.
    pub fn short(&self) -> Duration {
        if self.capabilities.virtual_time { Self::SCENE } else { self.capabilities.real_ttl }
    }

    /// Lets `duration` pass: moves the clock, or waits where nobody can.
    pub fn pass(&self, duration: Duration) {
        self.time.pass(duration);
    }

    /// Sets this client's wall clock `micros` microseconds forward, or back.
    pub fn step_wall(&self, micros: i64) {
        self.time.step_wall(micros);
    }

    /// Lets a second pass where that costs nothing, so that a refresh shows to the nanosecond.
    pub fn nudge(&self) -> Duration {
        match self.time.manual() {
            Some(clock) => {
                clock.advance(Duration::from_secs(1));
                Duration::from_secs(1)
            }
            None => Duration::ZERO,
        }
    }

    /// Whether `left` is what it should be: exactly in virtual time; in real time never more, and less by no more than
    /// has really gone by since the case began, so that a slow machine makes a case weaker and never wrong.
    pub fn is_about(&self, left: Duration, expected: Duration) -> bool {
        match self.time.manual() {
            Some(_) => left == expected,
            None => left <= expected && left + self.time.elapsed() + Self::GRAIN >= expected,
        }
    }

    /// In words, how the machine was too slow for the leases of this case, if it was: more time went by unasked than
    /// the shortest of them lasts.
    pub(crate) fn late(&self) -> Option<String> {
        let shortest = Duration::from_millis(self.shortest.load(Ordering::SeqCst));
        let unasked = self.time.unasked();
        (unasked >= shortest)
            .then(|| format!("{unasked:.1?} went by unasked, where its shortest lease lasts {shortest:?}"))
    }

    /// A handle of `owner` with `ttl`.
    ///
    /// # Errors
    /// Whatever opening brings.
    pub fn open(&self, owner: &str, ttl: Duration) -> Result<Store, Stop> {
        self.open_in(&*self.namespace, owner, ttl)
    }

    /// A handle in another namespace.
    ///
    /// # Errors
    /// Whatever opening brings.
    pub fn open_in(&self, namespace: &dyn Namespace, owner: &str, ttl: Duration) -> Result<Store, Stop> {
        let owner = OwnerId::new(owner).map_err(|e| Stop::Harness(e.to_string()))?;
        let ttl = Ttl::new(ttl).map_err(|e| Stop::Harness(e.to_string()))?;
        self.shortest.fetch_min(ttl.as_millis(), Ordering::SeqCst);
        Ok(namespace.open(owner, ttl, self.clock())?)
    }

    /// What the store's own settings make of a TTL of `seconds`.
    ///
    /// # Errors
    /// [`Stop::Harness`] when the harness panics.
    pub fn ttl(&self, seconds: f64) -> Result<Result<Ttl, Box<dyn std::error::Error + Send + Sync>>, Stop> {
        guarded("ttl", || self.harness.ttl(seconds))
    }

    /// The faults that the harness offers.
    ///
    /// # Errors
    /// Not applicable where it offers none.
    pub fn faults(&self) -> Result<Guarded<'_>, Stop> {
        let faults = self.namespace.faults();
        faults.map(Guarded::new).ok_or_else(|| Stop::not_applicable("the harness can't break anything"))
    }
}

/// The id `text`.
pub(crate) fn id(text: &str) -> SandboxId {
    text.parse().expect("the kit's own ids are valid")
}

/// Takes, and says under which tenure.
pub(crate) fn take(store: &Store, id: &SandboxId) -> Result<Tenure, Stop> {
    match store.take(id)? {
        TakeOutcome::Taken { tenure, .. } => Ok(tenure),
        other => Err(Stop::failed(format!("Taken of {id}"), other)),
    }
}

/// Claims, and says under which tenure.
pub(crate) fn claim(store: &Store, id: &SandboxId, intent: Intent) -> Result<Tenure, Stop> {
    match store.claim(id, intent)? {
        ClaimOutcome::Claimed { tenure, .. } => Ok(tenure),
        other => Err(Stop::failed(format!("Claimed of {id} with {intent:?}"), other)),
    }
}

/// Looks, and insists that there is a lease.
pub(crate) fn lease(store: &Store, id: &SandboxId) -> Result<Lease, Stop> {
    store.inspect(id)?.ok_or_else(|| Stop::failed(format!("a lease on {id}"), "none"))
}

/// Looks, and insists that there is none.
pub(crate) fn absent(store: &Store, id: &SandboxId) -> Result<(), Stop> {
    match store.inspect(id)? {
        None => Ok(()),
        Some(lease) => Err(Stop::failed(format!("no lease on {id}"), lease)),
    }
}

/// The fence of a lease of ours.
pub(crate) fn fence(lease: &Lease) -> Result<Fence, Stop> {
    lease.fence.ok_or_else(|| Stop::failed("a fence", lease))
}

/// Asks, and insists that the answer comes by the store's deadline; `what` says what is asked. A stall of this machine is not
/// the store's: only an answer that is late three times in a row is.
pub(crate) fn in_time<T>(kit: &Kit<'_>, what: &str, ask: impl Fn() -> T) -> Result<T, Stop> {
    // For a machine that has other things to do.
    let grace = Duration::from_millis(500);
    let allowed = kit.capabilities().deadline + grace;
    let mut took = Duration::ZERO;
    for _ in 0..3 {
        let started = Deadline::after(allowed);
        let answer = ask();
        took = started.elapsed();
        if took <= allowed {
            return Ok(answer);
        }
    }
    Err(Stop::failed(format!("{what} ends within {allowed:?}"), took))
}
