//! The histories of the model and of the race tier catch every fault that answers can show, and no right store.

#![cfg(feature = "meta")]

use std::sync::Arc;

use leasehold_conformance::meta::{Fault, FaultyHarness};
use leasehold_conformance::{CASES, Harness, Options, Verdict, run_case};

const MODEL: &str = "A2.histories_equal_the_rules";
const RACE: &str = "A2.mixed_histories_are_explained";

fn verdict(id: &str, fault: Option<Fault>, seed: u64) -> Verdict {
    let harness: Arc<dyn Harness> = Arc::new(FaultyHarness::new(fault));
    let case = CASES.iter().find(|case| case.id == id).unwrap();
    run_case(&harness, case, &Options { seed, ..Options::default() })
}

/// The faults of the lease table, of time and of fences that answers can show, and that escape the case `id`.
fn escaped(id: &str) -> Vec<Fault> {
    let clauses = ["T", "C", "R", "L", "I", "E1", "E2", "F1", "F2", "F3", "B1"];
    let of_the_table = |fault: &Fault| clauses.iter().any(|clause| fault.clause().starts_with(clause));
    let faults = Fault::ALL.iter().copied().filter(|fault| of_the_table(fault) && !shows_in_storage(*fault));
    faults.filter(|fault| !verdict(id, Some(*fault), 1).is_failure()).collect()
}

/// What no answer tells: a record of nothing, and what needs a longer batch than these histories have.
fn shows_in_storage(fault: Fault) -> bool {
    ["InspectCreates", "LapsedLeavesATrace", "BatchFallsShort", "ForeignIsDamage"].contains(&fault.name())
}

#[test]
fn the_model_catches_every_fault_of_the_table() {
    assert_eq!(escaped(MODEL), Vec::<Fault>::new());
}

#[test]
fn the_race_catches_them_too() {
    // Which threads meet is up to the scheduler, so that one that is rarely met may escape one run.
    let escaped = escaped(RACE);
    assert!(escaped.len() <= 2, "these escaped: {escaped:?}");
}

#[test]
fn the_race_catches_what_shows_between_threads_alone() {
    for fault in [Fault::ClaimRaces, Fault::ReleaseRaces] {
        assert!(verdict(RACE, Some(fault), 1).is_failure(), "{fault} escaped");
        assert_eq!(verdict(MODEL, Some(fault), 1), Verdict::Passed, "{fault}");
    }
}

#[test]
fn a_right_store_passes_whatever_the_seed() {
    for seed in 0..12 {
        for id in [MODEL, RACE] {
            assert_eq!(verdict(id, None, seed), Verdict::Passed, "seed {seed}");
        }
    }
}

#[test]
fn a_failure_is_told_as_the_shortest_story() {
    let Verdict::Failed { expected, seen } = verdict(MODEL, Some(Fault::RefusalRefreshes), 1) else {
        panic!("it passed")
    };
    assert!(expected.contains("after it"), "{expected}");
    let steps = seen.lines().filter(|line| line.starts_with("    ")).count();
    assert_eq!(steps, 3, "a lease, time, and a refusal: {seen}");
}
