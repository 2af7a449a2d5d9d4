//! The contract and the cases say the same.

use std::collections::BTreeSet;

use leasehold_conformance::CASES;

/// The clauses that `docs/contract.md` has for stores: a letter and a number at the start of a sentence there.
fn clauses() -> BTreeSet<String> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/contract.md");
    let text = std::fs::read_to_string(path).unwrap();
    let stores = text.split("## Clauses for stores").nth(1).unwrap();
    let stores = stores.split("## Clauses for the async facade").next().unwrap();
    let words = stores.split(|c: char| !c.is_ascii_alphanumeric());
    let is_clause = |word: &&str| {
        let (letter, number) = word.split_at(1.min(word.len()));
        "TCRLIEFXSAPB".contains(letter) && !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit())
    };
    words.filter(|word| !word.is_empty()).filter(is_clause).map(str::to_owned).collect()
}

/// What this version of the kit leaves to the stores' own tests, and why.
const ELSEWHERE: &[&str] = &[
    // A killed process' leases: each store kills its own children, since only its tests know where to strike.
    "P2",
];

#[test]
fn every_clause_for_stores_has_a_case() {
    let proved: BTreeSet<_> = CASES.iter().map(|case| case.clause().to_owned()).collect();
    let missing: Vec<_> = clauses().into_iter().filter(|clause| !proved.contains(clause)).collect();
    assert_eq!(missing, ELSEWHERE);
}

#[test]
fn every_case_is_of_a_clause() {
    let known = clauses();
    let strangers: Vec<_> =
        CASES.iter().filter(|case| !known.contains(case.clause())).map(|case| case.id).collect();
    assert_eq!(strangers, Vec::<&str>::new());
}

#[test]
fn every_case_has_a_name_of_its_own_and_a_rule() {
    let names: BTreeSet<_> = CASES.iter().map(|case| case.id).collect();
    assert_eq!(names.len(), CASES.len());
    assert!(CASES.iter().all(|case| !case.rule.is_empty() && !case.rule.ends_with('.')));
}
