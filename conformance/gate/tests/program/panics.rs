//! Panics within a poll.

use std::panic::catch_unwind;

use leasehold_gate::during;

use crate::alone::{alone, calls};

/// The child runs with `RUST_BACKTRACE=1`, so the panic's hook opens and maps this program's own file.
#[test]
fn the_hook_may_read_debug_information_and_the_gate_is_up_afterwards() {
    alone("panics::the_hook_may_read_debug_information_and_the_gate_is_up_afterwards", || {
        let (_, violations) = during(|| {
            let _ = catch_unwind(|| panic!("caught within the poll"));
            std::fs::metadata("/")
        });
        assert_eq!(calls(&violations), ["statx"]);
    });
}

/// Capturing a backtrace takes the standard library's lock for it and opens files under it, so the gate must not take
/// that lock when it notes such a call.
#[test]
fn a_backtrace_captured_within_a_poll_is_reported_and_does_not_hang() {
    alone("panics::a_backtrace_captured_within_a_poll_is_reported_and_does_not_hang", || {
        let (text, violations) = during(|| std::backtrace::Backtrace::force_capture().to_string());
        assert!(text.contains("panics"));
        assert!(calls(&violations).contains(&"openat"), "{violations:?}");
    });
}
