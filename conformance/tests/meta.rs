//! The kit can fail: every planted fault is caught by the case that must catch it, no case is there for nothing, and the
//! faultless models pass.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use leasehold_conformance::CASES;
use leasehold_conformance::case::Case;
use leasehold_conformance::children::{Again, asked_for, serve};
use leasehold_conformance::meta::matrix::{self, Matrix};
use leasehold_conformance::meta::{Fault, FaultyHarness, snapshot};

/// The matrix takes seconds, so all tests look at one.
fn matrix() -> &'static Matrix {
    static MATRIX: OnceLock<Matrix> = OnceLock::new();
    MATRIX
        .get_or_init(|| matrix::run(&Again::test(module_path!(), "entry_of_child_processes"), &mut |_, _| {}))
}

/// Returns at once, unless a case about other processes started this program as a child of itself.
#[test]
fn entry_of_child_processes() {
    if let Some(name) = asked_for() {
        serve(&FaultyHarness::named(&name).expect("the parent names a faulty store"));
    }
}

#[test]
fn every_fault_is_caught_by_the_case_that_must_catch_it() {
    let escaped: Vec<_> = matrix().rows.iter().filter(|row| !row.is_caught()).map(|row| row.fault).collect();
    assert_eq!(escaped, Vec::<Fault>::new());
    assert_eq!(matrix().rows.iter().map(|row| row.fault).collect::<Vec<_>>(), Fault::ALL);
}

#[test]
fn there_is_nothing_wrong_with_the_kit_as_it_is() {
    assert_eq!(matrix().findings(CASES), Vec::<String>::new());
}

#[test]
fn without_any_one_of_its_cases_something_is_wrong_with_the_kit() {
    for removed in matrix::cases() {
        let rest: Vec<Case> = CASES.iter().copied().filter(|case| case.id != removed.id).collect();
        assert_eq!(rest.len(), CASES.len() - 1, "one case was removed");
        let findings = matrix().findings(&rest);
        let said = findings.iter().any(|finding| finding.starts_with(removed.id));
        assert!(said, "nobody misses {}: {findings:?}", removed.id);
    }
}

#[test]
fn a_case_that_no_fault_names_is_a_finding() {
    let one_more = Case { id: "T9.new", ..CASES[0] };
    let cases: Vec<Case> = CASES.iter().copied().chain([one_more]).collect();
    assert_eq!(matrix().findings(&cases), ["no fault is planted for T9.new"]);
}

#[test]
fn a_fault_that_escapes_and_a_case_that_alarms_are_findings() {
    let mut worse = matrix().clone();
    let fault = worse.rows[0].fault;
    worse.rows[0].caught_by.clear();
    worse.false_alarms.push("T1: it alarms".to_owned());
    worse.unproved.push((CASES[0].id, "no child".to_owned()));
    let findings = worse.findings(CASES);
    assert_eq!(findings.len(), 3, "{findings:?}");
    assert!(findings.iter().any(|finding| finding.contains(&fault.to_string())));
    assert_eq!(worse.caught(), Fault::ALL.len() - 1);
}

#[test]
fn names_are_unique_and_lead_back_to_their_faults() {
    let names: BTreeSet<_> = Fault::ALL.iter().map(|fault| fault.name()).collect();
    assert_eq!(names.len(), Fault::ALL.len());
    assert!(Fault::ALL.iter().all(|fault| Fault::named(fault.name()) == Some(*fault)));
}

#[test]
fn the_matrix_is_the_committed_one() {
    let differences = snapshot::differences(matrix());
    let lines = differences.join("\n");
    assert!(differences.is_empty(), "the matrix has changed:\n{lines}\n{}", snapshot::HOW_TO_BLESS);
}
