//! The one table of all cases: it makes the list, and one `#[test]` a case for whoever proves a store.
//!
//! A row is the test's name, the case's id (its clause, a dot, the same words), its tier, the rule in one sentence, in
//! brackets what the case can't do without, where it came later the version of the contract it came with
//! (`since "1.1"`), and the function that proves it. The files beside this one have those functions, by family.
//!
//! The rows after `[with the facade]` are all of the facade tier and there with that feature alone.

mod batch;
mod fencing;
mod isolation;
mod op;
mod race;
mod table;
mod timing;
mod unknown;
mod using;

use leasehold::Phase;

use crate::Outage;
use crate::case::{Case, Need, Tier};
use crate::children::{a_killed_process_leaves_its_leases, another_process_sees_it};
#[cfg(feature = "facade")]
use crate::facade;
use crate::model::histories_equal_the_rules;
use crate::race::mixed_histories_are_explained;
use fencing::Forgotten;
use race::Against;
use table::{Op, Row, Then};

macro_rules! cases {
    ($d:tt $(
        $name:ident $id:literal $tier:ident $rule:literal $([$($need:expr),*])? $(since $since:literal)? => $proof:expr;
    )*
    [with the facade] $(
        $facade_name:ident $facade_id:literal $facade_rule:literal => $facade_proof:expr;
    )*) => {
        /// Every case of the kit, in the order of the contract. Those of the facade tier are there with the feature `facade`.
        pub const CASES: &[Case] = &[
            $(Case {
                id: $id,
                test: stringify!($name),
                tier: Tier::$tier,
                rule: $rule,
                since: since!($($since)?),
                needs: &[$($($need),*)?],
                proof: $proof,
            },)*
            $(#[cfg(feature = "facade")]
            Case {
                id: $facade_id,
                test: stringify!($facade_name),
                tier: Tier::Facade,
                rule: $facade_rule,
                since: since!(),
                needs: &[],
                proof: $facade_proof,
            },)*
        ];

        /// One `#[test]` for each case of the kit, on a store of one's own.
        ///
        /// ```ignore
        /// leasehold_conformance::conformance_suite!(MyHarness);
        /// ```
        ///
        /// The harness has to be `Default`. Tests run side by side, each in a namespace of its own; `LEASEHOLD_SEED` sets
        /// the seed. What is not applicable or not run says so on standard error and passes, unless `LEASEHOLD_REQUIRE`
        /// names it.
        #[macro_export]
        macro_rules! conformance_suite {
            ($d harness:ty) => {
                $(
                    #[test]
                    fn $name() {
                        let harness = <$d harness as ::std::default::Default>::default();
                        $crate::prove_case(harness, $id, env!("CARGO_PKG_NAME"), module_path!());
                    }
                )*

                $crate::facade_suite!($d harness);

                /// Returns at once, unless the kit started this program as a child of itself.
                #[test]
                fn entry_of_child_processes() {
                    let harness = <$d harness as ::std::default::Default>::default();
                    let _ = $crate::children::serve_if_asked(&harness);
                }

                #[test]
                fn waivers_are_in_order() {
                    $crate::prove_waivers(<$d harness as ::std::default::Default>::default());
                }
            };
        }

        /// One `#[test]` for each case of the facade tier alone; [`conformance_suite!`](crate::conformance_suite) has them
        /// too. Nothing without the feature `facade` of the kit, which a macro can only ask about here: what stands in it
        /// is compiled in the caller's crate, with the caller's features.
        ///
        /// ```ignore
        /// leasehold_conformance::facade_suite!(MyHarness);
        /// ```
        #[cfg(feature = "facade")]
        #[macro_export]
        macro_rules! facade_suite {
            ($d harness:ty) => {
                $(
                    #[test]
                    fn $facade_name() {
                        let harness = <$d harness as ::std::default::Default>::default();
                        $crate::prove_case(harness, $facade_id, env!("CARGO_PKG_NAME"), module_path!());
                    }
                )*
            };
        }

        /// No test: the kit was built without its feature `facade`.
        #[cfg(not(feature = "facade"))]
        #[macro_export]
        macro_rules! facade_suite {
            ($d harness:ty) => {};
        }
    };
}

