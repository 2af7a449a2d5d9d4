//! The contract and the cases say the same.

use std::collections::BTreeSet;

use leasehold_conformance::CASES;

/// The families of clauses that this kit has no cases for: what proves them instead stands in the document.
const ELSEWHERE: &str = "HKNDGZ";
/// The families of clauses for stores.
const STORES: &str = "TCRLIEFXSAPB";
/// The families that this build of the kit has cases for.
const PROVED: &str = if cfg!(feature = "facade") { "TCRLIEFXSAPBO" } else { STORES };

fn contract() -> String {
    std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/contract.md")).unwrap()
}

/// The clauses of these families that `text` names: a letter and a number.
fn clauses(text: &str, families: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric());
    let is_clause = |word: &&str| {
        let (letter, number) = word.split_at(1.min(word.len()));
        !letter.is_empty()
            && families.contains(letter)
            && !number.is_empty()
            && number.bytes().all(|b| b.is_ascii_digit())
    };
    words.filter(is_clause).map(str::to_owned).collect()
}

/// The part of the document under this heading, up to the next of its level.
fn section<'a>(text: &'a str, heading: &str) -> &'a str {
    let from = text.split(&format!("\n## {heading}\n")).nth(1).unwrap_or_else(|| panic!("no {heading}"));
    from.split("\n## ").next().unwrap()
}

/// The clauses for stores: those that begin a sentence of their section.
fn for_stores() -> BTreeSet<String> {
    clauses(section(&contract(), "Clauses for stores"), STORES)
}

/// Those that this build of the kit has cases for.
fn proved_here() -> BTreeSet<String> {
    let mut clauses_proved = for_stores();
    if cfg!(feature = "facade") {
        clauses_proved.extend(clauses(section(&contract(), "Clauses for the async facade"), "O"));
    }
    clauses_proved
}

#[test]
fn every_clause_that_is_proved_here_has_a_case() {
    let proved: BTreeSet<_> = CASES.iter().map(|case| case.clause().to_owned()).collect();
    let missing: Vec<_> = proved_here().into_iter().filter(|clause| !proved.contains(clause)).collect();
    assert_eq!(missing, Vec::<String>::new());
}

#[test]
fn every_case_is_of_a_clause_that_is_proved_here() {
    let known = proved_here();
    let strangers: Vec<_> =
        CASES.iter().filter(|case| !known.contains(case.clause())).map(|case| case.id).collect();
    assert_eq!(strangers, Vec::<&str>::new());
}

#[test]
fn the_clauses_of_each_family_are_numbered_without_a_gap() {
    for (heading, families) in [
        ("Clauses for stores", STORES),
        ("Clauses for the async facade", "O"),
        ("Clauses for the provider", "HKNDGZ"),
    ] {
        let text = contract();
        for family in families.chars().map(String::from) {
            let found = clauses(section(&text, heading), &family);
            let numbered: BTreeSet<_> = (1..=found.len()).map(|n| format!("{family}{n}")).collect();
            assert_eq!(found, numbered, "{heading}");
        }
    }
}

#[test]
fn what_the_kit_has_no_cases_for_is_said() {
    let text = contract();
    let proves = section(&text, "What proves what");
    for family in ELSEWHERE.chars() {
        let row = proves.lines().find(|line| line.contains(&format!("| {family} ")));
        let row = row.unwrap_or_else(|| panic!("{family} is not in the table"));
        assert!(row.contains("not yet in this kit"), "{row}");
    }
    for family in PROVED.chars() {
        let row = proves.lines().find(|line| line.contains(&format!("| {family} "))).unwrap();
        let tiers: BTreeSet<_> = CASES
            .iter()
            .filter(|case| case.clause().starts_with(family))
            .map(|case| case.tier.name().to_owned())
            .collect();
        let said: BTreeSet<_> =
            row.rsplit('|').nth(1).unwrap().split(',').map(|t| t.trim().to_owned()).collect();
        assert_eq!(said, tiers, "{row}");
    }
}

#[test]
fn every_case_has_a_name_of_its_own_a_rule_and_a_test_named_alike() {
    let names: BTreeSet<_> = CASES.iter().map(|case| case.id).collect();
    assert_eq!(names.len(), CASES.len());
    for case in CASES {
        assert!(!case.rule.is_empty() && !case.rule.ends_with('.'), "{}", case.id);
        assert_eq!(case.test, case.id.to_lowercase().replace('.', "_"));
        let (_, words) = case.id.split_once('.').unwrap();
        assert!(words.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'), "{}", case.id);
    }
}

#[test]
fn the_families_stand_together_in_the_list() {
    let mut families: Vec<_> = CASES.iter().map(|case| case.family()).collect();
    families.dedup();
    let distinct: BTreeSet<_> = families.iter().collect();
    assert_eq!(distinct.len(), families.len(), "{families:?}");
}

#[test]
fn a_store_in_memory_meets_at_least_sixty_cases_of_the_core_tier() {
    let core = CASES.iter().filter(|case| case.tier == leasehold_conformance::case::Tier::Core);
    assert!(core.filter(|case| case.needs.is_empty()).count() >= 60);
}
