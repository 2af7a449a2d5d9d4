//! The guide says of each call what the table says.

use std::fs;

use leasehold_gate::calls::{self, Class};

/// The guide's lines of the table of classes; none where this crate was taken out of its repository.
fn guide() -> Option<String> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/blocking-gate.md");
    match fs::read_to_string(path) {
        Ok(text) => Some(text),
        Err(_) => {
            eprintln!("not run: this crate stands outside its repository, where the guide is");
            None
        }
    }
}

#[test]
fn the_guide_lists_each_call_in_the_line_of_its_class_and_no_other() {
    let Some(guide) = guide() else { return };
    for row in calls::table() {
        let name = format!("`{}`", row.name);
        let lines: Vec<_> = guide
            .lines()
            .filter_map(|line| line.strip_prefix("| ")?.split_once(" | "))
            .filter(|(_, rest)| rest.split(" | ").nth(1).is_some_and(|calls| calls.contains(&name)))
            .map(|(label, _)| label)
            .filter(|label| !label.contains('`'))
            .collect();
        let wanted: &[&str] = if row.class == Class::Benign { &[] } else { &[row.class.label()] };
        assert_eq!(lines, wanted, "{}", row.name);
    }
}

#[test]
fn the_guide_counts_the_benign_calls() {
    let Some(guide) = guide() else { return };
    let benign = calls::table().iter().filter(|row| row.class == Class::Benign).count();
    assert!(guide.contains(&format!("| benign | never | {benign} more")), "there are {benign}");
}
