//! The kit for backends can fail: every planted fault is caught by the case that must catch it, and no case is there for
//! nothing. That the model itself passes is `backend.rs`.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::thread;

use leasehold_conformance::backend::faulty::{Fault, FaultyHarness};
use leasehold_conformance::backend::{BackendCase, BackendHarness, CASES, run_case};
use leasehold_conformance::{Options, Verdict};

fn case(id: &str) -> &'static BackendCase {
    CASES.iter().find(|case| case.id == id).unwrap_or_else(|| panic!("there is no case {id}"))
}

/// What the case that must catch it says of this fault.
fn verdict(fault: Fault) -> Verdict {
    let harness: Arc<dyn BackendHarness> = Arc::new(FaultyHarness::new(fault));
    run_case(&harness, case(fault.case()), &Options::default())
}

#[test]
fn every_fault_is_caught_by_the_case_that_must_catch_it() {
    // A few at a time, since some faults hang for as long as a case has patience.
    let escaped: Vec<String> = thread::scope(|scope| {
        let parts: Vec<_> = Fault::ALL.chunks(Fault::ALL.len().div_ceil(8)).collect();
        let judge = |part: &'static [Fault]| {
            let judged = part.iter().map(|fault| (*fault, verdict(*fault)));
            let escaped = judged.filter(|(_, verdict)| !matches!(verdict, Verdict::Failed { .. }));
            escaped
                .map(|(fault, verdict)| format!("{fault}: {}: {verdict:?}", fault.case()))
                .collect::<Vec<_>>()
        };
        let threads: Vec<_> = parts.into_iter().map(|part| scope.spawn(move || judge(part))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert!(escaped.is_empty(), "{}", escaped.join("\n"));
}

#[test]
fn every_case_is_there_for_a_fault() {
    let needed: BTreeSet<_> = Fault::ALL.iter().map(|fault| fault.case()).collect();
    let idle: Vec<_> = CASES.iter().map(|case| case.id).filter(|id| !needed.contains(id)).collect();
    assert!(idle.is_empty(), "no fault is planted for {idle:?}");
}

#[test]
fn every_case_has_a_name_of_its_own_a_rule_and_a_test_named_alike() {
    let ids: BTreeSet<_> = CASES.iter().map(|case| case.id).collect();
    assert_eq!(ids.len(), CASES.len());
    for case in CASES {
        assert_eq!(case.test, case.id.replacen('.', "_", 1), "{}", case.id);
        assert!(!case.rule.is_empty(), "{}", case.id);
    }
}
