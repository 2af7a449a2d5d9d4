//! Histories made by hand about time, failures and what is said of a failure: wrong ones beside right ones.

use std::time::Duration;

use leasehold::{Intent, Phase, Replaced};
use leasehold_conformance::checker::{Timing, check};
use leasehold_conformance::history::{Asked, Event};

use crate::support::*;

#[test]
fn an_early_expiry() {
    let at =
        |from, until| [event("a", 0, 1, taken(1, 0, Replaced::Nothing)), event("a", from, until, lapsed())];
    rejected(&at(TTL - 2, TTL - 1), 1);
    accepted(&at(TTL - 2, TTL));
}

#[test]
fn a_late_expiry() {
    let at = |from, until| {
        let looked = seen("a", Phase::Held, 1, TTL, TTL - 1);
        [event("a", 0, 1, taken(1, 0, Replaced::Nothing)), event("b", from, until, looked)]
    };
    rejected(&at(TTL, TTL + 2), 1);
    accepted(&at(TTL - 1, TTL + 2));
}

#[test]
fn a_lease_that_lives_on_without_a_time_shown() {
    let at = |from| {
        [event("a", 0, 1, taken(1, 0, Replaced::Nothing)), event("b", from, TTL + 9, refused(Intent::Keep))]
    };
    rejected(&at(TTL), 1);
    accepted(&at(TTL - 1));
}

#[test]
fn a_renewal_that_shortened() {
    let look = |end| {
        let short = Event { ttl: Duration::from_millis(20), ..event("a", 10, 11, renewed(1, 0)) };
        [
            event("a", 0, 1, taken(1, 0, Replaced::Nothing)),
            // Its TTL is 20, so 30 would be the new end if it shortened; it says that the lease is valid until 100.
            short,
            event("b", 20, 21, seen("a", Phase::Held, 1, end, 20)),
        ]
    };
    rejected(&look(30), 2);
    accepted(&look(TTL));
}

#[test]
fn a_renewal_valid_for_too_long() {
    let renewal = |at| [event("a", 0, 1, taken(1, 0, Replaced::Nothing)), event("a", 10, 11, renewed(1, at))];
    rejected(&renewal(12), 1);
    rejected(&renewal(9), 1);
    accepted(&renewal(10));
}

#[test]
fn a_failed_take_may_have_happened_now_later_or_never() {
    let after = |answer| {
        [event("b", 0, 1, kept(1, 0)), event("a", 2, 3, failed(Asked::Take)), event("b", 4, 5, answer)]
    };
    accepted(&after(renewed(1, 4)));
    accepted(&after(lost()));
    rejected(&after(lapsed()), 2);
}

#[test]
fn a_failed_take_has_one_effect_at_most() {
    let again = |last| {
        [
            event("b", 0, 1, kept(1, 0)),
            event("a", 2, 3, failed(Asked::Take)),
            event("b", 4, 5, taken(9, 4, peer("a"))),
            event("b", 6, 7, last),
        ]
    };
    accepted(&again(renewed(9, 6)));
    rejected(&again(lost()), 3);
}

#[test]
fn the_fence_of_a_failed_take_is_found_out_and_then_holds() {
    let after = |number| {
        [
            event("b", 0, 1, kept(5, 0)),
            unanswered("a", 2, Asked::Take),
            event("c", 4, 5, seen("a", Phase::Held, 8, TTL + 3, 4)),
            event("a", 6, 7, renewed(number, 6)),
        ]
    };
    accepted(&after(8));
    rejected(&after(9), 3);
}

#[test]
fn the_fence_of_a_failed_take_is_above_those_before_it() {
    let shown = |number| {
        [
            event("b", 0, 1, kept(5, 0)),
            event("a", 2, 3, failed(Asked::Take)),
            event("c", 4, 5, seen("a", Phase::Held, number, TTL + 3, 4)),
        ]
    };
    rejected(&shown(5), 2);
    accepted(&shown(6));
}

#[test]
fn readings_need_not_follow_the_order_of_effects() {
    // One finds the lease gone and another, whose effect may come after that, finds it live: each read a moment of its own.
    let history = |from| {
        [
            event("a", 0, 1, taken(1, 0, Replaced::Nothing)),
            event("b", TTL - 5, TTL + 5, lapsed()),
            event("c", from, TTL + 6, refused(Intent::Keep)),
        ]
    };
    accepted(&history(TTL - 5));
    rejected(&history(TTL), 2);
}

#[test]
fn a_servers_clock_is_known_as_far_as_its_quantum_goes() {
    let timing = Timing::Servers { quantum: Duration::from_millis(2), drift: Duration::from_millis(1) };
    let live_at = |from| {
        let events = [
            event("a", 0, 4, taken(1, 0, Replaced::Nothing)),
            event("b", from, from + 1, refused(Intent::Keep)),
        ];
        check(events.to_vec(), timing).is_complete()
    };
    // Its reading is between 0 and 4, so its end is between 100 and 104, and 3 more until it must be gone.
    assert!(live_at(TTL + 4 + 2) && !live_at(TTL + 4 + 3));
    let gone_at = |until| {
        let events = [event("a", 0, 4, taken(1, 0, Replaced::Nothing)), event("a", 90, until, lapsed())];
        check(events.to_vec(), timing).is_complete()
    };
    assert!(gone_at(TTL - 1) && !gone_at(TTL - 2));
}

#[test]
fn what_a_servers_answers_tell_of_the_time_adds_up() {
    let timing = Timing::Servers { quantum: Duration::ZERO, drift: Duration::ZERO };
    let history = |gone_until| {
        let events = [
            event("a", 0, 10, taken(1, 0, Replaced::Nothing)),
            // Seen live at 107 or later, so it ends after 107 …
            event("b", 107, 109, refused(Intent::Keep)),
            // … and nobody can have found it gone before.
            event("c", 104, gone_until, nothing_seen()),
        ];
        check(events.to_vec(), timing).is_complete()
    };
    assert!(history(108) && !history(107));
}

#[test]
fn the_window_of_a_failure_leaves_out_what_it_does_not_need() {
    let mut events = Vec::new();
    for n in 0..200 {
        events.push(event(
            "a",
            n * 10,
            n * 10 + 1,
            taken(n + 1, n * 10, if n == 0 { Replaced::Nothing } else { mine(n) }),
        ));
    }
    events.push(event("b", 2_000, 2_001, kept(500, 2_000)));
    let checked = checked(&events);
    let found = &checked.unexplained[0];
    assert!(found.window.len() <= 3, "{checked}");
    assert_eq!(found.clause, "A1");
    let text = checked.to_string();
    assert!(text.contains("held by a under fence 200") && text.contains("Refused"), "{text}");
}

#[test]
fn answers_that_no_state_allows_are_wrong_at_once() {
    rejected(&[event("a", 0, 1, claim_lapsed(Intent::Keep))], 0);
    rejected(&[event("a", 0, 1, (Asked::Renew, not_held().1))], 0);
}
