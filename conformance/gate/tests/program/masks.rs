//! Signal masks.

use std::mem::MaybeUninit;

use leasehold_gate::{allow, during};

use crate::alone::{alone, calls};

fn all() -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: sigfillset writes the whole set.
    unsafe {
        libc::sigfillset(set.as_mut_ptr());
        set.assume_init()
    }
}

/// Changes the thread's mask and returns the one before.
fn change(how: libc::c_int, set: &libc::sigset_t) -> libc::sigset_t {
    let mut before = MaybeUninit::uninit();
    // SAFETY: both sets are live, and the call writes the second.
    unsafe {
        assert_eq!(libc::pthread_sigmask(how, set, before.as_mut_ptr()), 0);
        before.assume_init()
    }
}

fn empty() -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: sigemptyset writes the whole set.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        set.assume_init()
    }
}

fn now() -> libc::sigset_t {
    change(libc::SIG_BLOCK, &empty())
}

fn holds(set: &libc::sigset_t, signal: libc::c_int) -> bool {
    // SAFETY: the set is live.
    unsafe { libc::sigismember(set, signal) == 1 }
}

#[test]
fn blocking_every_signal_within_a_poll_neither_kills_nor_blinds() {
    alone("masks::blocking_every_signal_within_a_poll_neither_kills_nor_blinds", || {
        let (seen, violations) = during(|| {
            let before = change(libc::SIG_SETMASK, &all());
            let _ = std::fs::metadata("/");
            let blocked = now();
            let after = change(libc::SIG_SETMASK, &before);
            [before, blocked, after, now()].map(|set| (holds(&set, libc::SIGSYS), holds(&set, libc::SIGTERM)))
        });
        assert_eq!(seen, [(false, false), (true, true), (true, true), (false, false)]);
        assert_eq!(calls(&violations), ["statx"]);
    });
}

#[test]
fn a_mask_set_within_a_poll_is_there_afterwards() {
    alone("masks::a_mask_set_within_a_poll_is_there_afterwards", || {
        during(|| change(libc::SIG_BLOCK, &all()));
        assert!(holds(&now(), libc::SIGSYS) && holds(&now(), libc::SIGUSR1));
        during(|| change(libc::SIG_UNBLOCK, &all()));
        assert!(!holds(&now(), libc::SIGSYS) && !holds(&now(), libc::SIGUSR1));
    });
}

#[test]
fn a_thread_that_blocks_sigsys_can_be_gated_and_keeps_its_mask() {
    alone("masks::a_thread_that_blocks_sigsys_can_be_gated_and_keeps_its_mask", || {
        change(libc::SIG_SETMASK, &all());
        let (within, violations) = during(|| {
            let _ = std::fs::metadata("/");
            now()
        });
        assert!(holds(&within, libc::SIGSYS) && holds(&now(), libc::SIGSYS));
        assert_eq!(calls(&violations), ["statx"]);
    });
}

#[test]
fn a_poll_within_a_poll_leaves_the_mask_alone() {
    alone("masks::a_poll_within_a_poll_leaves_the_mask_alone", || {
        let (seen, _) = during(|| {
            change(libc::SIG_SETMASK, &all());
            let (within, _) = during(now);
            [within, now()].map(|set| holds(&set, libc::SIGSYS))
        });
        assert_eq!(seen, [true, true]);
        assert!(holds(&now(), libc::SIGSYS));
    });
}

#[test]
fn what_is_allowed_sees_and_sets_the_true_mask() {
    alone("masks::what_is_allowed_sees_and_sets_the_true_mask", || {
        change(libc::SIG_SETMASK, &all());
        let (seen, violations) = during(|| {
            let first = allow("looks at the mask", || {
                let seen = now();
                change(libc::SIG_SETMASK, &empty());
                seen
            });
            let second = now();
            let third = allow("sets the mask", || {
                change(libc::SIG_SETMASK, &all());
                during(now).0
            });
            let _ = std::fs::metadata("/");
            [first, second, third, now()].map(|set| holds(&set, libc::SIGSYS))
        });
        assert_eq!(seen, [true, false, true, true]);
        assert!(holds(&now(), libc::SIGSYS));
        assert_eq!(calls(&violations), ["statx"]);
    });
}

#[test]
fn a_bad_mask_is_refused_as_ever() {
    alone("masks::a_bad_mask_is_refused_as_ever", || {
        let (errors, _) = during(|| {
            let error = || std::io::Error::last_os_error().raw_os_error();
            // SAFETY: the kernel refuses the pointer and the size.
            unsafe {
                let pointer = libc::syscall(libc::SYS_rt_sigprocmask, libc::SIG_BLOCK, 8, 0, 8);
                let pointer = (pointer, error());
                let size = libc::syscall(libc::SYS_rt_sigprocmask, libc::SIG_BLOCK, 0, 0, 4);
                [pointer, (size, error())]
            }
        });
        assert_eq!(errors, [(-1, Some(libc::EFAULT)), (-1, Some(libc::EINVAL))]);
    });
}

#[test]
fn an_alternate_stack_is_set_for_good() {
    alone("masks::an_alternate_stack_is_set_for_good", || {
        let mut memory = vec![0_u8; 64 * 1024];
        let ours = libc::stack_t { ss_sp: memory.as_mut_ptr().cast(), ss_flags: 0, ss_size: memory.len() };
        let none = libc::stack_t { ss_sp: std::ptr::null_mut(), ss_flags: libc::SS_DISABLE, ss_size: 0 };
        let mut before = none;
        let mut within = none;
        let mut after = none;
        // SAFETY: the stacks are live; the one that was there is put back before its memory goes.
        unsafe {
            let (_, violations) = during(|| {
                libc::sigaltstack(&raw const ours, &raw mut before);
                libc::sigaltstack(std::ptr::null(), &raw mut within);
                let _ = std::fs::metadata("/");
            });
            libc::sigaltstack(&raw const before, &raw mut after);
            assert_eq!(calls(&violations), ["statx"]);
        }
        assert_eq!((within.ss_sp, within.ss_size), (ours.ss_sp, ours.ss_size));
        assert_eq!((after.ss_sp, after.ss_size), (ours.ss_sp, ours.ss_size));
    });
}
