//! What those who use the gate see of it.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use leasehold_gate as gate;
use leasehold_gate::{ProcessSpawn, Settings};

/// Without the gate its own tests are not run, and say so.
macro_rules! needs_the_gate {
    () => {
        if !gate::status().is_available() {
            gate::during(|| ());
            return;
        }
    };
}

fn message(panic: Box<dyn std::any::Any + Send>) -> String {
    match panic.downcast::<String>() {
        Ok(text) => *text,
        Err(panic) => (*panic.downcast::<&str>().expect("a panic with a message")).to_owned(),
    }
}

fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime").block_on(future)
}

fn calls(violations: &[gate::Violation]) -> Vec<&str> {
    violations.iter().map(gate::Violation::call).collect()
}

/// A function whose name a backtrace has to show.
#[inline(never)]
fn reads_a_file() -> usize {
    let length = fs::read("/etc/hostname").map_or(0, |bytes| bytes.len());
    std::hint::black_box(length)
}

mod strict {
    use super::*;

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
            ["blocking work", "openat", "/etc/hostname", "reads_a_file", "gate.rs", "spawn_blocking", "why: "]
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
        let mut gated = Box::pin(gate::strict(async {
            reads_a_file();
            tokio::task::yield_now().await;
        }));
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        catch_unwind(AssertUnwindSafe(|| gated.as_mut().poll(&mut context).is_ready()))
            .expect_err("it blocks");
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
}

mod record {
    use super::*;

    #[test]
    fn it_yields_the_output_and_every_call_in_order_over_all_polls() {
        needs_the_gate!();
        let (output, violations) = block_on(gate::record(async {
            fs::create_dir("/etc/hostname/x").expect_err("not a directory");
            tokio::task::yield_now().await;
            fs::metadata("/etc/hostname").expect("the file is there");
            "output"
        }));
        assert_eq!(output, "output");
        assert_eq!(calls(&violations), ["mkdir", "statx"]);
        assert_eq!(violations[0].target(), Some("/etc/hostname/x"));
        assert!(
            violations[1]
                .backtrace()
                .iter()
                .any(|frame| frame.file.as_ref().is_some_and(|f| f.ends_with("tests/gate.rs")))
        );
    }

    #[test]
    fn a_violation_tells_its_thread_its_time_and_its_target() {
        needs_the_gate!();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let seen = std::thread::Builder::new().name("the-poller".to_owned()).spawn(move || {
            let (_, violations) = gate::during(|| {
                #[expect(clippy::disallowed_methods, reason = "the sleep is what has to be seen")]
                std::thread::sleep(Duration::from_millis(20));
                drop(std::net::TcpStream::connect(address));
            });
            violations
        });
        let violations = seen.expect("a thread").join().expect("no panic");
        assert_eq!(calls(&violations), ["clock_nanosleep", "connect"]);
        assert_eq!(violations[0].thread(), Some("the-poller"));
        assert_eq!(violations[0].target(), Some("for 20ms"));
        assert!(violations[0].duration().is_some_and(|took| took >= Duration::from_millis(20)));
        assert_eq!(violations[1].target(), Some(address.to_string().as_str()));
    }

    #[test]
    fn a_descriptor_is_told_by_what_it_is() {
        needs_the_gate!();
        let file = fs::File::open("/etc/hostname").expect("a file");
        let (mut near, far) = std::os::unix::net::UnixStream::pair().expect("a pair");
        let (_, violations) = gate::during(|| {
            let _ = std::io::Read::read(&mut &file, &mut [0; 1]);
            let _ = std::io::Write::write(&mut near, b"x");
        });
        drop(far);
        assert!(violations[0].target().is_some_and(|target| target.ends_with("hostname")), "{violations:?}");
        assert_eq!(violations[1].target(), Some("socket to unix (unnamed)"));
    }

    #[test]
    fn more_than_fits_is_counted() {
        needs_the_gate!();
        let (_, violations) = gate::during(|| (0..100).for_each(|_| drop(fs::metadata("/"))));
        let last = violations.last().expect("some");
        assert_eq!(violations.len() + last.more(), 100);
        assert!(last.to_string().contains("more calls in the same poll"));
    }

    #[test]
    fn what_an_inner_gate_saw_the_outer_one_saw_too() {
        needs_the_gate!();
        let ((_, inner), outer) = gate::during(|| gate::during(|| fs::metadata("/")));
        assert_eq!((inner.len(), outer.len()), (1, 1));
    }

    #[test]
    fn a_runtime_within_a_poll_is_gated_where_it_shares_the_thread() {
        needs_the_gate!();
        let (_, violations) = gate::during(|| {
            let runtime = gate::allow("making a runtime is not what this is about", || {
                tokio::runtime::Builder::new_current_thread().build().expect("a runtime")
            });
            runtime.block_on(async { reads_a_file() });
            let handle = gate::allow("nor is a thread's end", || {
                std::thread::scope(|scope| scope.spawn(|| runtime.block_on(async { reads_a_file() })).join())
            });
            assert!(handle.expect("no panic") > 0);
            gate::allow("nor is its end", || drop(runtime));
        });
        assert_eq!(calls(&violations).iter().filter(|call| **call == "openat").count(), 1, "{violations:?}");
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn each_poll_of_a_wandering_task_is_seen_and_nothing_else() {
        needs_the_gate!();
        let task = |reads: bool| {
            tokio::spawn(gate::record(async move {
                for _ in 0..100 {
                    if reads {
                        let _ = fs::metadata("/");
                    }
                    tokio::task::yield_now().await;
                }
            }))
        };
        let tasks: Vec<_> = (0..16).map(|at| (at % 2 == 0, task(at % 2 == 0))).collect();
        for (reads, task) in tasks {
            let ((), violations) = task.await.expect("no panic");
            assert_eq!(violations.len(), if reads { 100 } else { 0 });
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn block_in_place_is_the_same_poll_and_is_reported() {
        needs_the_gate!();
        let task = tokio::spawn(gate::record(async { tokio::task::block_in_place(reads_a_file) }));
        let (_, violations) = task.await.expect("no panic");
        assert!(calls(&violations).contains(&"openat"), "{violations:?}");
    }
}

mod allow {
    use super::*;

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
}

mod settings {
    use super::*;

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
}

mod inside {
    use super::*;

    #[test]
    fn it_is_true_in_a_gated_poll_alone() {
        assert!(!gate::inside());
        assert!(gate::during(gate::inside).0);
        assert!(!gate::inside());
        let elsewhere = || std::thread::scope(|scope| scope.spawn(gate::inside).join().expect("no panic"));
        let (elsewhere, _) = gate::during(elsewhere);
        assert!(!elsewhere, "another thread is in no poll");
    }

    #[test]
    fn it_is_false_where_the_poll_is_excused() {
        assert!(!gate::during(|| gate::allow("tried", gate::inside)).0);
    }
}

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
