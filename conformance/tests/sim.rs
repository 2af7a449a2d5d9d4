//! The simulation of the provider: that it is the same for the same seed, that the provider keeps its rules in it, and that
//! it would notice.

use std::time::Duration;

use leasehold_conformance::sim::{Search, Story, simulate};

const GATEWAYS: usize = 3;

#[test]
fn the_same_seed_tells_the_same_story_byte_for_byte() {
    let mut told = 0;
    for seed in 0..25 {
        let (once, again) = (simulate(seed, GATEWAYS, true), simulate(seed, GATEWAYS, true));
        assert_eq!(once, again, "seed {seed}");
        told += once.story.len();
    }
    assert!(told > 2_000, "hardly anything happened: {told} lines");
}

#[test]
fn whether_it_is_told_makes_no_difference() {
    for seed in 0..8 {
        let (told, untold) = (simulate(seed, GATEWAYS, true), simulate(seed, GATEWAYS, false));
        assert_eq!(
            (told.steps, told.time, told.broken),
            (untold.steps, untold.time, untold.broken),
            "seed {seed}"
        );
    }
}

#[test]
fn the_provider_keeps_its_rules_in_every_world() {
    for (gateways, seeds) in [(1, 20), (2, 40), (3, 80), (5, 12)] {
        let found = Search { first: 0, seeds, gateways, threads: 2 }.run();
        assert_eq!(found.tried, seeds);
        if let Some((seed, _)) = found.broken.first() {
            panic!(
                "{} of {seeds} seeds with {gateways} gateways\n{}",
                found.broken.len(),
                Story::of(*seed, gateways)
            );
        }
    }
}

#[test]
fn the_worlds_are_crowded_and_things_go_wrong_in_them() {
    let stories: Vec<String> = (0..60).flat_map(|seed| simulate(seed, GATEWAYS, true).story).collect();
    for what in [
        "(created)",
        "(discovered)",
        "(reclaimed)",
        "(reused)",
        " adopts ",
        " has lost ",
        "was told that it lost",
        "has stopped",
        "does not stop",
        "gave up",
        "has shut down",
        "is killed",
        "is paused",
        "is suspended",
        "loses every record",
        "does not get through",
        "lets the orphan",
        "→ Lapsed",
        "→ Refused",
        "ends by itself",
    ] {
        assert!(stories.iter().any(|line| line.contains(what)), "in sixty worlds nothing {what:?}");
    }
}

#[test]
fn virtual_minutes_cost_hardly_any_time() {
    let found = Search { first: 0, seeds: 20, gateways: GATEWAYS, threads: 1 }.run();
    assert!(found.time > Duration::from_secs(20 * 240), "{:?}", found.time);
}

#[cfg(feature = "planted")]
mod planted {
    use super::*;
    use leasehold::Planted;
    use leasehold_conformance::sim::planted::{broken, hunt_one, story};

    /// Those that are found out within a few seeds, so that it can be seen at every run of the tests; `leasehold sim
    /// --planted` hunts for all of them.
    const SOON: [Planted; 12] = [
        Planted::Epoch,
        Planted::LookAfterTake,
        Planted::HorizonOfTake,
        Planted::UseSeen,
        Planted::WorkPins,
        Planted::LastHolderParks,
        Planted::SlotFreed,
        Planted::TrackedWhileStopping,
        Planted::Condemning,
        Planted::ClaimBeforeStop,
        Planted::LossTold,
        Planted::Grace,
    ];

    #[test]
    fn a_guard_that_is_left_out_is_found_out() {
        for guard in SOON {
            let hunted = hunt_one(Search { first: 0, seeds: 150, gateways: GATEWAYS, threads: 2 }, guard);
            assert!(!hunted.found_in.is_empty(), "{guard:?} was not found out in {} seeds", hunted.tried);
        }
    }

    #[test]
    fn there_are_as_many_guards_as_were_asked_for_and_each_says_what_it_keeps() {
        assert!(Planted::ALL.len() >= 28);
        for guard in Planted::ALL {
            assert!(!guard.clause().is_empty() && guard.what().len() > 10, "{guard:?}");
        }
    }

    #[test]
    fn a_failure_is_cut_down_to_what_it_needs_and_still_fails() {
        let guard = Planted::HorizonOfTake;
        let seed =
            (0..400).find(|&seed| broken(seed, GATEWAYS, guard).is_some()).expect("one of them is found");
        let rule = broken(seed, GATEWAYS, guard).expect("it is broken");
        let told = story(seed, GATEWAYS, guard);
        let text = told.to_string();
        assert!(text.contains(rule), "{text}");
        assert!(text.contains(&format!("--seed {seed}")), "{text}");
        let (needed, all) = told.happenings();
        assert!(needed <= 6 && needed < all, "{needed} of {all}\n{text}");
    }
}
