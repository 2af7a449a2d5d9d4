//! What a failing test shows.

use std::fmt::Write as _;
use std::panic::Location;

use crate::Violation;

/// Fails the poll with all that was seen in it.
pub(crate) fn fail(violations: &[Violation], place: &Location<'_>, when: &str) -> ! {
    panic!("{}", text(violations, place, when));
}

/// Says what blocked in a poll that panicked for another reason.
pub(crate) fn also_blocked(violations: &[Violation], place: &Location<'_>) {
    eprintln!("note: {}", text(violations, place, "in a poll that then panicked"));
}

fn text(violations: &[Violation], place: &Location<'_>, when: &str) -> String {
    let calls: usize = violations.iter().map(|violation| 1 + violation.more()).sum();
    let mut text = format!("blocking work {when} ({calls} {}):", if calls == 1 { "call" } else { "calls" });
    for (at, violation) in violations.iter().enumerate() {
        // Writing to a string can't fail.
        let _ = write!(text, "\n\n  {}. {violation}", at + 1);
    }
    let _ = write!(
        text,
        "\n\n  gated at {place}\n  A way out: spawn_blocking, an async API, or gate::allow(\"why it may\", || …).\n"
    );
    text
}
