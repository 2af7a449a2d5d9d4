//! Where the kernel refuses, as old ones and some containers do.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use leasehold_gate::{self as gate, Status};

use crate::alone::{alone, alone_and_saying};
use crate::seccomp;

const SWITCH: u32 = 59;

/// Before the gate is first asked for.
fn refuse() {
    seccomp::filter(libc::SYS_prctl, Some(SWITCH), libc::SECCOMP_RET_ERRNO | libc::EINVAL as u32);
    // SAFETY: this process runs one test, so nobody else reads the environment.
    unsafe { std::env::remove_var("LEASEHOLD_REQUIRE") };
}

fn poll_once<F: Future>(future: F) -> Poll<F::Output> {
    pin!(future).poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn it_says_why() {
    alone("unavailable::it_says_why", || {
        refuse();
        let Status::Unavailable(why) = gate::status() else { panic!("the kernel refused") };
        assert!(why.to_string().contains("refused"), "{why}");
        assert!(gate::require().is_err());
        assert!(gate::try_strict(async {}).is_err());
    });
}

#[test]
fn it_says_not_run_once_and_polls_ungated() {
    alone_and_saying(
        "not run: the blocking gate is unavailable",
        "unavailable::it_says_not_run_once_and_polls_ungated",
        || {
            refuse();
            for _ in 0..3 {
                let poll = poll_once(gate::strict(async {
                    assert!(gate::inside(), "probes may still ask");
                    std::fs::metadata("/").is_ok()
                }));
                assert_eq!(poll, Poll::Ready(true));
            }
            assert!(gate::during(|| std::fs::metadata("/")).1.is_empty());
            assert!(gate::allow("nothing to suspend", || !gate::inside()));
        },
    );
}

#[test]
fn it_panics_where_it_is_required() {
    alone("unavailable::it_panics_where_it_is_required", || {
        refuse();
        // SAFETY: this process runs one test, so nobody else reads the environment.
        unsafe { std::env::set_var("LEASEHOLD_REQUIRE", "docker,gate") };
        let gated = catch_unwind(|| drop(gate::strict(async {})));
        assert!(gated.is_err());
        let recorded = catch_unwind(|| drop(gate::record(async {})));
        assert!(recorded.is_err());
        let during = catch_unwind(AssertUnwindSafe(|| gate::during(|| ())));
        assert!(during.is_err());
    });
}

#[test]
fn the_canaries_are_not_run_and_that_is_not_sound() {
    alone("unavailable::the_canaries_are_not_run_and_that_is_not_sound", || {
        refuse();
        let report = gate::canaries::run_all();
        assert_eq!((report.tripped, report.not_run.len(), report.failures.len()), (0, 1, 0));
        assert!(!report.is_sound());
    });
}

/// The switch is there, but on a later thread it is refused: a gate that was sound and no longer is.
#[test]
fn a_thread_that_is_refused_later_is_blind_and_says_so() {
    alone("unavailable::a_thread_that_is_refused_later_is_blind_and_says_so", || {
        assert!(gate::status().is_available());
        seccomp::filter(libc::SYS_prctl, Some(SWITCH), libc::SECCOMP_RET_ERRNO | libc::EINVAL as u32);
        let panic = catch_unwind(AssertUnwindSafe(|| gate::during(|| ()))).expect_err("it can't look");
        let text = panic.downcast_ref::<String>().expect("a message");
        assert!(text.contains("the gate is blind") && text.contains("refused"), "{text}");
    });
}
