//! Histories made by hand: each wrong one beside the right one that differs from it in as little as possible.

use leasehold::{Intent, Phase, Replaced};
use leasehold_conformance::history::{Asked, Event};

use crate::support::*;

#[test]
fn two_claims_of_one_absent_id() {
    let second = |answer| [event("a", 0, 10, kept(1, 5)), event("b", 2, 12, answer)];
    rejected(&second(kept(2, 6)), 1);
    accepted(&second(refused(Intent::Keep)));
}

#[test]
fn a_stale_read() {
    let look = |answer| {
        [
            event("a", 0, 1, taken(1, 0, Replaced::Nothing)),
            event("b", 2, 3, taken(2, 2, peer("a"))),
            event("c", 4, 5, answer),
        ]
    };
    rejected(&look(seen("a", Phase::Held, 1, TTL, 4)), 2);
    accepted(&look(seen("b", Phase::Held, 2, 2 + TTL, 4)));
}

#[test]
fn a_read_of_either_side_of_a_take_that_runs() {
    let look = |answer| {
        [
            event("a", 0, 1, taken(1, 0, Replaced::Nothing)),
            event("b", 2, 9, taken(2, 5, peer("a"))),
            event("c", 4, 5, answer),
        ]
    };
    accepted(&look(seen("a", Phase::Held, 1, TTL, 4)));
    accepted(&look(seen("b", Phase::Held, 2, 5 + TTL, 4)));
    rejected(&look(nothing_seen()), 2);
}

#[test]
fn two_reads_that_go_back_in_time() {
    let looks = |first, second| {
        [
            event("a", 0, 1, taken(1, 0, Replaced::Nothing)),
            event("b", 2, 20, taken(2, 5, peer("a"))),
            event("c", 4, 5, first),
            event("d", 6, 7, second),
        ]
    };
    let (old, new) = (seen("a", Phase::Held, 1, TTL, 5), seen("b", Phase::Held, 2, 5 + TTL, 5));
    let (old_later, new_later) = (seen("a", Phase::Held, 1, TTL, 6), seen("b", Phase::Held, 2, 5 + TTL, 6));
    rejected(&looks(new, old_later), 3);
    accepted(&looks(old, new_later));
}

#[test]
fn a_resurrected_lease() {
    let late = |answer| {
        [
            event("a", 0, 1, taken(1, 0, Replaced::Nothing)),
            event("a", 2, 3, released()),
            event("b", 4, 5, answer),
        ]
    };
    rejected(&late(seen("a", Phase::Held, 1, TTL, 4)), 2);
    accepted(&late(nothing_seen()));
}

#[test]
fn a_lost_release() {
    let after = |answer| {
        [
            event("a", 0, 1, taken(1, 0, Replaced::Nothing)),
            event("a", 2, 3, released()),
            event("b", 4, 5, answer),
        ]
    };
    rejected(&after(refused(Intent::Keep)), 2);
    accepted(&after(kept(2, 4)));
}

#[test]
fn a_fence_repeated() {
    let second = |number| {
        [
            event("a", 0, 1, taken(7, 0, Replaced::Nothing)),
            event("a", 2, 3, released()),
            event("a", 4, 5, taken(number, 4, Replaced::Nothing)),
        ]
    };
    rejected(&second(7), 2);
    accepted(&second(8));
}

#[test]
fn a_fence_going_back() {
    let second = |number| {
        [event("a", 0, 1, taken(7, 0, Replaced::Nothing)), event("b", 2, 3, taken(number, 2, peer("a")))]
    };
    rejected(&second(6), 1);
    accepted(&second(9));
}

#[test]
fn fences_against_the_order_of_time_are_wrong_even_while_a_third_runs() {
    let history = |first: u64, second: u64| {
        [
            event("a", 0, 1, taken(first, 0, Replaced::Nothing)),
            event("c", 0, 9, refused(Intent::Keep)),
            event("b", 2, 3, taken(second, 2, peer("a"))),
        ]
    };
    rejected(&history(8, 7), 2);
    accepted(&history(7, 8));
}

#[test]
fn a_refusal_that_refreshed() {
    let look = |end| {
        [
            event("a", 0, 1, taken(1, 0, Replaced::Nothing)),
            event("b", 50, 51, refused(Intent::Keep)),
            event("c", 60, 61, seen("a", Phase::Held, 1, end, 60)),
        ]
    };
    rejected(&look(50 + TTL), 2);
    accepted(&look(TTL));
}

#[test]
fn a_turned_away_take_that_refreshed() {
    let look = |end| {
        [
            event("a", 0, 1, claimed(Intent::Destroy, 1, 0, Replaced::Nothing)),
            event("b", 50, 51, turned_away()),
            event("c", 60, 61, seen("a", Phase::Teardown, 1, end, 60)),
        ]
    };
    rejected(&look(50 + TTL), 2);
    accepted(&look(TTL));
}

#[test]
fn a_newer_tenure_released() {
    let late = |answer| {
        [
            event("a", 0, 1, taken(1, 0, Replaced::Nothing)),
            event("a", 2, 3, taken(2, 2, mine(1))),
            event("a", 4, 5, answer),
        ]
    };
    rejected(&late(tenure_released(1)), 2);
    accepted(&late(tenure_not_held(1)));
    accepted(&late(tenure_released(2)));
    rejected(&late(tenure_not_held(2)), 2);
}

