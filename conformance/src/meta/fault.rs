use std::fmt;

/// Declares the faults: each with what it does and the case that must catch it.
macro_rules! faults {
    ($($name:ident $what:literal => $case:literal,)*) => {
        /// One thing that a store does wrong.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        #[expect(missing_docs, reason = "`what` says it in words")]
        pub enum Fault {
            $($name,)*
        }

        impl Fault {
            /// Every fault, in the order of the contract.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The case that must catch it, whatever else does.
            #[must_use]
            pub const fn case(self) -> &'static str {
                match self {
                    $(Self::$name => $case,)*
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

impl Fault {
    /// The clause it breaks: that of the case that must catch it.
    #[must_use]
    pub fn clause(self) -> &'static str {
        self.case().split('.').next().unwrap_or_default()
    }

    /// The fault of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|fault| fault.name() == name)
    }
}

faults! {
    TakeTurnsAbsentAway "take of an absent id answers BeingDestroyed"
        => "T1.absent_is_taken",
    TakeOfMineKeepsTheFence "take of one's own Held lease begins no new tenure"
        => "T2.mine_is_taken_anew",
    TakeOfMineKeepsTheExpiry "take of one's own Held lease gives no full TTL"
        => "T2.mine_is_taken_anew",
    TakeIsTurnedAwayByAPeer "take does not move a sandbox from a live peer"
        => "T3.a_live_peers_is_taken",
    TakeLeavesThePeerRenewing "a peer whose lease was taken may renew it and has it back"
        => "T3.the_peer_has_lost_it",
    TakeOverwritesAPeersTeardown "take goes through while a peer is stopping the sandbox"
        => "T4.a_peers_teardown_keeps_a_take_out",
    TakeOverwritesMyTeardown "take goes through while this owner is stopping the sandbox"
        => "T4.my_teardown_keeps_a_take_out",
    TakeTurnedAwayExtends "a take that is turned away refreshes the Teardown all the same"
        => "T4.my_teardown_keeps_a_take_out",
    TakeNeverSaysWhatItReplaced "take says that it replaced nothing, whatever was there"
        => "T5.what_it_replaced_is_said",
    TakeNamesADeadPeer "take names a peer whose lease had run out"
        => "T5.what_it_replaced_is_said",
    KeepTurnsAbsentAway "claim(Keep) of an absent id is refused"
        => "C1.absent_is_claimed",
    KeepOfMineBeginsATenure "claim(Keep) of one's own lease changes the fence"
        => "C2.mine_is_refreshed",
    KeepOfMineIsNoRefresh "claim(Keep) of one's own lease leaves the time as it was"
        => "C2.mine_is_refreshed",
    ClaimStealsHeld "claim takes a live peer's Held lease"
        => "C3.keep_of_a_peers_held_is_refused",
    ClaimStealsTeardown "claim takes a live peer's Teardown"
        => "C3.destroy_of_a_peers_teardown_is_refused",
    DestroyTenureStealsHeld "claim(DestroyTenure) takes a live peer's Held lease"
        => "C3.destroy_tenure_of_a_peers_held_is_refused",
    DestroyTenureStealsTeardown "claim(DestroyTenure) takes a live peer's Teardown"
        => "C3.destroy_tenure_of_a_peers_teardown_is_refused",
    RefusalRefreshes "a refused claim extends the peer's lease"
        => "C3.keep_of_a_peers_teardown_is_refused",
    RefusalErases "a refused claim removes the peer's lease"
        => "C3.destroy_of_a_peers_held_is_refused",
    DestroyTurnsAbsentAway "claim(Destroy) of an absent id is refused"
        => "C4.absent_is_claimed_for_a_stop",
    DestroyLeavesItHeld "claim(Destroy) says Claimed and leaves the phase Held"
        => "C4.mine_is_claimed_for_a_stop",
    TheDecidedTenureIsRefused "claim(DestroyTenure) with the very fence of a Held lease is refused"
        => "C4.the_decided_tenure_is_claimed_for_a_stop",
    DestroyAgainIsNoRefresh "claim(Destroy) on one's own Teardown leaves the time as it was"
        => "C5.my_teardown_is_refreshed",
    DestroyAgainBeginsATenure "claim(Destroy) on one's own Teardown changes the fence"
        => "C5.my_teardown_is_refreshed",
    HeartbeatIsNoRefresh "claim(DestroyTenure) on one's own Teardown leaves the time as it was"
        => "C5.the_stops_heartbeat_refreshes",
    KeepUnwindsTeardown "claim(Keep) turns one's own Teardown back into Held"
        => "C6.a_stop_can_not_be_unwound",
    DestroyTenurePlants "claim(DestroyTenure) plants a Teardown on an absent id"
        => "C7.nothing_is_planted_on_absent",
    LapsedLeavesATrace "claim(DestroyTenure) of an absent id says Lapsed and leaves an empty record behind"
        => "C7.nothing_is_planted_on_absent",
    DestroyTenureIgnoresTheFence "claim(DestroyTenure) with another fence goes through on a Held lease"
        => "C8.another_held_tenure_is_refused",
    DestroyTenureOfAnyTeardown "claim(DestroyTenure) with another fence refreshes a Teardown"
        => "C8.another_teardown_is_refused",
    DestroyTenureLoosely "claim(DestroyTenure) takes any fence that is not newer than the lease's"
        => "C8.another_held_tenure_is_refused",
    DestroyTenureOfTheNext "claim(DestroyTenure) takes any fence that is not older than the lease's"
        => "C8.another_held_tenure_is_refused",
    RenewIsNoRefresh "renew says Renewed and leaves the time as it was"
        => "R1.mine_is_renewed",
    RenewIsLost "renew of one's own lease says Lost"
        => "R1.mine_is_renewed",
    RenewRecreates "renew of an absent id begins a lease"
        => "R2.absent_has_lapsed",
    LapsedSaidAsLost "renew of an absent id says Lost"
        => "R2.absent_has_lapsed",
    LostSaidAsLapsed "renew of a peer's lease says Lapsed"
        => "R3.a_peers_teardown_is_lost",
    RenewSteals "renew takes a peer's Held lease"
        => "R3.a_peers_is_lost",
    RenewExtendsTeardown "renew on one's own Teardown says Lost and extends it"
        => "R4.my_teardown_is_lost_and_not_extended",
    TeardownRenewed "renew on one's own Teardown says Renewed"
        => "R4.my_teardown_is_lost_and_not_extended",
    RenewShortens "renew with a shorter TTL shortens the lease"
        => "R5.a_shorter_ttl_never_shortens",
    KeepShortens "claim(Keep) with a shorter TTL shortens the lease"
        => "R5.a_shorter_ttl_never_shortens",
    TeardownShortens "claim(Destroy) with a shorter TTL shortens one's own Teardown"
        => "R5.nor_does_a_teardowns_refresh",
    RenewedWithAnotherFence "Renewed carries another fence than the lease has"
        => "R6.renewed_returns_the_tenure",
    RenewedValidTooLong "Renewed carries a valid_until beyond the lease's expiry"
        => "R6.renewed_returns_the_tenure",
    ReleaseKeepsTheLease "release says Released and leaves the lease"
        => "L1.for_everyone_at_once",
    ReleaseOfHeldIsNotHeld "release of one's own Held lease says NotHeld"
        => "L1.mine_is_released",
    ReleaseLeavesATeardown "release of one's own Teardown says NotHeld"
        => "L1.my_teardown_is_released",
    ReleaseFreesAPeers "release removes a peer's lease"
        => "L2.a_peers_is_left",
    ReleaseFreesAPeersTeardown "release removes a peer's Teardown"
        => "L2.a_peers_teardown_is_left",
    ReleaseTenureFreesAPeers "release_tenure removes a peer's lease of that fence"
        => "L2.release_tenure_leaves_a_peers",
    ReleaseTenureFreesATeardown "release_tenure removes a peer's Teardown of that fence"
        => "L2.release_tenure_leaves_a_peers_teardown",
    ReleaseOfAbsentIsReleased "release of an absent id says Released"
        => "L3.absent_is_not_held",
    ReleaseTenureOfAbsentIsReleased "release_tenure of an absent id says Released"
        => "L3.release_tenure_of_absent_is_not_held",
    ReleaseTenureIgnoresTheFence "release_tenure with an older fence frees the newer tenure"
        => "L4.a_newer_teardown_is_left",
    ReleaseTenureOfTheNext "release_tenure frees by any fence that is not older than the lease's"
        => "L4.a_newer_tenure_is_left",
    ReleaseTenureKeepsHeld "release_tenure with the very fence of a Held lease says NotHeld"
        => "L4.the_tenure_itself_is_released",
    ReleaseTenureKeepsTeardown "release_tenure with the very fence of a Teardown says NotHeld"
        => "L4.the_teardown_itself_is_released",
    InspectRefreshes "inspect extends the lease it looks at"
        => "I1.looking_changes_nothing",
    InspectCreates "inspect of an absent id leaves a record behind"
        => "I1.looking_changes_nothing",
    InspectOverstatesTheTime "inspect says a second more than is left"
        => "I2.a_held_lease_is_shown",
    InspectSaysHeld "inspect says Held of a Teardown"
        => "I2.a_teardown_is_shown",
    InspectHidesTheFence "inspect says no fence of a lease that has one"
        => "I2.a_held_lease_is_shown",
    ForeignIsDamage "a lease that was written without a fence is said to be damaged"
        => "I2.a_foreign_lease_is_a_peers",
    InspectShowsTheDead "inspect shows a lease whose time ran out"
        => "I3.absent_is_none",
    ListShowsTheDead "list shows leases whose time ran out"
        => "I4.every_live_lease_once",
    ListMissesOne "list leaves out its last lease"
        => "I4.every_live_lease_once",
    ListRepeatsOne "list shows its first lease twice"
        => "I4.every_live_lease_once",
    ListOnlyMine "list shows one's own leases alone"
        => "I4.every_live_lease_once",
    ExpiresEarly "a lease is gone after half its TTL"
        => "E1.renewals_carry_it_on",
    ExpiresANanosecondEarly "a lease is gone a nanosecond before its expiry"
        => "E1.live_before_its_ttl_and_absent_after",
    ExpiresLate "a lease lives for twice its TTL"
        => "E1.what_ran_out_is_absent_to_every_operation",
    LiveAtItsExpiry "a lease is live at the very moment of its expiry"
        => "E1.live_before_its_ttl_and_absent_after",
    TeardownForEver "a Teardown never runs out"
        => "E2.a_teardown_runs_out_too",
    DeadTeardownKeepsTakesOut "a Teardown that ran out keeps takes out all the same"
        => "E2.a_dead_destroyer_bricks_nothing",
    TimedByTheWall "leases are timed by the wall clock"
        => "E3.the_wall_clock_set_forward_changes_nothing",
    WrittenLaterIsVoid "a record from later than the wall clock says is void"
        => "E3.the_wall_clock_set_back_changes_nothing",
    RebootVoidsNothing "a lease of the last boot counts in this one"
        => "E3.a_reboot_voids_what_was_written_before",
    RebootVoidsEverything "a record of another live kernel is void"
        => "E3.another_live_kernels_record_is_unsafe",
    UnsafeIsNotListed "list leaves out what another live kernel wrote"
        => "E3.another_live_kernels_record_is_unsafe",
    WholeSeconds "a TTL below a second is cut to none"
        => "E4.ttls_round_trip",
    HourAtMost "a TTL above an hour is cut to an hour"
        => "E4.ttls_round_trip",
    AnyTtlWillDo "what is no TTL opens the store with the nearest one"
        => "E4.what_is_no_ttl_is_refused",
    FenceOfAnothersTenure "a peer's take keeps the fence of the tenure before"
        => "F1.every_tenure_has_a_larger_one",
    TeardownKeepsTheFence "a Held lease turned into a Teardown keeps its fence"
        => "F1.every_tenure_has_a_larger_one",
    FenceForgottenOnRelease "fences begin anew after a release"
        => "F2.it_holds_across_a_release",
    FenceForgottenOnExpiry "fences begin anew after an expiry"
        => "F2.it_holds_across_an_expiry",
    FenceForgottenOnDiscard "fences begin anew after a discard"
        => "F2.it_holds_across_a_discard",
    FenceFollowsTheWall "the fence is the wall clock's time and nothing else"
        => "F2.it_holds_across_a_release",
    RenewBeginsATenure "renew changes the fence"
        => "F3.refreshes_keep_it",
    FenceStartsAtOne "after the server lost everything fences begin at one"
        => "F4.it_grows_after_a_loss_of_everything",
    OutageIsAbsence "a server that can't answer reads as nothing there"
        => "X1.refusing_is_an_error",
    OutageIsRefusal "a server that can't answer is taken for somebody else's lease"
        => "X1.down_is_an_error",
    TimeoutSaysNotWhere "an error of waiting does not say where the time went"
        => "X1.hung_is_an_error",
    DamageIsAbsence "a damaged record reads as absent"
        => "X2.discard_is_the_way_out",
    DamageIsOverwritten "take writes over a damaged record"
        => "X2.damage_is_never_absence",
    DamageIsAnsweredFromACopy "a damaged record is answered from an older copy"
        => "X2.damage_is_listed_and_hides_nothing",
    DamageHidesTheRest "a damaged record makes the whole list fail"
        => "X2.damage_is_listed_and_hides_nothing",
    DamageIsNotListed "list leaves damaged records out"
        => "X2.damage_is_listed_and_hides_nothing",
    DiscardWithoutForce "discard removes a readable lease without being forced"
        => "X2.discard_refuses_a_readable_lease",
    DiscardOfDamageFails "discard can't remove a damaged record"
        => "X2.discard_is_the_way_out",
    NeverRecovers "after an outage the handle stays broken"
        => "X3.the_same_handle_works_again",
    EffectAfterTheOutage "a take that failed happens again and again, on every later call"
        => "X4.trying_again_converges",
    CloseTwiceFails "closing twice is an error"
        => "X5.closed_is_closed",
    WorksAfterClose "a closed handle goes on answering"
        => "X5.closed_is_closed",
    CloseReleases "closing releases the leases"
        => "X5.closed_is_closed",
    IdsShareAPrefix "ids with the same first eight letters are one"
        => "S1.ids_are_apart",
    NamespacesLeak "namespaces share their leases"
        => "S2.namespaces_are_apart",
    CaseFolds "ids that differ in a letter's case are one"
        => "S3.letter_case_is_kept",
    LongIdsAreCut "ids are cut to 64 letters"
        => "S4.the_longest_ids_work",
    LongIdsAreRefused "ids above 100 letters are refused"
        => "S4.the_longest_ids_work",
    StorageGrows "a released lease leaves its record behind"
        => "S5.released_ids_take_no_room",
    ExpiredPileUp "leases that ran out are never swept up"
        => "S5.ids_that_ran_out_take_no_room",
    ClaimRaces "claim reads, waits, and writes without looking again"
        => "A1.one_claim_of_many_wins",
    TakeRaces "take reads, waits, and writes without looking again"
        => "A2.takes_follow_one_another",
    KeepMissesATake "claim(Keep) looks again for other claims, and overwrites a take"
        => "A2.a_take_against_keep",
    ReleaseRaces "release reads, waits, and removes whatever is there then"
        => "A2.a_take_against_release",
    ReleaseTenureRaces "release_tenure reads, waits, and removes whatever is there then"
        => "A2.a_take_against_release_tenure",
    RenewRaces "renew reads, waits, and writes back the record that it read"
        => "A2.a_take_against_renew",
    DestroyTenureRaces "claim(DestroyTenure) reads, waits, and writes without looking again"
        => "A2.a_take_against_destroy_tenure",
    DiscardRaces "a discard that meets a take removes the lease and says that there was none"
        => "A2.a_take_against_discard",
    BatchRaces "renew_many reads, waits, and writes back the records that it read"
        => "A2.batches_beside_takes",
    DestroyRaces "claim(Destroy) reads, waits, and writes without looking again"
        => "A2.mixed_histories_are_explained",
    OneInTwelveIsLost "every twelfth change is answered and never made"
        => "A2.histories_equal_the_rules",
    ReachIsExaggerated "it says Host and is seen by this process alone"
        => "P1.the_declared_reach_is_true",
    OtherProcessesSeeNothing "it says Host, and each process has leases of its own"
        => "P1.another_process_sees_it",
    DiesWithItsProcess "a lease is gone as soon as its process is"
        => "P2.a_killed_process_leaves_its_leases",
    OutlivesItsProcess "the lease of a process that is gone never ends"
        => "P2.a_killed_process_leaves_its_leases",
    BatchOutOfOrder "renew_many answers in the order of the ids' names"
        => "B1.the_same_id_twice",
    BatchAnswersOnlyOnce "renew_many gives every id the first one's outcome"
        => "B1.the_same_as_one_by_one",
    BatchSkipsRefresh "renew_many says Renewed and refreshes only the first"
        => "B1.the_same_as_one_by_one",
    BatchStopsAtLost "one Lost id makes the rest of the batch fail"
        => "B2.lost_and_lapsed_fail_no_other",
    BatchFailsWithOne "one damaged id makes the whole batch fail"
        => "B2.damage_fails_no_other",
    BatchFallsShort "renew_many has no outcomes for the ids after the server failed"
        => "B2.an_outage_is_an_error_of_each",
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}: {})", self.name(), self.clause(), self.what())
    }
}
