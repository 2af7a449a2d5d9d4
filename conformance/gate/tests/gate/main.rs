//! What those who use the gate see of it.

mod allow;
mod common;
mod inside;
mod record;
mod settings;
mod strict;

use std::fs;

use leasehold_gate as gate;

use crate::common::needs_the_gate;

#[test]
fn many_threads_are_gated_at_once_and_each_sees_its_own() {
    needs_the_gate!();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            scope.spawn(move || {
                for round in 0..200 {
                    let reads = (thread + round) % 3;
                    let (_, violations) = gate::during(|| (0..reads).for_each(|_| drop(fs::metadata("/"))));
                    assert_eq!(violations.len(), reads);
                }
            });
        }
    });
}

#[test]
fn try_strict_and_require_agree_with_the_status() {
    let available = gate::status().is_available();
    assert_eq!(gate::require().is_ok(), available);
    assert_eq!(gate::try_strict(async {}).is_ok(), available);
}