#[test]
fn a_peers_lease_released() {
    let release = |answer| [event("a", 0, 1, taken(1, 0, Replaced::Nothing)), event("b", 2, 3, answer)];
    rejected(&release(released()), 1);
    accepted(&release(not_held()));
}

#[test]
fn lapsed_said_as_lost() {
    let renewal = |answer| {
        [
            event("a", 0, 1, taken(1, 0, Replaced::Nothing)),
            event("b", 2, 3, discarded(true)),
            event("a", 4, 5, answer),
        ]
    };
    rejected(&renewal(lost()), 2);
    accepted(&renewal(lapsed()));
}

#[test]
fn lost_said_as_lapsed() {
    let renewal = |answer| {
        [
            event("a", 0, 1, taken(1, 0, Replaced::Nothing)),
            event("b", 2, 3, taken(2, 2, peer("a"))),
            event("a", 4, 5, answer),
        ]
    };
    rejected(&renewal(lapsed()), 2);
    accepted(&renewal(lost()));
}

#[test]
fn a_renewal_that_created_anew() {
    let renewal = |answer| {
        [
            event("a", 0, 1, taken(1, 0, Replaced::Nothing)),
            event("a", 2, 3, released()),
            event("a", 4, 5, answer),
        ]
    };
    rejected(&renewal(renewed(1, 4)), 2);
    rejected(&renewal(renewed(2, 4)), 2);
    accepted(&renewal(lapsed()));
}

#[test]
fn a_renewal_of_a_teardown() {
    let renewal = |answer| {
        [event("a", 0, 1, claimed(Intent::Destroy, 1, 0, Replaced::Nothing)), event("a", 4, 5, answer)]
    };
    rejected(&renewal(renewed(1, 4)), 1);
    accepted(&renewal(lost()));
}

#[test]
fn a_destroyer_that_planted_on_absent() {
    let destroyer = |answer| [event("a", 2, 3, answer)];
    rejected(&destroyer(claimed(decided(1), 2, 2, Replaced::Nothing)), 0);
    accepted(&destroyer(claim_lapsed(decided(1))));
}

#[test]
fn a_late_heartbeat_that_planted_the_marker_anew() {
    let heartbeat = |answer| {
        [
            event("a", 0, 1, taken(1, 0, Replaced::Nothing)),
            event("a", 2, 3, claimed(decided(1), 2, 2, mine(1))),
            event("a", 4, 5, released()),
            event("a", 6, 7, answer),
            event("b", 8, 9, kept(3, 8)),
        ]
    };
    rejected(&heartbeat(claimed(decided(2), 2, 6, mine(2))), 3);
    accepted(&heartbeat(claim_lapsed(decided(2))));
}

#[test]
fn a_destroyer_with_an_old_fence() {
    let destroyer = |number, answer: fn(Intent) -> _| {
        let history = vec![
            event("a", 0, 1, taken(1, 0, Replaced::Nothing)),
            event("a", 2, 3, taken(2, 2, mine(1))),
            event("a", 4, 5, answer(decided(number))),
        ];
        history
    };
    let through = |intent| claimed(intent, 3, 4, mine(2));
    rejected(&destroyer(1, through), 2);
    accepted(&destroyer(2, through));
    accepted(&destroyer(1, refused));
    rejected(&destroyer(2, refused), 2);
}

#[test]
fn a_take_through_a_teardown() {
    let take = |answer| {
        [event("a", 0, 1, claimed(Intent::Destroy, 1, 0, Replaced::Nothing)), event("b", 2, 3, answer)]
    };
    rejected(&take(taken(2, 2, peer("a"))), 1);
    accepted(&take(turned_away()));
}

#[test]
fn not_both_taken_and_claimed_for_a_stop() {
    // Side by side: the stop was decided under tenure 1 and a peer takes the sandbox.
    let race = |take, stop| {
        [event("a", 0, 1, taken(1, 0, Replaced::Nothing)), event("b", 10, 20, take), event("a", 10, 20, stop)]
    };
    let stopped = |number| claimed(decided(1), number, 15, mine(1));
    rejected(&race(taken(2, 15, peer("a")), stopped(3)), 1);
    rejected(&race(taken(3, 15, peer("a")), stopped(2)), 1);
    accepted(&race(taken(2, 15, peer("a")), refused(decided(1))));
    accepted(&race(turned_away(), stopped(2)));
}

#[test]
fn what_was_replaced_said_wrongly() {
    let take = |replaced| {
        [event("a", 0, 1, taken(1, 0, Replaced::Nothing)), event("b", 2, 3, taken(2, 2, replaced))]
    };
    rejected(&take(Replaced::Nothing), 1);
    rejected(&take(peer("c")), 1);
    rejected(&take(mine(1)), 1);
    accepted(&take(peer("a")));
}

#[test]
fn a_torn_batch_that_answers_one_id_with_anothers_outcome() {
    let batch = |answer: (Asked, _)| {
        let other = |event: Event| Event { id: "sbx-2".parse().unwrap(), ..event };
        [
            event("a", 0, 1, taken(1, 0, Replaced::Nothing)),
            other(event("b", 0, 1, taken(2, 0, Replaced::Nothing))),
            event("a", 4, 5, (Asked::RenewMany, renewed(1, 4).1)),
            other(event("a", 4, 5, (Asked::RenewMany, answer.1))),
        ]
    };
    rejected(&batch(renewed(1, 4)), 3);
    accepted(&batch(lost()));
}
