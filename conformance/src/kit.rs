use std::sync::Arc;
use std::time::Duration;

use leasehold::{
    BootClock, ClaimOutcome, Clock, Fence, Intent, Lease, ManualClock, Moment, OwnerId, OwnershipStore,
    SandboxId, TakeOutcome, Tenure, Ttl,
};

use crate::case::Stop;
use crate::{Capabilities, Faults, Harness, Namespace};

/// What a case works with: a namespace of its own, the clock, and short words for what every case does.
pub struct Kit<'a> {
    harness: &'a dyn Harness,
    namespace: Box<dyn Namespace>,
    capabilities: Capabilities,
    time: Time,
    seed: u64,
}

/// Time as the kit moves it.
enum Time {
    Virtual(ManualClock),
    Real(BootClock),
}

/// A store under test, opened for one owner.
pub type Store = Arc<dyn OwnershipStore>;

impl<'a> Kit<'a> {
    /// The TTL of the handles that set a scene.
    pub const SCENE: Duration = Duration::from_secs(60);
    /// The TTL of the handle under test: longer, so that a refresh shows at once and without waiting.
    pub const TESTED: Duration = Duration::from_secs(120);
    /// How far the time left may be from what it should be where time really passes.
    const SLACK: Duration = Duration::from_secs(15);

    /// A kit on a fresh namespace of `harness`.
    ///
    /// # Errors
    /// What the harness says, and where this host has no boot clock.
    pub fn new(harness: &'a dyn Harness, seed: u64) -> Result<Self, Stop> {
        let capabilities = harness.capabilities();
        let time = if capabilities.virtual_time {
            Time::Virtual(ManualClock::new())
        } else {
            Time::Real(BootClock::new().map_err(|e| Stop::Harness(e.to_string()))?)
        };
        Ok(Self { harness, namespace: harness.fresh()?, capabilities, time, seed })
    }

    /// The harness, for cases that need more than one namespace.
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

    /// The clock that handles are opened with.
    pub fn clock(&self) -> Arc<dyn Clock> {
        match &self.time {
            Time::Virtual(clock) => Arc::new(clock.clone()),
            Time::Real(clock) => Arc::new(*clock),
        }
    }

    /// Now.
    pub fn now(&self) -> Moment {
        self.clock().now()
    }

    /// The clock that moves on command.
    ///
    /// # Errors
    /// Not applicable to stores whose server times the leases.
    pub fn virtual_clock(&self) -> Result<&ManualClock, Stop> {
        match &self.time {
            Time::Virtual(clock) => Ok(clock),
            Time::Real(_) => Err(Stop::not_applicable("the store's server times the leases")),
        }
    }

    /// A TTL to wait for: a minute of virtual time, or the shortest that the harness thinks wise.
    pub fn short(&self) -> Duration {
        if self.capabilities.virtual_time { Self::SCENE } else { self.capabilities.real_ttl }
    }

    /// Lets `duration` pass.
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place where the kit waits for time that nobody can move"
    )]
    pub fn pass(&self, duration: Duration) {
        match &self.time {
            Time::Virtual(clock) => clock.advance(duration),
            Time::Real(_) => std::thread::sleep(duration),
        }
    }

    /// Lets a second pass where that costs nothing, so that a refresh shows to the nanosecond.
    pub fn nudge(&self) -> Duration {
        match &self.time {
            Time::Virtual(clock) => {
                clock.advance(Duration::from_secs(1));
                Duration::from_secs(1)
            }
            Time::Real(_) => Duration::ZERO,
        }
    }

    /// Whether `left` is what it should be: exactly in virtual time, with some slack below in real time.
    pub fn is_about(&self, left: Duration, expected: Duration) -> bool {
        match &self.time {
            Time::Virtual(_) => left == expected,
            Time::Real(_) => left <= expected && left + Self::SLACK >= expected,
        }
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
        Ok(namespace.open(owner, ttl, self.clock())?)
    }

    /// The faults that the harness offers.
    ///
    /// # Errors
    /// Not applicable where it offers none.
    pub fn faults(&self) -> Result<&dyn Faults, Stop> {
        self.namespace.faults().ok_or_else(|| Stop::not_applicable("the harness can't break anything"))
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
