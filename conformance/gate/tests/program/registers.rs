//! Results, `errno`, registers, bare system calls.

use std::arch::asm;

use leasehold_gate::during;

use crate::alone::{alone, calls};

#[test]
fn errno_is_set_by_what_fails_and_left_alone_by_what_does_not() {
    alone("registers::errno_is_set_by_what_fails_and_left_alone_by_what_does_not", || {
        let ((failed, kept), violations) = during(|| {
            let failed = std::fs::File::open("/no/such/file").map(drop).map_err(|error| error.raw_os_error());
            // SAFETY: libc's own place for errno on this thread; getppid takes nothing, and the path is a C string.
            let kept = unsafe {
                *libc::__errno_location() = libc::E2BIG;
                libc::getppid();
                libc::access(c"/".as_ptr(), libc::F_OK);
                *libc::__errno_location()
            };
            (failed, kept)
        });
        assert_eq!(failed, Err(Some(libc::ENOENT)));
        assert_eq!(kept, libc::E2BIG);
        assert_eq!(calls(&violations), ["openat", "access"]);
    });
}

#[test]
fn every_register_a_call_has_to_keep_is_kept() {
    alone("registers::every_register_a_call_has_to_keep_is_kept", || {
        let (kept, violations) = during(|| {
            let mut kept = [0_u64; 9];
            // SAFETY: pread64 on no descriptor fails at once; the registers named are given up to the assembly, and
            // rbx, which can't be, is put back.
            unsafe {
                asm!(
                    "mov {saved}, rbx",
                    "mov rbx, 11",
                    "mov r12, 12", "mov r13, 13", "mov r14, 14",
                    "mov rdi, -1", "mov rsi, 16", "mov rdx, 17", "mov r10, 18", "mov r8, 19", "mov r9, 20",
                    "mov eax, 17",
                    "syscall",
                    "mov [{kept}], rbx",
                    "mov rbx, {saved}",
                    "mov [{kept} + 8], r12",
                    "mov [{kept} + 16], r13",
                    "mov [{kept} + 24], r14",
                    "mov [{kept} + 32], rsi",
                    "mov [{kept} + 40], rdx",
                    "mov [{kept} + 48], r10",
                    "mov [{kept} + 56], r8",
                    "mov [{kept} + 64], rax",
                    kept = in(reg) kept.as_mut_ptr(),
                    saved = out(reg) _,
                    out("rax") _, out("rdi") _, out("rsi") _, out("rdx") _, out("r10") _, out("r8") _,
                    out("r9") _, out("rcx") _, out("r11") _, out("r12") _, out("r13") _, out("r14") _,
                );
            }
            kept
        });
        let bad_descriptor = -i64::from(libc::EBADF) as u64;
        assert_eq!(kept, [11, 12, 13, 14, 16, 17, 18, 19, bad_descriptor]);
        assert_eq!(calls(&violations), ["pread64"]);
    });
}

#[test]
fn pointers_to_nowhere_are_the_kernels_to_refuse() {
    alone("registers::pointers_to_nowhere_are_the_kernels_to_refuse", || {
        let (errors, violations) = during(|| {
            let nowhere = 8 as *const libc::c_char;
            let error = || std::io::Error::last_os_error().raw_os_error();
            // SAFETY: the kernel checks the pointers and refuses them.
            unsafe {
                let open = (libc::open(nowhere, 0), error());
                let stat = (libc::stat(nowhere, std::ptr::null_mut()), error());
                let connect = (
                    libc::connect(libc::socket(libc::AF_INET, libc::SOCK_STREAM, 0), nowhere.cast(), 16),
                    error(),
                );
                let sleep = libc::syscall(libc::SYS_nanosleep, nowhere, 0);
                [open, stat, connect, (sleep as i32, error())]
            }
        });
        assert_eq!(errors, [(-1, Some(libc::EFAULT)); 4]);
        assert_eq!(violations.len(), 4);
    });
}

