use std::fmt;

/// Declares the faults: each with the clause it breaks and what it does.
macro_rules! faults {
    ($($name:ident $clause:literal $what:literal,)*) => {
        /// One thing that a store does wrong.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        #[expect(missing_docs, reason = "`what` says it in words")]
        pub enum Fault {
            $($name,)*
        }

        impl Fault {
            /// Every fault.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The clause it breaks.
            #[must_use]
            pub const fn clause(self) -> &'static str {
                match self {
                    $(Self::$name => $clause,)*
                }
            }

            /// What the store does, in words.
            #[must_use]
            pub const fn what(self) -> &'static str {
                match self {
                    $(Self::$name => $what,)*
                }
            }

            /// Its name, as the matrix prints it.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($name),)*
                }
            }
        }
    };
}

faults! {
    TakeTurnsAbsentAway "T1" "take of an absent id answers BeingDestroyed",
    TakeOfMineKeepsTheFence "T2" "take of one's own Held lease begins no new tenure",
    TakeOfMineKeepsTheExpiry "T2" "take of one's own Held lease gives no full TTL",
    TakeIsTurnedAwayByAPeer "T3" "take does not move a sandbox from a live peer",
    TakeLeavesThePeerRenewing "T3" "a peer whose lease was taken may renew it and has it back",
    TakeOverwritesAPeersTeardown "T4" "take goes through while a peer is stopping the sandbox",
    TakeOverwritesMyTeardown "T4" "take goes through while this owner is stopping the sandbox",
    TakeTurnedAwayExtends "T4" "a take that is turned away refreshes the Teardown all the same",
    TakeNeverSaysWhatItReplaced "T5" "take says that it replaced nothing, whatever was there",
    TakeNamesADeadPeer "T5" "take names a peer whose lease had run out",
    KeepTurnsAbsentAway "C1" "claim(Keep) of an absent id is refused",
    KeepOfMineBeginsATenure "C2" "claim(Keep) of one's own lease changes the fence",
    KeepOfMineIsNoRefresh "C2" "claim(Keep) of one's own lease leaves the time as it was",
    ClaimStealsHeld "C3" "claim takes a live peer's Held lease",
    ClaimStealsTeardown "C3" "claim takes a live peer's Teardown",
    RefusalRefreshes "C3" "a refused claim extends the peer's lease",
    RefusalErases "C3" "a refused claim removes the peer's lease",
    DestroyTurnsAbsentAway "C4" "claim(Destroy) of an absent id is refused",
    DestroyLeavesItHeld "C4" "claim(Destroy) says Claimed and leaves the phase Held",
    DestroyAgainIsNoRefresh "C5" "claim(Destroy) on one's own Teardown leaves the time as it was",
    DestroyAgainBeginsATenure "C5" "claim(Destroy) on one's own Teardown changes the fence",
    KeepUnwindsTeardown "C6" "claim(Keep) turns one's own Teardown back into Held",
    DestroyTenurePlants "C7" "claim(DestroyTenure) plants a Teardown on an absent id",
    LapsedLeavesATrace "C7" "claim(DestroyTenure) of an absent id says Lapsed and leaves an empty record behind",
    DestroyTenureIgnoresTheFence "C8" "claim(DestroyTenure) with another fence goes through on a Held lease",
    DestroyTenureOfAnyTeardown "C8" "claim(DestroyTenure) with another fence refreshes a Teardown",
    DestroyTenureLoosely "C8" "claim(DestroyTenure) takes any fence that is not newer than the lease's",
    DestroyTenureOfTheNext "C8" "claim(DestroyTenure) takes any fence that is not older than the lease's",
    RenewIsNoRefresh "R1" "renew says Renewed and leaves the time as it was",
    RenewIsLost "R1" "renew of one's own lease says Lost",
    RenewRecreates "R2" "renew of an absent id begins a lease",
    LapsedSaidAsLost "R2" "renew of an absent id says Lost",
    LostSaidAsLapsed "R3" "renew of a peer's lease says Lapsed",
    RenewSteals "R3" "renew takes a peer's Held lease",
    RenewExtendsTeardown "R4" "renew on one's own Teardown says Lost and extends it",
    TeardownRenewed "R4" "renew on one's own Teardown says Renewed",
    RenewShortens "R5" "renew with a shorter TTL shortens the lease",
    KeepShortens "R5" "claim(Keep) with a shorter TTL shortens the lease",
    RenewedWithAnotherFence "R6" "Renewed carries another fence than the lease has",
    RenewedValidTooLong "R6" "Renewed carries a valid_until beyond the lease's expiry",
    ReleaseKeepsTheLease "L1" "release says Released and leaves the lease",
    ReleaseLeavesATeardown "L1" "release of one's own Teardown says NotHeld",
    ReleaseFreesAPeers "L2" "release removes a peer's lease",
    ReleaseTenureFreesAPeers "L2" "release_tenure removes a peer's lease of that fence",
    ReleaseOfAbsentIsReleased "L3" "release of an absent id says Released",
    ReleaseTenureIgnoresTheFence "L4" "release_tenure with an older fence frees the newer tenure",
    ReleaseTenureOfTheNext "L4" "release_tenure frees by any fence that is not older than the lease's",
    InspectRefreshes "I1" "inspect extends the lease it looks at",
    InspectCreates "I1" "inspect of an absent id leaves a record behind",
    InspectOverstatesTheTime "I2" "inspect says a second more than is left",
    InspectSaysHeld "I2" "inspect says Held of a Teardown",
    InspectHidesTheFence "I2" "inspect says no fence of a lease that has one",
    InspectShowsTheDead "I3" "inspect shows a lease whose time ran out",
    ListShowsTheDead "I4" "list shows leases whose time ran out",
    ListMissesOne "I4" "list leaves out its last lease",
    ListRepeatsOne "I4" "list shows its first lease twice",
    ListOnlyMine "I4" "list shows one's own leases alone",
    ExpiresEarly "E1" "a lease is gone after half its TTL",
    ExpiresANanosecondEarly "E1" "a lease is gone a nanosecond before its expiry",
    ExpiresLate "E1" "a lease lives for twice its TTL",
    LiveAtItsExpiry "E1" "a lease is live at the very moment of its expiry",
    TeardownForEver "E2" "a Teardown never runs out",
    TimedByTheWall "E3" "leases are timed by the wall clock",
    RebootVoidsNothing "E3" "a lease of the last boot counts in this one",
    RebootVoidsEverything "E3" "a record of another live kernel is void",
    UnsafeIsNotListed "E3" "list leaves out what another live kernel wrote",
    WholeSeconds "E4" "a TTL below a second is cut to none",
    HourAtMost "E4" "a TTL above an hour is cut to an hour",
    FenceOfAnothersTenure "F1" "a peer's take keeps the fence of the tenure before",
    TeardownKeepsTheFence "F1" "a Held lease turned into a Teardown keeps its fence",
    FenceForgottenOnRelease "F2" "fences begin anew after a release",
    FenceForgottenOnExpiry "F2" "fences begin anew after an expiry",
    FenceForgottenOnDiscard "F2" "fences begin anew after a discard",
    FenceFollowsTheWall "F2" "the fence is the wall clock's time and nothing else",
    RenewBeginsATenure "F3" "renew changes the fence",
    FenceStartsAtOne "F4" "after the server lost everything fences begin at one",
    OutageIsAbsence "X1" "a server that can't answer reads as nothing there",
    OutageIsRefusal "X1" "a server that can't answer is taken for somebody else's lease",
    TimeoutSaysNotWhere "X1" "an error of waiting does not say where the time went",
    DamageIsAbsence "X2" "a damaged record reads as absent",
    DamageIsOverwritten "X2" "take writes over a damaged record",
    DamageIsAnsweredFromACopy "X2" "a damaged record is answered from an older copy",
    DamageHidesTheRest "X2" "a damaged record makes the whole list fail",
    DamageIsNotListed "X2" "list leaves damaged records out",
    DiscardWithoutForce "X2" "discard removes a readable lease without being forced",
    DiscardOfDamageFails "X2" "discard can't remove a damaged record",
    NeverRecovers "X3" "after an outage the handle stays broken",
    EffectAfterTheOutage "X4" "a take that failed happens again and again, on every later call",
    CloseTwiceFails "X5" "closing twice is an error",
    WorksAfterClose "X5" "a closed handle goes on answering",
    CloseReleases "X5" "closing releases the leases",
    IdsShareAPrefix "S1" "ids with the same first eight letters are one",
    NamespacesLeak "S2" "namespaces share their leases",
    CaseFolds "S3" "ids that differ in a letter's case are one",
    LongIdsAreCut "S4" "ids are cut to 64 letters",
    LongIdsAreRefused "S4" "ids above 100 letters are refused",
    StorageGrows "S5" "a released lease leaves its record behind",
    ExpiredPileUp "S5" "leases that ran out are never swept up",
    ClaimRaces "A1" "claim reads, waits, and writes without looking again",
    ReleaseRaces "A2" "release reads, waits, and removes whatever is there then",
    ReachIsExaggerated "P1" "it says Host and is seen by this process alone",
    BatchOutOfOrder "B1" "renew_many answers in the order of the ids' names",
    BatchAnswersOnlyOnce "B1" "renew_many gives every id the first one's outcome",
    BatchSkipsRefresh "B1" "renew_many says Renewed and refreshes only the first",
    BatchStopsAtLost "B2" "one Lost id makes the rest of the batch fail",
    BatchFailsWithOne "B2" "one damaged id makes the whole batch fail",
    BatchFallsShort "B2" "renew_many has no outcomes for the ids after the server failed",
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}: {})", self.name(), self.clause(), self.what())
    }
}
