//! The program's own signal handlers, those for SIGSYS included.

use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};
use std::time::Duration;

use leasehold_gate::during;

use crate::alone::{alone, alone_and_killed_by, calls};
use crate::seccomp;

static RUNS: AtomicUsize = AtomicUsize::new(0);
static SENT_AS: AtomicI32 = AtomicI32::new(i32::MAX);

extern "C" fn counts(_: libc::c_int) {
    RUNS.fetch_add(1, Ordering::SeqCst);
    // A handler that makes calls, one of them blocking.
    // SAFETY: both are allowed in a signal handler, and the path is a C string.
    unsafe {
        libc::getppid();
        libc::access(c"/".as_ptr(), libc::F_OK);
    }
}

extern "C" fn notes(_: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    RUNS.fetch_add(1, Ordering::SeqCst);
    assert!(!context.is_null());
    // SAFETY: the kernel hands the information to a handler installed with SA_SIGINFO.
    SENT_AS.store(unsafe { (*info).si_code }, Ordering::SeqCst);
}

fn install(signal: libc::c_int, handler: usize, flags: libc::c_int) -> libc::sigaction {
    let mut before = MaybeUninit::uninit();
    // SAFETY: all zeros is an action with an empty mask, and the handler is one of the above or a constant.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler;
        action.sa_flags = flags;
        assert_eq!(libc::sigaction(signal, &raw const action, before.as_mut_ptr()), 0);
        before.assume_init()
    }
}

fn raise(signal: libc::c_int) {
    // SAFETY: sends a signal to this thread.
    assert_eq!(unsafe { libc::raise(signal) }, 0);
}

#[test]
fn a_handler_runs_within_a_poll_and_the_gate_is_up_afterwards() {
    alone("own_handlers::a_handler_runs_within_a_poll_and_the_gate_is_up_afterwards", || {
        install(libc::SIGUSR1, counts as *const () as usize, 0);
        let (_, violations) = during(|| {
            for _ in 0..3 {
                raise(libc::SIGUSR1);
            }
            std::fs::metadata("/")
        });
        assert_eq!(RUNS.load(Ordering::SeqCst), 3);
        assert_eq!(calls(&violations), ["statx"], "a handler that runs within a call is part of that call");
    });
}

/// The signal arrives between two calls, so the handler's own calls and its end go through the gate.
#[test]
fn a_handler_that_interrupts_the_program_is_gated_like_the_rest_of_it() {
    alone("own_handlers::a_handler_that_interrupts_the_program_is_gated_like_the_rest_of_it", || {
        install(libc::SIGUSR1, counts as *const () as usize, 0);
        let (_, violations) = during(|| {
            signal_this_thread(libc::SIGUSR1, Duration::from_millis(20), || {
                while RUNS.load(Ordering::SeqCst) == 0 {
                    std::hint::spin_loop();
                }
            });
            std::fs::metadata("/")
        });
        assert_eq!(calls(&violations), ["access", "statx"]);
    });
}

#[test]
fn a_handler_may_interrupt_a_call_that_waits() {
    alone("own_handlers::a_handler_may_interrupt_a_call_that_waits", || {
        install(libc::SIGUSR1, counts as *const () as usize, 0);
        let (result, violations) = during(|| {
            let long = libc::timespec { tv_sec: 60, tv_nsec: 0 };
            signal_this_thread(libc::SIGUSR1, Duration::from_millis(50), || {
                // SAFETY: the structure is live.
                let result = unsafe { libc::nanosleep(&raw const long, std::ptr::null_mut()) };
                (result, std::io::Error::last_os_error().raw_os_error())
            })
        });
        assert_eq!(result, (-1, Some(libc::EINTR)));
        assert_eq!(RUNS.load(Ordering::SeqCst), 1);
        assert_eq!(calls(&violations), ["clock_nanosleep"]);
    });
}

#[test]
fn a_call_is_restarted_where_the_handler_asks_for_it() {
    alone("own_handlers::a_call_is_restarted_where_the_handler_asks_for_it", || {
        install(libc::SIGUSR1, counts as *const () as usize, libc::SA_RESTART);
        let (mut reader, writer) = std::io::pipe().expect("a pipe");
        let (read, violations) = during(|| {
            signal_this_thread(libc::SIGUSR1, Duration::from_millis(20), || {
                // The other end closes after the signal, which ends the read.
                let closer = std::thread::Builder::new().spawn(move || {
                    pause(Duration::from_millis(60));
                    drop(writer);
                });
                let read = std::io::Read::read(&mut reader, &mut [0; 1]);
                closer.expect("a thread").join().expect("no panic");
                read
            })
        });
        assert_eq!(read.expect("not interrupted"), 0);
        assert_eq!(RUNS.load(Ordering::SeqCst), 1);
        assert_eq!(calls(&violations), ["read"]);
    });
}

