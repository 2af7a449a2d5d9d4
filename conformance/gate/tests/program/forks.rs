//! Processes: `fork`, `vfork`, `exec`, `posix_spawn`, `system`.

use std::os::unix::process::CommandExt as _;
use std::process::Command;

use leasehold_gate::{ProcessSpawn, Settings, during, inside};

use crate::alone::{alone, calls};

fn without_spawns() -> Settings {
    Settings::new().process_spawn(ProcessSpawn::Allow)
}

#[test]
fn a_forked_child_is_in_no_poll_and_may_open_one_of_its_own() {
    alone("forks::a_forked_child_is_in_no_poll_and_may_open_one_of_its_own", || {
        let (child, violations) = without_spawns().during(|| {
            // SAFETY: this process has no other thread that could hold a lock the child needs but the harness's own,
            // which waits.
            match unsafe { libc::fork() } {
                0 => {
                    let free = !inside() && std::fs::metadata("/").is_ok();
                    let (_, own) = during(|| std::fs::metadata("/"));
                    let good = free && calls(&own) == ["statx"];
                    // SAFETY: ends the child, without the parent's destructors.
                    unsafe { libc::_exit(if good { 0 } else { 1 }) }
                }
                child => {
                    let _ = std::fs::read_link("/");
                    child
                }
            }
        });
        let mut status = -1;
        // SAFETY: the status is a live int.
        unsafe { libc::waitpid(child, &raw mut status, 0) };
        assert_eq!(status, 0, "in the child");
        assert_eq!(calls(&violations), ["readlink"], "in the parent, right after");
    });
}

/// The bare instructions, as another libc or a language runtime has them. The child of a `vfork` runs on its parent's
/// stack while the parent waits.
#[test]
fn bare_forks_and_vforks_come_back_on_both_sides() {
    alone("forks::bare_forks_and_vforks_come_back_on_both_sides", || {
        const SIGCHLD: u64 = libc::SIGCHLD as u64;
        for (number, name) in
            [(libc::SYS_fork, "fork"), (libc::SYS_vfork, "vfork"), (libc::SYS_clone, "clone")]
        {
            let (child, violations) = during(|| {
                let child: i64;
                // SAFETY: the child uses no memory and ends itself at once; the parent goes on behind it.
                unsafe {
                    std::arch::asm!(
                        "syscall",
                        "test rax, rax",
                        "jnz 2f",
                        "mov edi, 7",
                        "mov eax, 60", // exit
                        "syscall",
                        "2:",
                        inlateout("rax") number => child,
                        inlateout("rdi") SIGCHLD => _,
                        in("rsi") 0, in("rdx") 0, in("r10") 0, in("r8") 0,
                        lateout("rcx") _, lateout("r11") _,
                    );
                }
                let _ = std::fs::metadata("/");
                child
            });
            assert_eq!(calls(&violations), [name, "statx"]);
            let mut status = -1;
            // SAFETY: the status is a live int.
            let waited = unsafe { libc::waitpid(child as i32, &raw mut status, 0) };
            assert_eq!((i64::from(waited), libc::WEXITSTATUS(status)), (child, 7), "{name}");
        }
    });
}

/// With a stack of its own and its parent's memory, as a thread has them.
#[test]
fn a_clone_on_a_stack_of_its_own_runs_there() {
    extern "C" fn adds_one(number: *mut libc::c_void) -> libc::c_int {
        // SAFETY: the parent waits and left the number in place.
        unsafe { *number.cast::<i32>() += 1 };
        9
    }
    alone("forks::a_clone_on_a_stack_of_its_own_runs_there", || {
        let mut stack = vec![0_u8; 64 * 1024];
        let mut number = 41_i32;
        let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
        let (child, violations) = during(|| {
            // SAFETY: the stack and the number outlive the child, for which CLONE_VFORK makes the parent wait.
            let child = unsafe {
                let top = stack.as_mut_ptr().add(stack.len()).cast();
                libc::clone(adds_one, top, flags, (&raw mut number).cast())
            };
            let _ = std::fs::metadata("/");
            child
        });
        assert_eq!(number, 42);
        assert_eq!(calls(&violations), ["clone", "statx"]);
        let mut status = -1;
        // SAFETY: the status is a live int.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        assert_eq!(libc::WEXITSTATUS(status), 9);
    });
}

