//! A gate that sees nothing passes every test, so each way of going blind has to be noticed.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::panic::catch_unwind;

use leasehold_gate as gate;
use leasehold_gate::canaries::{self, Finding};
use leasehold_gate::faults::{self, Fault};

/// What a gated closure on an engine with that fault panics with.
fn panic_under(fault: Fault) -> String {
    let result = catch_unwind(|| faults::with(fault, || gate::during(|| ())));
    let panic = result.expect_err("a blind gate must not go on");
    panic.downcast_ref::<String>().expect("a message").clone()
}

/// A fault that is over leaves nothing behind on its thread.
#[track_caller]
fn the_next_one_works() {
    let (_, violations) = gate::during(|| std::fs::metadata("/"));
    assert_eq!(violations.len(), 1);
    faults::self_test().expect("a sound engine");
}

fn gate_is_here() -> bool {
    gate::status().is_available() || {
        gate::during(|| ());
        false
    }
}

#[test]
fn a_gate_that_was_never_armed_is_noticed() {
    if !gate_is_here() {
        return;
    }
    let why = faults::with(Fault::NeverArmed, faults::self_test).expect_err("the canary did not trip");
    assert!(why.contains("was not seen"), "{why}");
    assert!(panic_under(Fault::NeverArmed).contains("the gate is blind"));
    the_next_one_works();
}

#[test]
fn a_gate_armed_on_the_wrong_thread_is_noticed() {
    if !gate_is_here() {
        return;
    }
    let why = faults::with(Fault::WrongThread, faults::self_test).expect_err("the canary did not trip");
    assert!(why.contains("was not seen"), "{why}");
    assert!(panic_under(Fault::WrongThread).contains("the gate is blind"));
    the_next_one_works();
}

#[test]
fn a_gate_left_armed_is_noticed_and_taken_down() {
    if !gate_is_here() {
        return;
    }
    let why = faults::with(Fault::LeftArmed, faults::self_test).expect_err("the canary did not trip");
    assert!(why.contains("still seen afterwards"), "{why}");
    assert!(panic_under(Fault::LeftArmed).contains("still seen afterwards"));
    the_next_one_works();
}

#[test]
fn the_self_test_notices_the_lost_row_of_its_own_canary() {
    if !gate_is_here() {
        return;
    }
    faults::self_test().expect("a sound engine");
    let pread = u64::from(gate::calls::find("pread64").expect("a row").number);
    let why = faults::with(Fault::LostRow(pread), faults::self_test).expect_err("the row is lost");
    assert!(why.contains("pread64"), "{why}");
}

/// For each row that a canary stands for, the canary fails without it. (For all the others see `rows.rs`.)
#[test]
fn canaries_notice_lost_rows() {
    if !gate_is_here() {
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    for canary in canaries::all() {
        let &[only] = canary.calls() else { continue };
        let number = u64::from(gate::calls::find(only).expect("canaries name calls of the table").number);
        let finding = faults::with(Fault::LostRow(number), || runtime.block_on(canary.inline()));
        assert!(matches!(finding, Finding::Wrong(_)), "{}: {finding:?}", canary.name());
    }
}

#[test]
fn a_fault_of_one_thread_is_its_own() {
    if !gate_is_here() {
        return;
    }
    faults::with(Fault::NeverArmed, || {
        std::thread::scope(|scope| {
            let elsewhere = scope.spawn(|| gate::during(|| std::fs::metadata("/")).1.len());
            assert_eq!(elsewhere.join().expect("the other thread is sound"), 1);
        });
    });
}
