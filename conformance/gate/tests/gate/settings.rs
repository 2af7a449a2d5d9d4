//! `Settings`: what counts.

use std::fs;
use std::time::Duration;

use leasehold_gate as gate;
use leasehold_gate::{ProcessSpawn, Settings};

use crate::common::{block_on, calls, needs_the_gate};

#[test]
fn a_name_that_is_no_system_calls_is_an_error() {
    let error = Settings::new().allow_calls("a typo", ["fsync", "fread"]).expect_err("no such call");
    assert_eq!(error.name(), "fread");
}

#[test]
#[should_panic(expected = "wants a reason")]
fn an_allow_list_wants_a_reason() {
    let _ = Settings::new().allow_calls("", ["fsync"]);
}

#[test]
fn an_allowed_call_passes_and_others_do_not() {
    needs_the_gate!();
    let settings = Settings::new().allow_calls("tried", ["statx"]).expect("a call");
    let (_, violations) = settings.during(|| (fs::metadata("/"), fs::read_link("/")));
    assert_eq!(calls(&violations), ["readlink"]);
}

#[test]
fn output_is_reported_on_demand() {
    needs_the_gate!();
    // Not `eprintln!`, which the test harness keeps away from the descriptor.
    let say = || std::io::Write::write_all(&mut std::io::stderr(), b"\n");
    assert_eq!(calls(&Settings::new().report_stdio(true).during(say).1), ["write"]);
    assert_eq!(calls(&gate::during(say).1), [""; 0]);
}

#[test]
fn lock_waits_are_reported_on_demand_and_by_their_time() {
    needs_the_gate!();
    let contended = |settings: Settings| {
        let lock = std::sync::Mutex::new(());
        let barrier = std::sync::Barrier::new(2);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let held = lock.lock().expect("no panic");
                barrier.wait();
                #[expect(clippy::disallowed_methods, reason = "the other thread has to wait for real")]
                std::thread::sleep(Duration::from_millis(50));
                drop(held);
            });
            barrier.wait();
            settings.during(|| drop(lock.lock().expect("no panic"))).1
        })
    };
    assert_eq!(calls(&contended(Settings::new())), [""; 0]);
    let reported = contended(Settings::new().report_lock_waits(Duration::from_millis(5)));
    assert_eq!(calls(&reported), ["futex"]);
    assert!(reported[0].duration().is_some_and(|took| took >= Duration::from_millis(5)));
    assert_eq!(calls(&contended(Settings::new().report_lock_waits(Duration::from_secs(60)))), [""; 0]);
}

#[test]
fn a_process_is_reported_as_told() {
    needs_the_gate!();
    let start = |settings: Settings| {
        let (child, violations) = settings.during(|| std::process::Command::new("true").spawn());
        child.expect("a child").wait().expect("it ends");
        violations
    };
    assert_eq!(start(Settings::new()).len(), 1);
    assert_eq!(start(Settings::new().process_spawn(ProcessSpawn::Report)).len(), 1);
    assert_eq!(start(Settings::new().process_spawn(ProcessSpawn::Allow)).len(), 0);
}

#[test]
fn an_async_process_is_reported_only_when_told() {
    needs_the_gate!();
    let start = |settings: Settings| {
        let (output, violations) =
            block_on(settings.record(async { tokio::process::Command::new("true").output().await }));
        output.expect("it runs");
        violations
    };
    assert_eq!(start(Settings::new()).len(), 0);
    assert_eq!(start(Settings::new().process_spawn(ProcessSpawn::Report)).len(), 1);
}

#[test]
fn an_inner_gates_settings_end_with_it() {
    needs_the_gate!();
    let (_, violations) = gate::during(|| {
        let inner = Settings::new().allow_calls("tried", ["statx"]).expect("a call");
        let (_, inner) = inner.during(|| fs::metadata("/"));
        assert_eq!(calls(&inner), [""; 0]);
        fs::metadata("/")
    });
    assert_eq!(calls(&violations), ["statx"]);
}