#[test]
fn a_hook_before_exec_runs_ungated_in_the_child() {
    alone("forks::a_hook_before_exec_runs_ungated_in_the_child", || {
        let (status, violations) = without_spawns().during(|| {
            let mut command = Command::new("true");
            // SAFETY: the hook makes only system calls.
            unsafe {
                command.pre_exec(|| {
                    let free = !inside() && libc::access(c"/".as_ptr(), libc::F_OK) == 0;
                    if free { Ok(()) } else { Err(std::io::Error::other("the child is gated")) }
                });
            }
            command.status()
        });
        assert!(status.expect("it runs").success());
        // The standard library waits for the child to have got as far as exec, then for its end.
        assert_eq!(calls(&violations).last(), Some(&"wait4"));
    });
}

#[test]
fn a_failed_exec_comes_back_to_a_gated_thread() {
    alone("forks::a_failed_exec_comes_back_to_a_gated_thread", || {
        let (error, violations) = without_spawns().during(|| {
            let arguments = [c"x".as_ptr(), std::ptr::null()];
            // SAFETY: the path and the arguments are C strings, and the list ends in null.
            unsafe { libc::execv(c"/no/such/program".as_ptr(), arguments.as_ptr()) };
            let error = std::io::Error::last_os_error().raw_os_error();
            let _ = std::fs::metadata("/");
            error
        });
        assert_eq!(error, Some(libc::ENOENT));
        assert_eq!(calls(&violations), ["statx"]);
    });
}

#[test]
fn an_exec_starts_a_program_that_knows_nothing_of_the_gate() {
    alone("forks::an_exec_starts_a_program_that_knows_nothing_of_the_gate", || {
        let _ = without_spawns().during(|| {
            // The shell's own calls would end it if it were gated. Its status is this process's.
            panic!(
                "no exec: {}",
                Command::new("/bin/sh").args(["-c", "cat /etc/hostname > /dev/null"]).exec()
            )
        });
    });
}

#[test]
fn system_and_popen_work() {
    alone("forks::system_and_popen_work", || {
        let (status, violations) = during(|| {
            // SAFETY: C strings, and the stream is closed once.
            unsafe {
                let status = libc::system(c"exit 3".as_ptr());
                let stream = libc::popen(c"exit 4".as_ptr(), c"r".as_ptr());
                (libc::WEXITSTATUS(status), libc::WEXITSTATUS(libc::pclose(stream)))
            }
        });
        assert_eq!(status, (3, 4));
        let calls = calls(&violations);
        assert_eq!(calls.iter().filter(|call| **call == "wait4").count(), 2, "{calls:?}");
        assert_eq!(
            calls.iter().filter(|call| call.starts_with("clone") || **call == "vfork").count(),
            2,
            "{calls:?}"
        );
    });
}

#[test]
fn a_started_process_is_told_with_where_it_was_started() {
    alone("forks::a_started_process_is_told_with_where_it_was_started", || {
        let (child, violations) = during(|| Command::new("true").spawn());
        child.expect("it starts").wait().expect("it ends");
        assert_eq!(violations.len(), 1, "{violations:?}");
        assert_eq!(violations[0].duration(), None, "the call didn't come back to the gate");
        let backtrace = violations[0].backtrace();
        let ours =
            backtrace.iter().any(|frame| frame.file.as_ref().is_some_and(|file| file.ends_with("forks.rs")));
        assert!(ours, "{backtrace:?}");
    });
}