macro_rules! since {
    () => {
        "1.0"
    };
    ($since:literal) => {
        $since
    };
}

cases! { $
    t1_absent_is_taken "T1.absent_is_taken" Core "take of an absent id begins a tenure of mine, with a whole TTL"
        => |kit| table::cell(kit, Row::Absent, Op::Take, Then::Begun(Phase::Held));
    t2_mine_is_taken_anew "T2.mine_is_taken_anew" Core "take of my Held lease begins a new tenure with a larger fence and a whole TTL"
        => |kit| table::cell(kit, Row::Mine(Phase::Held), Op::Take, Then::Begun(Phase::Held));
    t3_a_live_peers_is_taken "T3.a_live_peers_is_taken" Core "take moves a Held lease from a live peer"
        => |kit| table::cell(kit, Row::Peers(Phase::Held), Op::Take, Then::Begun(Phase::Held));
    t3_the_peer_has_lost_it "T3.the_peer_has_lost_it" Core "the peer whose lease was taken is Lost at its next renewal and its late release changes nothing"
        => using::the_peer_it_was_taken_from_has_lost_it;
    t4_my_teardown_keeps_a_take_out "T4.my_teardown_keeps_a_take_out" Core "take in my own Teardown is BeingDestroyed and changes nothing"
        => |kit| table::cell(kit, Row::Mine(Phase::Teardown), Op::Take, Then::Same("BeingDestroyed"));
    t4_a_peers_teardown_keeps_a_take_out "T4.a_peers_teardown_keeps_a_take_out" Core "take in a peer's Teardown is BeingDestroyed and changes nothing"
        => |kit| table::cell(kit, Row::Peers(Phase::Teardown), Op::Take, Then::Same("BeingDestroyed"));
    t5_what_it_replaced_is_said "T5.what_it_replaced_is_said" Core "Taken says whether it replaced nothing, mine by its fence, or a live peer's by its owner"
        => using::what_it_replaced_is_said;
    c1_absent_is_claimed "C1.absent_is_claimed" Core "claim(Keep) of an absent id begins a Held tenure"
        => |kit| table::cell(kit, Row::Absent, Op::Keep, Then::Begun(Phase::Held));
    c2_mine_is_refreshed "C2.mine_is_refreshed" Core "claim(Keep) of my Held lease refreshes it under its fence"
        => |kit| table::cell(kit, Row::Mine(Phase::Held), Op::Keep, Then::Refreshed);
    c3_keep_of_a_peers_held_is_refused "C3.keep_of_a_peers_held_is_refused" Core "claim(Keep) of a peer's Held lease is Refused and changes nothing"
        => |kit| table::cell(kit, Row::Peers(Phase::Held), Op::Keep, Then::Same("Refused"));
    c3_keep_of_a_peers_teardown_is_refused "C3.keep_of_a_peers_teardown_is_refused" Core "claim(Keep) of a peer's Teardown lease is Refused and changes nothing"
        => |kit| table::cell(kit, Row::Peers(Phase::Teardown), Op::Keep, Then::Same("Refused"));
    c3_destroy_of_a_peers_held_is_refused "C3.destroy_of_a_peers_held_is_refused" Core "claim(Destroy) of a peer's Held lease is Refused and changes nothing"
        => |kit| table::cell(kit, Row::Peers(Phase::Held), Op::Destroy, Then::Same("Refused"));
    c3_destroy_of_a_peers_teardown_is_refused "C3.destroy_of_a_peers_teardown_is_refused" Core "claim(Destroy) of a peer's Teardown lease is Refused and changes nothing"
        => |kit| table::cell(kit, Row::Peers(Phase::Teardown), Op::Destroy, Then::Same("Refused"));
    c3_destroy_tenure_of_a_peers_held_is_refused "C3.destroy_tenure_of_a_peers_held_is_refused" Core "claim(DestroyTenure) of a peer's Held lease is Refused and changes nothing"
        => |kit| table::cell(kit, Row::Peers(Phase::Held), Op::DestroyTenure, Then::Same("Refused"));
    c3_destroy_tenure_of_a_peers_teardown_is_refused "C3.destroy_tenure_of_a_peers_teardown_is_refused" Core "claim(DestroyTenure) of a peer's Teardown lease is Refused and changes nothing"
        => |kit| table::cell(kit, Row::Peers(Phase::Teardown), Op::DestroyTenure, Then::Same("Refused"));
    c4_absent_is_claimed_for_a_stop "C4.absent_is_claimed_for_a_stop" Core "claim(Destroy) of an absent id begins a Teardown"
        => |kit| table::cell(kit, Row::Absent, Op::Destroy, Then::Begun(Phase::Teardown));
    c4_mine_is_claimed_for_a_stop "C4.mine_is_claimed_for_a_stop" Core "claim(Destroy) of my Held lease begins a Teardown with a larger fence"
        => |kit| table::cell(kit, Row::Mine(Phase::Held), Op::Destroy, Then::Begun(Phase::Teardown));
    c4_the_decided_tenure_is_claimed_for_a_stop "C4.the_decided_tenure_is_claimed_for_a_stop" Core "claim(DestroyTenure) with the fence of my Held lease begins a Teardown"
        => |kit| table::cell(kit, Row::Mine(Phase::Held), Op::DestroyTenure, Then::Begun(Phase::Teardown));
    c5_my_teardown_is_refreshed "C5.my_teardown_is_refreshed" Core "claim(Destroy) of my Teardown refreshes it under its fence"
        => |kit| table::cell(kit, Row::Mine(Phase::Teardown), Op::Destroy, Then::Refreshed);
    c5_the_stops_heartbeat_refreshes "C5.the_stops_heartbeat_refreshes" Core "claim(DestroyTenure) with the fence of my Teardown refreshes it"
        => |kit| table::cell(kit, Row::Mine(Phase::Teardown), Op::DestroyTenure, Then::Refreshed);
    c6_a_stop_can_not_be_unwound "C6.a_stop_can_not_be_unwound" Core "claim(Keep) of my Teardown is Refused and changes nothing"
        => |kit| table::cell(kit, Row::Mine(Phase::Teardown), Op::Keep, Then::Same("Refused"));
    c7_nothing_is_planted_on_absent "C7.nothing_is_planted_on_absent" Core "claim(DestroyTenure) of an absent id is Lapsed and it stays absent"
        => |kit| table::cell(kit, Row::Absent, Op::DestroyTenure, Then::Same("Lapsed"));
    c8_another_held_tenure_is_refused "C8.another_held_tenure_is_refused" Core "claim(DestroyTenure) with another fence than my Held lease's is Refused"
        => |kit| table::cell(kit, Row::MineSince(Phase::Held), Op::DestroyTenure, Then::Same("Refused"));
    c8_another_teardown_is_refused "C8.another_teardown_is_refused" Core "claim(DestroyTenure) with another fence than my Teardown's is Refused"
        => |kit| table::cell(kit, Row::MineSince(Phase::Teardown), Op::DestroyTenure, Then::Same("Refused"));
    r1_mine_is_renewed "R1.mine_is_renewed" Core "renew of my Held lease refreshes it under its fence"
        => |kit| table::cell(kit, Row::Mine(Phase::Held), Op::Renew, Then::Refreshed);
    r2_absent_has_lapsed "R2.absent_has_lapsed" Core "renew of an absent id is Lapsed and it stays absent"
        => |kit| table::cell(kit, Row::Absent, Op::Renew, Then::Same("Lapsed"));
    r3_a_peers_is_lost "R3.a_peers_is_lost" Core "renew of a peer's Held lease is Lost and changes nothing"
        => |kit| table::cell(kit, Row::Peers(Phase::Held), Op::Renew, Then::Same("Lost"));
    r3_a_peers_teardown_is_lost "R3.a_peers_teardown_is_lost" Core "renew of a peer's Teardown is Lost and changes nothing"
        => |kit| table::cell(kit, Row::Peers(Phase::Teardown), Op::Renew, Then::Same("Lost"));
    r4_my_teardown_is_lost_and_not_extended "R4.my_teardown_is_lost_and_not_extended" Core "renew of my Teardown is Lost and does not extend it"
        => |kit| table::cell(kit, Row::Mine(Phase::Teardown), Op::Renew, Then::Same("Lost"));
    r5_a_shorter_ttl_never_shortens "R5.a_shorter_ttl_never_shortens" Core "a handle with a shorter TTL never shortens a Held lease by renew or claim"
        => |kit| using::renewing_never_shortens(kit, leasehold::Intent::Keep);
    r5_nor_does_a_teardowns_refresh "R5.nor_does_a_teardowns_refresh" Core "a handle with a shorter TTL never shortens a Teardown"
        => |kit| using::renewing_never_shortens(kit, leasehold::Intent::Destroy);
    r6_renewed_returns_the_tenure "R6.renewed_returns_the_tenure" Core "Renewed returns the lease's fence and the end of one TTL from now"
        => using::renewed_returns_the_tenure;
    l1_mine_is_released "L1.mine_is_released" Core "release of my Held lease makes it absent"
        => |kit| table::cell(kit, Row::Mine(Phase::Held), Op::Release, Then::Gone);
    l1_my_teardown_is_released "L1.my_teardown_is_released" Core "release of my Teardown makes it absent"
        => |kit| table::cell(kit, Row::Mine(Phase::Teardown), Op::Release, Then::Gone);
    l1_for_everyone_at_once "L1.for_everyone_at_once" Core "what is released is absent for everyone at once, and free for a peer"
        => using::released_is_absent_for_everyone_at_once;
    l2_a_peers_is_left "L2.a_peers_is_left" Core "release of a peer's Held lease is NotHeld and changes nothing"
        => |kit| table::cell(kit, Row::Peers(Phase::Held), Op::Release, Then::Same("NotHeld"));
    l2_a_peers_teardown_is_left "L2.a_peers_teardown_is_left" Core "release of a peer's Teardown is NotHeld and changes nothing"
        => |kit| table::cell(kit, Row::Peers(Phase::Teardown), Op::Release, Then::Same("NotHeld"));
    l2_release_tenure_leaves_a_peers "L2.release_tenure_leaves_a_peers" Core "release_tenure with the fence of a peer's lease is NotHeld"
        => |kit| table::cell(kit, Row::Peers(Phase::Held), Op::ReleaseTenure, Then::Same("NotHeld"));
    l2_release_tenure_leaves_a_peers_teardown "L2.release_tenure_leaves_a_peers_teardown" Core "release_tenure with the fence of a peer's Teardown is NotHeld"
        => |kit| table::cell(kit, Row::Peers(Phase::Teardown), Op::ReleaseTenure, Then::Same("NotHeld"));
    l3_absent_is_not_held "L3.absent_is_not_held" Core "release of an absent id is NotHeld"
        => |kit| table::cell(kit, Row::Absent, Op::Release, Then::Same("NotHeld"));
    l3_release_tenure_of_absent_is_not_held "L3.release_tenure_of_absent_is_not_held" Core "release_tenure of an absent id is NotHeld"
        => |kit| table::cell(kit, Row::Absent, Op::ReleaseTenure, Then::Same("NotHeld"));
    l4_the_tenure_itself_is_released "L4.the_tenure_itself_is_released" Core "release_tenure with the fence of my Held lease releases it"
        => |kit| table::cell(kit, Row::Mine(Phase::Held), Op::ReleaseTenure, Then::Gone);
    l4_the_teardown_itself_is_released "L4.the_teardown_itself_is_released" Core "release_tenure with the fence of my Teardown releases it"
        => |kit| table::cell(kit, Row::Mine(Phase::Teardown), Op::ReleaseTenure, Then::Gone);
    l4_a_newer_tenure_is_left "L4.a_newer_tenure_is_left" Core "release_tenure with an older fence of mine is NotHeld and leaves the newer tenure alone"
        => |kit| table::cell(kit, Row::MineSince(Phase::Held), Op::ReleaseTenure, Then::Same("NotHeld"));
    l4_a_newer_teardown_is_left "L4.a_newer_teardown_is_left" Core "release_tenure with an older fence of mine leaves the Teardown alone"
        => |kit| table::cell(kit, Row::MineSince(Phase::Teardown), Op::ReleaseTenure, Then::Same("NotHeld"));
    i1_looking_changes_nothing "I1.looking_changes_nothing" Core "inspect and list never take, refresh, create or delete"
        => using::looking_changes_nothing;
    i2_a_held_lease_is_shown "I2.a_held_lease_is_shown" Core "inspect says owner, Held, fence and the time left"
        => |kit| using::a_look_says_owner_phase_fence_and_time(kit, Phase::Held);
    i2_a_teardown_is_shown "I2.a_teardown_is_shown" Core "inspect says owner, Teardown, fence and the time left"
        => |kit| using::a_look_says_owner_phase_fence_and_time(kit, Phase::Teardown);
    i2_a_foreign_lease_is_a_peers "I2.a_foreign_lease_is_a_peers" Core "a lease that a foreign program wrote without a fence is shown without one and is a peer's" [Need::Foreign]
        => using::a_foreign_lease_without_a_fence_is_a_peers;
    i3_absent_is_none "I3.absent_is_none" Core "inspect of what was never written, was released or ran out is None"
        => using::absent_is_none;
    i4_every_live_lease_once "I4.every_live_lease_once" Core "list has every live lease of every owner once, and none that is gone"
        => using::list_has_every_live_lease_once;
    e1_live_before_its_ttl_and_absent_after "E1.live_before_its_ttl_and_absent_after" Core "a Held lease is live before its TTL and absent within the quantum after it"
        => |kit| timing::live_before_its_ttl_and_absent_after(kit, Phase::Held);
    e1_what_ran_out_is_absent_to_every_operation "E1.what_ran_out_is_absent_to_every_operation" Core "every operation finds nothing where a Held lease ran out, whoever's"
        => |kit| table::run_out_is_absent(kit, Phase::Held);
    e1_renewals_carry_it_on "E1.renewals_carry_it_on" Core "a lease that is renewed in time stays, under its fence"
        => timing::renewals_carry_a_lease_on;
    e2_a_teardown_runs_out_too "E2.a_teardown_runs_out_too" Core "a Teardown is live before its TTL and absent within the quantum after it"
        => |kit| timing::live_before_its_ttl_and_absent_after(kit, Phase::Teardown);
    e2_a_dead_destroyer_bricks_nothing "E2.a_dead_destroyer_bricks_nothing" Core "every operation finds nothing where a Teardown ran out, whoever's"
        => |kit| table::run_out_is_absent(kit, Phase::Teardown);
    e3_the_wall_clock_set_forward_changes_nothing "E3.the_wall_clock_set_forward_changes_nothing" Core "a wall clock set an hour forward changes no lease"
        => |kit| timing::no_step_of_the_wall_clock_counts(kit, 3_600_000_000);
    e3_the_wall_clock_set_back_changes_nothing "E3.the_wall_clock_set_back_changes_nothing" Core "a wall clock set an hour back changes no lease"
        => |kit| timing::no_step_of_the_wall_clock_counts(kit, -3_600_000_000);
    e3_a_reboot_voids_what_was_written_before "E3.a_reboot_voids_what_was_written_before" Core "a lease that was written before this kernel started is absent, and its fence is exceeded" [Need::BootBound]
        => timing::a_reboot_voids_what_was_written_before;
    e3_another_live_kernels_record_is_unsafe "E3.another_live_kernels_record_is_unsafe" Core "a record that another kernel wrote after this one started is refused as Unsafe" [Need::BootBound]
        => timing::another_live_kernels_record_is_unsafe;
    e4_ttls_round_trip "E4.ttls_round_trip" Core "whole milliseconds from 1 ms to 10 years come back as they were given"
        => timing::ttls_round_trip;
    e4_what_is_no_ttl_is_refused "E4.what_is_no_ttl_is_refused" Core "zero, negative, endless and fractional TTLs are refused by name"
        => timing::what_is_no_ttl_is_refused_by_name;
    f1_every_tenure_has_a_larger_one "F1.every_tenure_has_a_larger_one" Core "every change of owner, phase or absence brings a larger fence below 2^53"
        => fencing::every_tenure_has_a_larger_one;
    f2_it_holds_across_a_release "F2.it_holds_across_a_release" Core "after a release the next fence is larger, even with the clock set back"
        => |kit| fencing::it_outlives_the_record(kit, Forgotten::Released);
    f2_it_holds_across_an_expiry "F2.it_holds_across_an_expiry" Core "after an expiry the next fence is larger, even with the clock set back"
        => |kit| fencing::it_outlives_the_record(kit, Forgotten::RanOut);
    f2_it_holds_across_a_discard "F2.it_holds_across_a_discard" Core "after a discard the next fence is larger, even with the clock set back"
        => |kit| fencing::it_outlives_the_record(kit, Forgotten::Discarded);
    f3_refreshes_keep_it "F3.refreshes_keep_it" Core "renew and refreshing claims keep the fence"
        => fencing::refreshes_keep_it;
    f4_it_grows_after_a_loss_of_everything "F4.it_grows_after_a_loss_of_everything" Core "after the server lost everything the next fence is larger" [Need::Wipe]
        => fencing::it_grows_after_the_server_lost_everything;
    x1_down_is_an_error "X1.down_is_an_error" Core "while the server is not there every operation is an error by the deadline" [Need::Outage(Outage::Down)]
        => |kit| unknown::no_answer_is_an_error_by_the_deadline(kit, Outage::Down);
    x1_hung_is_an_error "X1.hung_is_an_error" Core "while the server says nothing every operation is an error by the deadline, and the error says where the time went" [Need::Outage(Outage::Hung)]
        => |kit| unknown::no_answer_is_an_error_by_the_deadline(kit, Outage::Hung);
    x1_refusing_is_an_error "X1.refusing_is_an_error" Core "while the server refuses every operation is an error by the deadline" [Need::Outage(Outage::Refusing)]
        => |kit| unknown::no_answer_is_an_error_by_the_deadline(kit, Outage::Refusing);
    x2_damage_is_never_absence "X2.damage_is_never_absence" Core "a damaged record is Corrupt to every operation and its bytes stay as they are" [Need::Damage]
        => unknown::damage_is_never_absence_and_never_overwritten;
    x2_damage_is_listed_and_hides_nothing "X2.damage_is_listed_and_hides_nothing" Core "list names damaged records and hides no other" [Need::Damage]
        => unknown::damage_is_listed_and_hides_nothing;
    x2_discard_is_the_way_out "X2.discard_is_the_way_out" Core "discard removes a damaged record, and the next fence is larger" [Need::Damage]
        => unknown::discard_is_the_way_out_of_damage;
    x2_discard_refuses_a_readable_lease "X2.discard_refuses_a_readable_lease" Core "discard refuses a readable lease unless forced"
        => unknown::discard_refuses_a_readable_lease;
    x3_the_same_handle_works_again "X3.the_same_handle_works_again" Core "once the server is back the same handle answers, and the lease is as it was" [Need::AnyOutage]
        => unknown::the_same_handle_works_again;
    x4_trying_again_converges "X4.trying_again_converges" Core "an operation that failed takes effect at most once, and trying again converges" [Need::AnyOutage]
        => unknown::trying_again_converges;
    x5_closed_is_closed "X5.closed_is_closed" Core "close may be called twice, leaves the leases, and makes everything else Closed"
        => unknown::closed_is_closed;
    s1_ids_are_apart "S1.ids_are_apart" Core "ids that look alike share nothing"
        => isolation::ids_are_apart;
    s2_namespaces_are_apart "S2.namespaces_are_apart" Core "namespaces share nothing"
        => isolation::namespaces_are_apart;
    s3_letter_case_is_kept "S3.letter_case_is_kept" Core "ids that differ in one letter's case share nothing"
        => isolation::letter_case_is_kept;
    s4_the_longest_ids_work "S4.the_longest_ids_work" Core "128 upper-case letters work, and differ from their neighbours"
        => isolation::the_longest_ids_work;
    s5_released_ids_take_no_room "S5.released_ids_take_no_room" Core "storage does not grow with ids that were released" [Need::Count]
        => isolation::storage_does_not_grow_with_released_ids;
    s5_ids_that_ran_out_take_no_room "S5.ids_that_ran_out_take_no_room" Core "storage does not grow with ids that ran out" [Need::Count]
        => isolation::storage_does_not_grow_with_ids_that_ran_out;
    a1_one_claim_of_many_wins "A1.one_claim_of_many_wins" Race "of many racing claims on an absent id exactly one wins"
        => race::one_claim_of_many_wins;
    a2_takes_follow_one_another "A2.takes_follow_one_another" Race "racing takes each have a fence of their own and the newest holds"
        => race::takes_follow_one_another;
    a2_a_take_against_keep "A2.a_take_against_keep" Race "take beside keep ends as one after the other would, in some order"
        => |kit| race::a_take_against(kit, Against::Keep);
    a2_a_take_against_release "A2.a_take_against_release" Race "take beside release ends as one after the other would, in some order"
        => |kit| race::a_take_against(kit, Against::Release);
    a2_a_take_against_release_tenure "A2.a_take_against_release_tenure" Race "take beside release_tenure ends as one after the other would, in some order"
        => |kit| race::a_take_against(kit, Against::ReleaseTenure);
    a2_a_take_against_renew "A2.a_take_against_renew" Race "take beside renew ends as one after the other would, in some order"
        => |kit| race::a_take_against(kit, Against::Renew);
    a2_a_take_against_destroy_tenure "A2.a_take_against_destroy_tenure" Race "take beside destroy_tenure ends as one after the other would, in some order"
        => |kit| race::a_take_against(kit, Against::DestroyTenure);
    a2_a_take_against_discard "A2.a_take_against_discard" Race "take beside discard ends as one after the other would, in some order"
        => |kit| race::a_take_against(kit, Against::Discard);
    a2_batches_beside_takes "A2.batches_beside_takes" Race "renew_many beside takes gives each id its own true answer"
        => race::batches_beside_takes_answer_truly;
    a2_mixed_histories_are_explained "A2.mixed_histories_are_explained" Race "what threads of many owners are told while they do everything at once can be put in one order that the lease table explains"
        => mixed_histories_are_explained;
    a2_histories_equal_the_rules "A2.histories_equal_the_rules" Model "random histories of many owners and ids end step by step as the pure rules say"
        => histories_equal_the_rules;
    p1_the_declared_reach_is_true "P1.the_declared_reach_is_true" Core "a lease is seen as far as the declared reach says"
        => using::declared_reach_is_what_the_store_says;
    p1_another_process_sees_it "P1.another_process_sees_it" Durability "a lease is seen, refused, moved and kept out of by another process" [Need::Processes]
        => another_process_sees_it;
    p2_a_killed_process_leaves_its_leases "P2.a_killed_process_leaves_its_leases" Durability "a killed process' leases stay for their TTL and no longer" [Need::Processes]
        => a_killed_process_leaves_its_leases;
    b1_the_same_as_one_by_one "B1.the_same_as_one_by_one" Core "renew_many gives each id in order what renewing it alone would"
        => batch::the_same_as_one_by_one_in_order;
    b1_the_same_id_twice "B1.the_same_id_twice" Core "renew_many answers an id as often as it is asked"
        => batch::the_same_id_twice_is_answered_twice;
    b2_lost_and_lapsed_fail_no_other "B2.lost_and_lapsed_fail_no_other" Core "one Lost or Lapsed id fails no other"
        => batch::lost_and_lapsed_fail_no_other;
    b2_damage_fails_no_other "B2.damage_fails_no_other" Core "one Corrupt id fails no other" [Need::Damage]
        => batch::one_damaged_id_fails_no_other;
    b2_an_outage_is_an_error_of_each "B2.an_outage_is_an_error_of_each" Core "when the server fails, renew_many has an error for every id whose outcome is not certain" [Need::AnyOutage]
        => batch::an_outage_is_an_error_of_each;

    [with the facade]
    o1_no_operation_blocks_a_polling_thread "O1.no_operation_blocks_a_polling_thread" "behind the facade no operation makes a call that blocks the thread that polls it, on either flavour of the runtime"
        => facade::no_operation_blocks;
    o1_no_operation_runs_on_a_polling_thread "O1.no_operation_runs_on_a_polling_thread" "every operation, and the end of the store itself, is on a thread that polls no task"
        => facade::no_operation_runs_where_tasks_are_polled;
    o2_no_more_than_its_workers_run_at_once "O2.no_more_than_its_workers_run_at_once" "as many calls run at once as there are workers, and who waits costs no thread"
        => facade::no_more_than_its_workers_run_at_once;
    o2_a_lost_worker_is_replaced_max_stuck_times "O2.a_lost_worker_is_replaced_max_stuck_times" "a worker lost to a hung call is replaced max_stuck times and no more"
        => facade::a_lost_worker_is_replaced_so_often_and_no_more;
    o2_those_who_wait_are_served_in_order "O2.those_who_wait_are_served_in_order" "callers who wait are served in the order in which they asked"
        => facade::those_who_wait_are_served_in_order;
    o3_a_timeout_and_what_runs_goes_on "O3.a_timeout_and_what_runs_goes_on" "past its deadline a call is a Timeout, and what runs goes on to its end"
        => facade::past_its_deadline_a_call_is_a_timeout_and_goes_on;
    o4_what_had_not_begun_is_never_called "O4.what_had_not_begun_is_never_called" "a call that is dropped or timed out before it began never reaches the store"
        => facade::what_had_not_begun_is_never_called;
    o4_a_tenure_that_comes_too_late_is_released "O4.a_tenure_that_comes_too_late_is_released" "a tenure that comes after its caller's deadline is released"
        => facade::a_tenure_that_comes_too_late_is_released;
    o4_what_replaced_mine_stays_and_is_told "O4.what_replaced_mine_stays_and_is_told" "a tenure that nobody receives and that replaced or refreshed mine stays, and the orphan hook is told"
        => facade::what_replaced_mine_stays_and_is_told;
    o4_dropped_at_every_poll "O4.dropped_at_every_poll" "dropping any operation at any poll leaves no lease without a holder, loses none that was held, and costs no worker"
        => facade::dropped_at_every_poll;
    o5_a_panic_costs_that_call_alone "O5.a_panic_costs_that_call_alone" "a panic in the store is Panicked for that call, and costs nobody else anything"
        => facade::a_panic_costs_that_call_alone;
    o6_a_hung_store_stalls_nobody_else "O6.a_hung_store_stalls_nobody_else" "while a store hangs for ever the runtime goes on and another facade answers"
        => facade::a_hung_store_stalls_nobody_else;
    o7_close_waits_and_refuses "O7.close_waits_and_refuses" "close waits for what runs and what waits, refuses what comes, and may be asked again"
        => facade::close_waits_and_refuses;
    o7_close_reports_what_it_abandons "O7.close_reports_what_it_abandons" "close gives up at its deadline and says how many calls it abandoned and refused"
        => facade::close_reports_what_it_abandons;
    o8_no_way_leads_to_the_store "O8.no_way_leads_to_the_store" "the facade is no sync store, points at none, and can't be copied"
        => facade::no_way_leads_to_the_store;
    o9_renewals_wait_for_nothing_else "O9.renewals_wait_for_nothing_else" "while every worker is held and callers wait, renewals and heartbeats are answered"
        => facade::renewals_wait_for_nothing_else;
}
