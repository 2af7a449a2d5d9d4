//! `record`: a future that tells what blocked.

use std::fs;
use std::time::Duration;

use leasehold_gate as gate;

use crate::common::{block_on, calls, needs_the_gate, reads_a_file};

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
            .any(|frame| frame.file.as_ref().is_some_and(|f| f.ends_with("tests/gate/record.rs")))
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

#[test]
fn what_a_finished_future_held_is_dropped_under_the_gate() {
    needs_the_gate!();
    struct Reads;
    impl Drop for Reads {
        fn drop(&mut self) {
            reads_a_file();
        }
    }
    let held = Reads;
    // A future by hand keeps what it holds until it is itself dropped.
    let future = std::future::poll_fn(move |_| {
        let _ = &held;
        std::task::Poll::Ready(())
    });
    let (_, violations) = block_on(gate::record(future));
    assert_eq!(calls(&violations).first(), Some(&"openat"));
}
