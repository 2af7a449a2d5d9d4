//! A machine that stalls must not make a store look bad, nor a bad store look like a stalled machine.

use std::cell::Cell;
use std::time::Duration;

use leasehold_conformance::case::{Check, Stop};
use leasehold_conformance::{Kit, Verdict};

use crate::support::{Odd, made_up};

thread_local! {
    /// How often the case of this test was tried: cases run on the thread that asks.
    static TRIES: Cell<usize> = const { Cell::new(0) };
}

fn tries() -> usize {
    TRIES.with(|tries| {
        tries.set(tries.get() + 1);
        tries.get()
    })
}

/// Opens a handle whose leases last a millisecond, and lets two go by that nobody asked for.
fn stall(kit: &Kit<'_>) -> Check {
    let _ = kit.open("me", Duration::from_millis(1))?;
    let until = kit.now() + Duration::from_millis(2);
    while kit.now() < until {
        std::hint::spin_loop();
    }
    Ok(())
}

fn real() -> Odd {
    Odd { real_time: true, ..Odd::default() }
}

#[test]
fn a_failure_that_a_stall_may_have_caused_is_tried_again() {
    let case = made_up(|kit| {
        if tries() == 1 {
            stall(kit)?;
            return Err(Stop::failed("a live lease", "none"));
        }
        Ok(())
    });
    assert_eq!((case.run(&real(), 1), TRIES.get()), (Verdict::Passed, 2));
}

#[test]
fn one_that_comes_every_time_is_a_failure_and_says_how_slow_it_was() {
    let case = made_up(|kit| {
        tries();
        stall(kit)?;
        Err(Stop::failed("a live lease", "none"))
    });
    let verdict = case.run(&real(), 1);
    let Verdict::Failed { seen, .. } = &verdict else { panic!("{verdict:?}") };
    assert!(seen.contains("tried 3 times") && seen.contains("went by unasked"), "{seen}");
    assert_eq!(TRIES.get(), 3);
}

#[test]
fn a_failure_on_a_machine_in_time_is_believed_at_once() {
    let case = made_up(|kit| {
        tries();
        let _ = kit.open("me", Duration::from_secs(3_600))?;
        Err(Stop::failed("a live lease", "none"))
    });
    assert!(matches!(case.run(&real(), 1), Verdict::Failed { seen, .. } if !seen.contains("tried")));
    assert_eq!(TRIES.get(), 1);
}

#[test]
fn time_that_a_case_asked_for_is_no_stall() {
    let case = made_up(|kit| {
        tries();
        let _ = kit.open("me", Duration::from_millis(800))?;
        kit.pass(Duration::from_millis(801));
        Err(Stop::failed("absent", "a lease"))
    });
    assert!(matches!(case.run(&real(), 1), Verdict::Failed { seen, .. } if !seen.contains("tried")));
    assert_eq!(TRIES.get(), 1);
}

#[test]
fn where_time_is_moved_nothing_is_tried_again() {
    let case = made_up(|kit| {
        tries();
        let _ = kit.open("me", Duration::from_millis(1))?;
        kit.pass(Duration::from_secs(3_600));
        Err(Stop::failed("a live lease", "none"))
    });
    assert!(matches!(case.run(&Odd::default(), 1), Verdict::Failed { .. }));
    assert_eq!(TRIES.get(), 1);
}

#[test]
fn the_time_left_is_judged_by_what_really_went_by() {
    let case = made_up(|kit| {
        let ttl = Duration::from_secs(60);
        let whole = kit.is_about(ttl, ttl);
        let more = kit.is_about(ttl + Duration::from_nanos(1), ttl);
        let half = kit.is_about(ttl / 2, ttl);
        if whole && !more && !half { Ok(()) } else { Err(Stop::failed("whole alone", (whole, more, half))) }
    });
    assert_eq!(case.run(&real(), 1), Verdict::Passed);
    assert_eq!(case.run(&Odd::default(), 1), Verdict::Passed);
}
