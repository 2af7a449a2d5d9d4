//! `allow`: work that may block.

use std::fs;
use std::panic::catch_unwind;

use leasehold_gate as gate;

use crate::common::{calls, needs_the_gate, reads_a_file};

#[test]
fn what_is_allowed_passes_and_what_follows_does_not() {
    needs_the_gate!();
    let (_, violations) = gate::during(|| {
        gate::allow("tried", reads_a_file);
        fs::metadata("/")
    });
    assert_eq!(calls(&violations), ["statx"]);
}

#[test]
#[should_panic(expected = "wants a reason")]
fn it_wants_a_reason() {
    gate::allow("  ", || ());
}

#[test]
fn a_panic_within_brings_the_gate_back() {
    needs_the_gate!();
    let (_, violations) = gate::during(|| {
        let _ = catch_unwind(|| gate::allow("tried", || panic!("within")));
        fs::metadata("/")
    });
    assert_eq!(calls(&violations), ["statx"]);
}

#[test]
fn outside_a_poll_it_only_runs() {
    assert_eq!(gate::allow("nothing to allow", || 1), 1);
}

#[test]
fn a_gated_future_within_is_gated() {
    needs_the_gate!();
    let ((inner, outer_part), outer) = gate::during(|| {
        gate::allow("the inner one looks by itself", || {
            let (_, inner) = gate::during(|| fs::metadata("/"));
            (inner, fs::metadata("/"))
        })
    });
    assert_eq!(inner.len(), 1);
    assert!(outer_part.is_ok());
    assert_eq!(outer.len(), 1, "the inner poll lies within the outer one");
}
