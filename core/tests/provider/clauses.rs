//! Every clause for the provider has a test of its name.

use std::collections::BTreeSet;
use std::path::Path;

const FAMILIES: &str = "HKNDGZ";

/// The clauses that the contract's section for the provider names.
fn clauses() -> BTreeSet<String> {
    let text = include_str!("../../../docs/contract.md");
    let section = text.split("\n## Clauses for the provider\n").nth(1).expect("the section is there");
    let section = section.split("\n## ").next().unwrap();
    let words = section.split(|c: char| !c.is_ascii_alphanumeric());
    let is_clause = |word: &&str| {
        word.chars().next().is_some_and(|family| FAMILIES.contains(family))
            && word.len() > 1
            && word[1..].bytes().all(|b| b.is_ascii_digit())
    };
    words.filter(is_clause).map(str::to_lowercase).collect()
}

/// The names of the tests beside this one: functions that follow a test's attribute.
fn tests() -> Vec<String> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/provider");
    let mut names = Vec::new();
    for file in std::fs::read_dir(here).unwrap() {
        let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
        let mut lines = text.lines().peekable();
        while let Some(line) = lines.next() {
            if !matches!(line, "#[tokio::test]" | "#[test]") {
                continue;
            }
            let next = lines.peek().and_then(|next| next.split_once("fn ")).map(|(_, name)| name);
            names.push(next.and_then(|name| name.split('(').next()).unwrap_or_default().to_owned());
        }
    }
    names
}

/// The clause that a test is named after.
fn clause(test: &str) -> Option<&str> {
    let (clause, _) = test.split_once('_')?;
    let (family, number) = clause.split_at_checked(1)?;
    let counts = FAMILIES.to_lowercase().contains(family) && !number.is_empty();
    (counts && number.bytes().all(|b| b.is_ascii_digit())).then_some(clause)
}

#[test]
fn every_clause_for_the_provider_has_a_test_named_after_it() {
    let (clauses, tests) = (clauses(), tests());
    assert!(clauses.len() >= 40, "{clauses:?}");
    let proved: BTreeSet<_> = tests.iter().filter_map(|test| clause(test)).collect();
    let missing: Vec<_> = clauses.iter().filter(|clause| !proved.contains(clause.as_str())).collect();
    assert_eq!(missing, Vec::<&String>::new());
}

#[test]
fn no_test_is_named_after_a_clause_that_there_is_not() {
    let (clauses, tests) = (clauses(), tests());
    let strangers: Vec<_> =
        tests.iter().filter(|test| clause(test).is_some_and(|clause| !clauses.contains(clause))).collect();
    assert_eq!(strangers, Vec::<&String>::new());
}