/// A path that ends right before memory that is not there.
#[test]
fn a_path_at_the_end_of_memory_is_read_no_further() {
    alone("registers::a_path_at_the_end_of_memory_is_read_no_further", || {
        const PAGE: usize = 4096;
        let path = b"/no/such/file\0";
        // SAFETY: two fresh pages, of which the second is taken away; the path is written within the first.
        let (_, violations) = unsafe {
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let pages = libc::mmap(std::ptr::null_mut(), 2 * PAGE, protection, flags, -1, 0).cast::<u8>();
            libc::munmap(pages.add(PAGE).cast(), PAGE);
            let start = pages.add(PAGE - path.len());
            std::ptr::copy_nonoverlapping(path.as_ptr(), start, path.len());
            during(|| libc::open(start.cast(), 0))
        };
        assert_eq!(violations[0].target(), Some("/no/such/file"));
    });
}

#[test]
fn a_call_by_the_old_way_in_is_reported_and_answered() {
    alone("registers::a_call_by_the_old_way_in_is_reported_and_answered", || {
        // Kernels may be without it, which ends the process: find out in a child.
        // SAFETY: the child makes one system call and ends.
        let supported = unsafe {
            match libc::fork() {
                0 => {
                    old_getpid();
                    libc::_exit(0)
                }
                child => {
                    let mut status = 0;
                    libc::waitpid(child, &raw mut status, 0);
                    status == 0
                }
            }
        };
        if !supported {
            eprintln!("not run: this kernel has no system calls by int 0x80");
            return;
        }
        let (id, violations) = during(|| {
            let id = old_getpid();
            let _ = std::fs::metadata("/");
            id
        });
        assert_eq!(id, std::process::id());
        assert_eq!(calls(&violations), ["32-bit system call 20", "statx"], "and the gate stays up");
    });
}

fn old_getpid() -> u32 {
    let id: u32;
    // SAFETY: getpid of the 32-bit table takes nothing. The kernel may clear r8 to r11 on this way.
    unsafe {
        asm!("int 0x80", inlateout("eax") 20_u32 => id, out("r8") _, out("r9") _, out("r10") _, out("r11") _);
    }
    id
}

#[test]
fn nobody_else_takes_the_switch() {
    alone("registers::nobody_else_takes_the_switch", || {
        let ((result, error), violations) = during(|| {
            // SAFETY: switches the dispatch off, if it were let.
            let result = unsafe { libc::prctl(59, 0, 0, 0, 0) };
            let error = std::io::Error::last_os_error().raw_os_error();
            let _ = std::fs::metadata("/");
            (result, error)
        });
        assert_eq!((result, error), (-1, Some(libc::EBUSY)));
        assert_eq!(calls(&violations), ["statx"]);
    });
}

/// Calls that have to run where they were made take a stub for each place that makes them, and there are only so many.
#[test]
fn a_program_with_too_many_such_places_is_told_and_keeps_working() {
    alone("registers::a_program_with_too_many_such_places_is_told_and_keeps_working", || {
        // mov eax, 131 (sigaltstack); syscall; ret
        const CODE: [u8; 8] = [0xb8, 131, 0, 0, 0, 0x0f, 0x05, 0xc3];
        const PLACES: usize = 100;
        // SAFETY: a fresh page, filled with that function over and over, then made executable.
        let page = unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let page =
                libc::mmap(std::ptr::null_mut(), 4096, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0)
                    .cast::<u8>();
            for place in 0..PLACES {
                std::ptr::copy_nonoverlapping(CODE.as_ptr(), page.add(place * CODE.len()), CODE.len());
            }
            assert_eq!(libc::mprotect(page.cast(), 4096, libc::PROT_READ | libc::PROT_EXEC), 0);
            page
        };
        let call = |place: usize| {
            // SAFETY: the page holds a function there that takes two pointers, of which null means "neither".
            unsafe {
                let function: extern "C" fn(u64, u64) -> i64 =
                    std::mem::transmute(page.add(place * CODE.len()) as *const ());
                function(0, 0)
            }
        };
        let all = || during(|| (0..PLACES).map(call).sum::<i64>());
        let panic =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(all)).expect_err("the gate went down");
        let text = panic.downcast_ref::<String>().expect("a message");
        assert!(text.contains("the gate is blind") && text.contains("too many places"), "{text}");
        // The places that have their stub go on as before.
        assert_eq!(during(|| call(0)).0, 0);
    });
}
