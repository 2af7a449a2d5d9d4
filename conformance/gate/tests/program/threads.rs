//! Threads that are started within a poll.

use std::thread::Builder;

use leasehold_gate::{during, inside};

use crate::alone::{alone, calls};

#[test]
fn a_thread_is_born_ungated_and_its_maker_stays_gated() {
    alone("threads::a_thread_is_born_ungated_and_its_maker_stays_gated", || {
        let (results, violations) = during(|| {
            let thread = Builder::new()
                .spawn(|| (inside(), std::fs::read_dir("/").map(Iterator::count).is_ok()))
                .expect("a thread");
            let right_after = std::fs::metadata("/").is_ok();
            (thread.join().expect("no panic"), right_after)
        });
        assert_eq!(results, ((false, true), true));
        assert_eq!(calls(&violations), ["statx"]);
    });
}

#[test]
fn threads_may_be_made_by_many_gated_threads_at_once() {
    alone("threads::threads_may_be_made_by_many_gated_threads_at_once", || {
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        let (sum, violations) = during(|| {
                            let made: Vec<_> = (0..4)
                                .map(|at| Builder::new().spawn(move || at * 2).expect("a thread"))
                                .collect();
                            let _ = std::fs::metadata("/");
                            made.into_iter().map(|thread| thread.join().expect("no panic")).sum::<i32>()
                        });
                        assert_eq!((sum, calls(&violations)), (12, vec!["statx"]));
                    }
                });
            }
        });
    });
}

#[test]
fn a_thread_made_within_a_poll_has_the_mask_of_its_maker() {
    alone("threads::a_thread_made_within_a_poll_has_the_mask_of_its_maker", || {
        let (blocked, _) = during(|| {
            // SAFETY: the sets are live and written before they are read.
            unsafe {
                let mut set = std::mem::zeroed();
                libc::sigemptyset(&raw mut set);
                libc::sigaddset(&raw mut set, libc::SIGUSR2);
                libc::sigaddset(&raw mut set, libc::SIGSYS);
                libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
            }
            let thread = Builder::new().spawn(|| {
                // SAFETY: as above.
                unsafe {
                    let mut now = std::mem::zeroed();
                    libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), &raw mut now);
                    [libc::SIGUSR1, libc::SIGUSR2, libc::SIGSYS]
                        .map(|signal| libc::sigismember(&raw const now, signal))
                }
            });
            thread.expect("a thread").join().expect("no panic")
        });
        assert_eq!(blocked, [0, 1, 1]);
    });
}