/// Runs `work` while another thread sends a signal to this one, some time in.
fn signal_this_thread<R>(signal: libc::c_int, after: Duration, work: impl FnOnce() -> R) -> R {
    // SAFETY: takes nothing.
    let this = unsafe { libc::pthread_self() };
    std::thread::scope(|scope| {
        scope.spawn(move || {
            pause(after);
            // SAFETY: the thread waits for this one, so it is alive.
            assert_eq!(unsafe { libc::pthread_kill(this, signal) }, 0);
        });
        work()
    })
}

#[expect(clippy::disallowed_methods, reason = "the other thread has to be in its call by then")]
fn pause(time: Duration) {
    std::thread::sleep(time);
}

#[test]
fn a_handler_of_sigsys_from_before_is_called_for_all_that_is_not_ours() {
    alone("own_handlers::a_handler_of_sigsys_from_before_is_called_for_all_that_is_not_ours", || {
        install(libc::SIGSYS, notes as *const () as usize, libc::SA_SIGINFO);
        let (_, violations) = during(|| {
            raise(libc::SIGSYS);
            std::fs::metadata("/")
        });
        raise(libc::SIGSYS);
        assert_eq!(RUNS.load(Ordering::SeqCst), 2);
        assert_eq!(SENT_AS.load(Ordering::SeqCst), libc::SI_TKILL);
        assert_eq!(calls(&violations), ["statx"]);
    });
}

#[test]
fn a_handler_of_sigsys_set_within_a_poll_comes_after_ours() {
    alone("own_handlers::a_handler_of_sigsys_set_within_a_poll_comes_after_ours", || {
        let (asked, violations) = during(|| {
            install(libc::SIGSYS, counts as *const () as usize, 0);
            let asked = install(libc::SIGSYS, notes as *const () as usize, libc::SA_SIGINFO);
            raise(libc::SIGSYS);
            let _ = std::fs::metadata("/");
            asked.sa_sigaction
        });
        assert_eq!(asked, counts as *const () as usize, "the program is shown its own");
        assert_eq!(RUNS.load(Ordering::SeqCst), 1);
        assert_eq!(calls(&violations), ["statx"]);
    });
}

#[test]
fn a_handler_of_sigsys_set_since_is_found_at_the_next_poll() {
    alone("own_handlers::a_handler_of_sigsys_set_since_is_found_at_the_next_poll", || {
        during(|| ());
        install(libc::SIGSYS, counts as *const () as usize, 0);
        let (_, violations) = during(|| std::fs::metadata("/"));
        assert_eq!(calls(&violations), ["statx"]);
        raise(libc::SIGSYS);
        assert_eq!(RUNS.load(Ordering::SeqCst), 1);
    });
}

#[test]
fn a_sigsys_that_nobody_handles_ends_the_process_as_ever() {
    alone_and_killed_by(
        libc::SIGSYS,
        "own_handlers::a_sigsys_that_nobody_handles_ends_the_process_as_ever",
        || {
            during(|| ());
            raise(libc::SIGSYS);
        },
    );
}

#[test]
fn a_sigsys_that_is_ignored_is_ignored() {
    alone("own_handlers::a_sigsys_that_is_ignored_is_ignored", || {
        install(libc::SIGSYS, libc::SIG_IGN, 0);
        during(|| raise(libc::SIGSYS));
        raise(libc::SIGSYS);
    });
}

#[test]
fn a_trap_of_a_seccomp_filter_reaches_its_owner() {
    alone("own_handlers::a_trap_of_a_seccomp_filter_reaches_its_owner", || {
        install(libc::SIGSYS, notes as *const () as usize, libc::SA_SIGINFO);
        seccomp::filter(libc::SYS_getsid, None, libc::SECCOMP_RET_TRAP);
        // SAFETY: takes no pointers.
        unsafe { libc::getsid(0) };
        let (_, violations) = during(|| {
            // SAFETY: takes no pointers.
            unsafe { libc::getsid(0) };
            std::fs::metadata("/")
        });
        assert_eq!(RUNS.load(Ordering::SeqCst), 2);
        assert_eq!(SENT_AS.load(Ordering::SeqCst), 1, "SYS_SECCOMP");
        assert_eq!(calls(&violations), ["statx"]);
    });
}
