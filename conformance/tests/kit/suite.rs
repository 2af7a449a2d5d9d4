//! What `conformance_suite!` makes, and what its tests do with each verdict.

use std::panic::{AssertUnwindSafe, catch_unwind};

use leasehold_conformance::{Waiver, prove_case, prove_waivers};

use crate::support::{Odd, Quirk};

/// The suite of a store that is in order.
mod sound {
    leasehold_conformance::conformance_suite!(crate::support::Odd);
}

fn proved(harness: Odd, id: &str) -> Result<(), String> {
    let prove = || prove_case(harness, id, "some-crate", module_path!());
    catch_unwind(AssertUnwindSafe(prove)).map_err(|said| *said.downcast::<String>().unwrap())
}

#[test]
fn a_failure_says_rule_expected_seen_and_how_to_repeat_it_there() {
    let said = proved(Odd::with(Quirk::StorePanics), "T1.absent_is_taken").unwrap_err();
    for part in [
        "T1.absent_is_taken on odd",
        "rule: take of an absent id",
        "expected: ",
        "seen: a panic: the store fell over",
        "cargo test -p some-crate -- t1_absent_is_taken",
        "LEASEHOLD_SEED=",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
fn a_harness_error_fails_and_is_called_one() {
    let said = proved(Odd::with(Quirk::FreshPanics), "T1.absent_is_taken").unwrap_err();
    assert!(said.contains("harness error"), "{said}");
}

#[test]
fn what_is_not_applicable_passes() {
    assert_eq!(proved(Odd::default(), "X2.damage_is_never_absence"), Ok(()));
}

#[test]
fn a_waived_failure_passes_and_a_waiver_that_is_not_needed_fails() {
    let waivers = vec![Waiver::new("A1.one_claim_of_many_wins", "known", "9999-12-31")];
    let broken = Odd { waivers: waivers.clone(), ..Odd::with(Quirk::StorePanics) };
    assert_eq!(proved(broken, "A1.one_claim_of_many_wins"), Ok(()));
    let mended = Odd { waivers, ..Odd::default() };
    let said = proved(mended, "A1.one_claim_of_many_wins").unwrap_err();
    assert!(said.contains("no longer needed"), "{said}");
}

#[test]
fn a_waiver_of_no_case_fails_by_itself() {
    let odd = |case: &str| Odd { waivers: vec![Waiver::new(case, "known", "9999-12-31")], ..Odd::default() };
    prove_waivers(odd("A1.one_claim_of_many_wins"));
    for case in ["A1.no_such_case", "T1.absent_is_taken"] {
        assert!(catch_unwind(AssertUnwindSafe(|| prove_waivers(odd(case)))).is_err(), "{case}");
    }
}
