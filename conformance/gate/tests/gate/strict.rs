//! `strict`: a future that panics when it blocks.

use std::panic::{AssertUnwindSafe, catch_unwind};

use leasehold_gate as gate;
use leasehold_gate::Settings;

use crate::common::{block_on, calls, message, needs_the_gate, reads_a_file};

#[tokio::test]
async fn an_honest_future_yields_its_output() {
    assert_eq!(gate::strict(async { 6 * 7 }).await, 42);
}

#[test]
fn a_blocking_poll_panics_with_a_report_that_tells_where() {
    needs_the_gate!();
    let gated = gate::strict(async { reads_a_file() });
    let panic = catch_unwind(AssertUnwindSafe(|| block_on(gated))).expect_err("it blocks");
    let text = message(panic);
    for part in
        ["blocking work", "openat", "/etc/hostname", "reads_a_file", "strict.rs", "spawn_blocking", "why: "]
    {
        assert!(text.contains(part), "no `{part}` in:\n{text}");
    }
    assert!(!text.contains("under_the_gate") && !text.contains("poll_and_drop"), "{text}");
    assert!(!text.contains("/library/std/"), "the standard library is trimmed away:\n{text}");
}

#[test]
fn the_panic_comes_when_the_work_is_done() {
    needs_the_gate!();
    let done = std::cell::Cell::new(false);
    let gated = gate::strict(async {
        reads_a_file();
        done.set(true);
    });
    catch_unwind(AssertUnwindSafe(|| block_on(gated))).expect_err("it blocks");
    assert!(done.get());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_spawned_task_fails_by_itself() {
    needs_the_gate!();
    let error = tokio::spawn(gate::strict(async { reads_a_file() })).await.expect_err("it blocks");
    assert!(message(error.into_panic()).contains("openat"));
}

#[test]
fn the_last_locals_are_dropped_under_the_gate() {
    needs_the_gate!();
    struct Reads;
    impl Drop for Reads {
        fn drop(&mut self) {
            reads_a_file();
        }
    }
    let held = Reads;
    let gated = gate::strict(async move {
        let _held = &held;
    });
    catch_unwind(AssertUnwindSafe(|| block_on(gated))).expect_err("the destructor blocks");
}

#[test]
fn an_unfinished_future_is_dropped_under_the_gate_unless_settings_say_otherwise() {
    needs_the_gate!();
    struct Reads;
    impl Drop for Reads {
        fn drop(&mut self) {
            reads_a_file();
        }
    }
    let unfinished = |settings: Settings| {
        let held = Reads;
        settings.strict(async move {
            let _held = held;
            std::future::pending::<()>().await;
        })
    };
    let gated = unfinished(Settings::new());
    let panic = catch_unwind(AssertUnwindSafe(|| drop(gated))).expect_err("the destructor blocks");
    assert!(message(panic).contains("being dropped"));
    drop(unfinished(Settings::new().gate_cancelled_drops(false)));
}

#[test]
fn a_future_that_failed_once_does_not_fail_again_when_dropped() {
    needs_the_gate!();
    struct Reads;
    impl Drop for Reads {
        fn drop(&mut self) {
            reads_a_file();
        }
    }
    let mut gated = Box::pin(gate::strict(async {
        let _held = Reads;
        reads_a_file();
        tokio::task::yield_now().await;
    }));
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    catch_unwind(AssertUnwindSafe(|| gated.as_mut().poll(&mut context).is_ready())).expect_err("it blocks");
    drop(gated);
}

#[test]
fn a_panic_of_the_future_goes_on_as_it_came_and_the_gate_is_down() {
    needs_the_gate!();
    let gated = gate::strict(async {
        reads_a_file();
        panic!("of its own");
    });
    let panic = catch_unwind(AssertUnwindSafe(|| block_on(gated))).expect_err("it panics");
    assert_eq!(message(panic), "of its own");
    assert!(!gate::inside());
    assert_eq!(calls(&gate::during(|| ()).1), [""; 0]);
}

#[test]
fn within_strict_the_outer_one_fails_too() {
    needs_the_gate!();
    let inner_panicked = std::cell::Cell::new(false);
    let gated = gate::strict(async {
        let inner = gate::strict(async { reads_a_file() });
        inner_panicked.set(catch_unwind(AssertUnwindSafe(|| block_here(inner))).is_err());
    });
    let panic = catch_unwind(AssertUnwindSafe(|| block_on(gated))).expect_err("it blocks");
    assert!(inner_panicked.get());
    assert!(message(panic).contains("openat"));
}

fn block_here<F: Future>(future: F) -> F::Output {
    let mut future = std::pin::pin!(future);
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    loop {
        if let std::task::Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
    }
}
