//! Guards that can be left out, one at a time, so that the simulation shows that it would notice.
//!
//! Without the feature `planted` nothing can be left out, and the compiler removes every question.

macro_rules! guards {
    ($($(#[doc = $doc:literal])+ $name:ident: $clause:literal,)+) => {
        /// A guard of the provider that the simulation can leave out, to show that it would notice. The clause is the one
        /// that the guard keeps.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        #[cfg_attr(not(feature = "planted"), expect(unreachable_pub, reason = "public with the feature alone"))]
        pub enum Planted {
            $($(#[doc = $doc])+ $name,)+
        }

        #[cfg(feature = "planted")]
        impl Planted {
            /// Every guard that can be left out.
            pub const ALL: &[Self] = &[$(Self::$name),+];

            /// The clause that the guard keeps.
            #[must_use]
            pub fn clause(self) -> &'static str {
                match self {
                    $(Self::$name => $clause,)+
                }
            }

            /// What happens without it, in words.
            #[must_use]
            pub fn what(self) -> &'static str {
                match self {
                    $(Self::$name => concat!($($doc),+),)+
                }
            }
        }
    };
}

guards! {
    /// An acquire does not look whether the sandbox is reserved for a stop before it takes.
    ReservationBeforeTake: "K2",
    /// A sandbox is reserved for a stop while an acquire of it is under way.
    InFlightMark: "K2",
    /// A sandbox is handed out although its lease was lost or ran out since the look.
    Epoch: "H2",
    /// A sandbox is handed out although no time is left of its lease.
    TimeLeft: "H2",
    /// An instance that is seen to be condemned is handed out.
    CondemnedSeen: "K8",
    /// An instance that is tracked is handed out without a look at it.
    LookAfterTake: "H2",
    /// An instance that is definitely gone is handed out.
    GoneSeen: "H11",
    /// What was created or found is handed out without a second look.
    SecondLook: "H8",
    /// A create whose reply was lost is taken for one that did not happen.
    CreateUnknown: "K7",
    /// An acquire that failed keeps the lease that it took.
    FailedAcquireReleases: "Z1",
    /// Something may be reaped at once after it was taken from a live peer.
    HorizonOfTake: "K9",
    /// Something may be reaped at once under a take whose reply was lost.
    HorizonOfLostReply: "N7",
    /// A larger fence that a renewal brings is ignored.
    FenceOfRenewal: "N7",
    /// What somebody here holds and uses is reaped like what is warm.
    UseSeen: "K2",
    /// Running commands don't keep a sandbox from being reaped as idle.
    WorkPins: "K6",
    /// The idle clock does not start when work ends.
    IdleFromEnd: "K6",
    /// The first of two holders who lets go parks the sandbox.
    LastHolderParks: "H7",
    /// A slot is freed twice.
    SlotFreedOnce: "G1",
    /// A slot is never freed.
    SlotFreed: "G1",
    /// Sandboxes are made whether or not a slot is free.
    SlotReserved: "G1",
    /// Holders of what is stopped as idle are not told.
    StopTold: "K6",
    /// A sandbox is untracked before its stop.
    TrackedWhileStopping: "K5",
    /// A stop that was refused untracks the sandbox.
    RefusedStopTracked: "K4",
    /// A stop that failed untracks the sandbox.
    FailedStopTracked: "K4",
    /// What is stopped is whatever has the name by then.
    StopByInstance: "K5",
    /// A stop begins without condemning the instance.
    Condemning: "K8",
    /// The store is not asked once more after condemning.
    ClaimAfterCondemning: "K8",
    /// A stop begins without asking the store.
    ClaimBeforeStop: "K1",
    /// A stop that was decided under an old tenure is begun under any.
    TenureOfStop: "K1",
    /// A late heartbeat plants the Teardown anew.
    HeartbeatByTenure: "K3",
    /// The Teardown is not refreshed while the stop runs.
    Heartbeat: "K3",
    /// The Teardown is released while a refresh of it is under way.
    ReleaseAfterRefresh: "K3",
    /// A renewal that is answered Lost, since the sandbox is being stopped here, forgets it.
    OwnTeardown: "N2",
    /// Holders of what a peer took are not told.
    LossTold: "N2",
    /// A Lost whose renewal overlapped a take counts.
    LostBesideTake: "N4",
    /// A warm lease that ran out is claimed again at once.
    WarmUnowned: "N2",
    /// A lease that ran out in use is not claimed again.
    UseReclaimed: "N2",
    /// A re-claim that lands after what it was for has gone is kept.
    ReclaimUndone: "N5",
    /// What nobody owns is adopted at once.
    Grace: "D2",
    /// An owner who reappears does not restart the grace.
    GraceRestarts: "D2",
    /// The grace goes on while the host is suspended.
    GraceAwake: "D2",
    /// A list of leases that fails is an empty list.
    ListUnknown: "D3",
    /// What is adopted is not looked at under the lease.
    AdoptedSeen: "D1",
    /// An instance whose health is not known is taken for gone.
    HealthUnknown: "K7",
    /// What is condemned is finished before the horizon has passed.
    HorizonOfFinish: "K9",
    /// A shutdown keeps its leases.
    LeasesGo: "Z2",
    /// A lease is released whatever its tenure.
    ReleaseByTenure: "L4",
    /// A stop begins although too little is left of its lease.
    TimeForStop: "K8",
}

/// Which guard is left out of a provider, if one is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Guards {
    #[cfg(feature = "planted")]
    without: Option<Planted>,
}

impl Guards {
    /// All but one.
    #[cfg(feature = "planted")]
    pub(super) fn without(guard: Planted) -> Self {
        Self { without: Some(guard) }
    }

    /// Whether this guard is left out: never, but in a simulation that asked for it.
    #[cfg(feature = "planted")]
    pub(super) fn lack(self, guard: Planted) -> bool {
        self.without == Some(guard)
    }

    /// Whether this guard is left out: never.
    #[cfg(not(feature = "planted"))]
    #[inline(always)]
    pub(super) const fn lack(self, _guard: Planted) -> bool {
        false
    }
}
