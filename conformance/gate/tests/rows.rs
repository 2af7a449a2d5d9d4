//! The table, row by row: each is held by a list of its own, so that one that is lost, renumbered or softened shows.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::collections::BTreeMap;
use std::os::fd::AsRawFd as _;

use leasehold_gate::faults::{self, Fault};
use leasehold_gate::{Settings, calls, during, status};

/// Number, name and behaviour of every row, kept apart from the table on purpose.
const BY_HEART: &str = include_str!("rows.txt");

struct Known {
    number: u64,
    name: &'static str,
    how: Vec<&'static str>,
}

fn by_heart() -> Vec<Known> {
    let line = |line: &'static str| {
        let mut words = line.split(' ');
        let number = words.next().and_then(|word| word.parse().ok()).expect("a number");
        Known { number, name: words.next().expect("a name"), how: words.collect() }
    };
    BY_HEART.lines().map(line).collect()
}

/// Descriptors of each kind, open for as long as the test runs.
struct Ends {
    waits: (std::io::PipeReader, std::io::PipeWriter),
    cannot_wait: std::os::unix::net::UnixStream,
    file: std::fs::File,
    directory: std::fs::File,
    _peer: std::os::unix::net::UnixStream,
}

impl Ends {
    fn new() -> Self {
        let (cannot_wait, peer) = std::os::unix::net::UnixStream::pair().expect("a socket pair");
        cannot_wait.set_nonblocking(true).expect("a socket takes the flag");
        let file = std::fs::File::open("/proc/self/exe").expect("this test's own file");
        let directory = std::fs::File::open("/").expect("the root");
        Ends { waits: std::io::pipe().expect("a pipe"), cannot_wait, file, directory, _peer: peer }
    }
}

/// What one pretended call must lead to.
struct Try {
    args: [u64; 6],
    reported: bool,
}

/// `3:64` is bit 64 of argument 3.
fn flag(word: &str) -> Option<(usize, u64)> {
    let (argument, mask) = word.split_once(':')?;
    Some((argument.parse().expect("an argument"), mask.parse().expect("a mask")))
}

impl Known {
    /// Calls that between them take every branch of this row.
    fn tries(&self, ends: &Ends, memory: &Memory) -> Vec<Try> {
        let at = |index: usize, value: u64| {
            let mut args = [0; 6];
            args[index] = value;
            args
        };
        let reported = |args| Try { args, reported: true };
        let passes = |args| Try { args, reported: false };
        let waits = ends.waits.0.as_raw_fd() as u64;
        let cannot_wait = ends.cannot_wait.as_raw_fd() as u64;
        let files = [&ends.file, &ends.directory].map(|file| file.as_raw_fd() as u64);
        let index = || self.how[1].parse::<usize>().expect("an argument");
        let (zeros, ones) = ([0; 6], [u64::MAX; 6]);
        match self.how[0] {
            "always" => vec![reported(zeros), reported(ones)],
            "benign" => vec![passes(zeros), passes(ones)],
            "nonblocking" => {
                let fds: Vec<usize> =
                    self.how[1].split(',').map(|fd| fd.parse().expect("an argument")).collect();
                let mut tries = Vec::new();
                for &one in &fds {
                    let mut args = [0; 6];
                    for &fd in &fds {
                        args[fd] = cannot_wait;
                    }
                    tries.push(passes(args));
                    args[one] = waits;
                    tries.push(reported(args));
                    if let Some((flags, mask)) = self.how.get(2).and_then(|word| flag(word)) {
                        let mut flagged = args;
                        flagged[flags] = mask;
                        tries.push(passes(flagged));
                    }
                    for file in files {
                        args[one] = file;
                        tries.push(reported(args));
                    }
                }
                // A matter of settings, which leave it alone by default.
                tries.extend((self.how.get(2) == Some(&"stdio")).then(|| passes(at(0, 2))));
                tries
            }
            "files" => {
                let empty = |fd| [fd, memory.zeros(), 0x1000, 0x1000, 0, 0];
                let path = |fd| [fd, memory.ones(), 0x1000, 0x1000, 0, 0];
                let by_path = (self.name != "fstat").then(|| reported(path(cannot_wait)));
                let by_file = files.map(|file| reported(empty(file)));
                by_file.into_iter().chain([passes(empty(cannot_wait))]).chain(by_path).collect()
            }
            "unless-flag" | "if-flag" => {
                let (flags, mask) = flag(self.how[1]).expect("an argument and a mask");
                let mut others = [u64::MAX; 6];
                others[flags] = !mask;
                let (with, without) = ([at(flags, mask), ones], [zeros, others]);
                if self.how[0] == "if-flag" {
                    with.map(reported).into_iter().chain(without.map(passes)).collect()
                } else {
                    with.map(passes).into_iter().chain(without.map(reported)).collect()
                }
            }
            "command" => vec![passes(zeros), reported(at(1, self.how[1].parse().expect("a command")))],
            "millis" => vec![passes(zeros), reported(at(index(), 5)), reported(at(index(), u64::MAX))],
            "pointer" => vec![
                reported(zeros),
                passes(at(index(), memory.zeros())),
                reported(at(index(), memory.ones())),
            ],
            "ring" => vec![passes(zeros), passes([0, 0, 3, 0, 0, 0]), reported([0, 0, 3, 1, 0, 0])],
            "events" => vec![
                passes(zeros),
                passes([0, 1, 0, 0, memory.zeros(), 0]),
                reported([0, 1, 0, 0, memory.ones(), 0]),
            ],
            "futex" => vec![passes(at(1, 1)), reported(at(1, 0)), reported(at(1, 128 | 9))],
            "lock" => vec![reported(zeros)],
            "clone" => vec![passes(at(0, 0x1_0000)), reported(at(0, 17))],
            "clone3" => vec![passes(at(0, memory.ones())), reported(at(0, memory.zeros()))],
            "process" => vec![reported(zeros)],
            other => panic!("{} behaves like `{other}`?", self.name),
        }
    }

    /// What is wrong with this row, if anything.
    fn fault(&self, ends: &Ends, memory: &Memory) -> Option<String> {
        for attempt in self.tries(ends, memory) {
            let gated = Settings::new().report_lock_waits(std::time::Duration::ZERO);
            let ((), violations) =
                faults::with(Fault::Dry, || gated.during(|| faults::pretend(self.number, attempt.args)));
            let names: Vec<_> = violations.iter().map(|violation| violation.call()).collect();
            let wanted: &[&str] = if attempt.reported { &[self.name] } else { &[] };
            if names != wanted {
                return Some(format!(
                    "{} with {:x?}: wanted {wanted:?}, got {names:?}",
                    self.name, attempt.args
                ));
            }
        }
        None
    }
}

/// Words in memory that arguments can point to.
struct Memory {
    zeros: Box<[u64; 2]>,
    ones: Box<[u64; 2]>,
}

impl Memory {
    fn new() -> Self {
        Self { zeros: Box::new([0; 2]), ones: Box::new([0x0101_0101_0101_0101; 2]) }
    }
    fn zeros(&self) -> u64 {
        self.zeros.as_ptr() as u64
    }
    fn ones(&self) -> u64 {
        self.ones.as_ptr() as u64
    }
}

fn gate_is_here() -> bool {
    status().is_available() || {
        during(|| ());
        false
    }
}

#[test]
fn the_table_is_the_one_known_by_heart() {
    let table: Vec<_> = calls::table().iter().map(|row| (u64::from(row.number), row.name)).collect();
    let known: Vec<_> = by_heart().iter().map(|known| (known.number, known.name)).collect();
    assert_eq!(table, known);
}

#[test]
fn every_row_judges_as_it_is_known_to() {
    if !gate_is_here() {
        return;
    }
    let (ends, memory) = (Ends::new(), Memory::new());
    let faults: Vec<_> = by_heart().iter().filter_map(|known| known.fault(&ends, &memory)).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// The proof that the test above has teeth: without a row, each row's own check fails.
#[test]
fn a_row_that_is_lost_is_noticed_whichever_it_is() {
    if !gate_is_here() {
        return;
    }
    let (ends, memory) = (Ends::new(), Memory::new());
    for known in by_heart() {
        let fault = faults::with(Fault::LostRow(known.number), || known.fault(&ends, &memory));
        assert!(fault.is_some(), "the row of {} was lost and nobody noticed", known.name);
    }
}

#[test]
fn a_call_that_the_table_does_not_have_is_reported() {
    if !gate_is_here() {
        return;
    }
    for number in [400, 511, 512, 9999, u64::from(u32::MAX)] {
        let ((), violations) = faults::with(Fault::Dry, || during(|| faults::pretend(number, [0; 6])));
        let names: Vec<_> = violations.iter().map(|violation| violation.call().to_owned()).collect();
        assert_eq!(names, [format!("system call {number}")]);
        assert!(violations[0].reason().contains("not in the table"));
    }
}

macro_rules! of_libc {
    ($($name:ident)*) => { [$((stringify!($name), libc::$name)),*] };
}

#[test]
fn every_call_of_libc_has_its_row_under_its_own_number() {
    let rows: BTreeMap<_, _> = calls::table().iter().map(|row| (row.name, i64::from(row.number))).collect();
    for (name, number) in LIBC {
        let name = name.strip_prefix("SYS_").expect("a system call");
        assert_eq!(rows.get(name), Some(&number), "{name}");
    }
}

#[test]
fn the_numbers_have_no_hole_but_the_one_the_kernel_has() {
    let numbers: Vec<_> = calls::table().iter().map(|row| row.number).collect();
    let expected: Vec<u16> = (0..=335).chain(424..=469).collect();
    assert_eq!(numbers, expected);
}

/// Every call the crate `libc` knows on this system.
const LIBC: [(&str, i64); NUMBER_OF_THEM] = of_libc![
    SYS_read SYS_write SYS_open SYS_close SYS_stat SYS_fstat SYS_lstat SYS_poll SYS_lseek SYS_mmap
    SYS_mprotect SYS_munmap SYS_brk SYS_rt_sigaction SYS_rt_sigprocmask SYS_rt_sigreturn SYS_ioctl
    SYS_pread64 SYS_pwrite64 SYS_readv SYS_writev SYS_access SYS_pipe SYS_select SYS_sched_yield
    SYS_mremap SYS_msync SYS_mincore SYS_madvise SYS_shmget SYS_shmat SYS_shmctl SYS_dup SYS_dup2
    SYS_pause SYS_nanosleep SYS_getitimer SYS_alarm SYS_setitimer SYS_getpid SYS_sendfile SYS_socket
    SYS_connect SYS_accept SYS_sendto SYS_recvfrom SYS_sendmsg SYS_recvmsg SYS_shutdown SYS_bind
    SYS_listen SYS_getsockname SYS_getpeername SYS_socketpair SYS_setsockopt SYS_getsockopt SYS_clone
    SYS_fork SYS_vfork SYS_execve SYS_exit SYS_wait4 SYS_kill SYS_uname SYS_semget SYS_semop SYS_semctl
    SYS_shmdt SYS_msgget SYS_msgsnd SYS_msgrcv SYS_msgctl SYS_fcntl SYS_flock SYS_fsync SYS_fdatasync
    SYS_truncate SYS_ftruncate SYS_getdents SYS_getcwd SYS_chdir SYS_fchdir SYS_rename SYS_mkdir
    SYS_rmdir SYS_creat SYS_link SYS_unlink SYS_symlink SYS_readlink SYS_chmod SYS_fchmod SYS_chown
    SYS_fchown SYS_lchown SYS_umask SYS_gettimeofday SYS_getrlimit SYS_getrusage SYS_sysinfo SYS_times
    SYS_ptrace SYS_getuid SYS_syslog SYS_getgid SYS_setuid SYS_setgid SYS_geteuid SYS_getegid
    SYS_setpgid SYS_getppid SYS_getpgrp SYS_setsid SYS_setreuid SYS_setregid SYS_getgroups SYS_setgroups
    SYS_setresuid SYS_getresuid SYS_setresgid SYS_getresgid SYS_getpgid SYS_setfsuid SYS_setfsgid
    SYS_getsid SYS_capget SYS_capset SYS_rt_sigpending SYS_rt_sigtimedwait SYS_rt_sigqueueinfo
    SYS_rt_sigsuspend SYS_sigaltstack SYS_utime SYS_mknod SYS_uselib SYS_personality SYS_ustat
    SYS_statfs SYS_fstatfs SYS_sysfs SYS_getpriority SYS_setpriority SYS_sched_setparam
    SYS_sched_getparam SYS_sched_setscheduler SYS_sched_getscheduler SYS_sched_get_priority_max
    SYS_sched_get_priority_min SYS_sched_rr_get_interval SYS_mlock SYS_munlock SYS_mlockall
    SYS_munlockall SYS_vhangup SYS_modify_ldt SYS_pivot_root SYS__sysctl SYS_prctl SYS_arch_prctl
    SYS_adjtimex SYS_setrlimit SYS_chroot SYS_sync SYS_acct SYS_settimeofday SYS_mount SYS_umount2
    SYS_swapon SYS_swapoff SYS_reboot SYS_sethostname SYS_setdomainname SYS_iopl SYS_ioperm
    SYS_init_module SYS_delete_module SYS_quotactl SYS_nfsservctl SYS_getpmsg SYS_putpmsg
    SYS_afs_syscall SYS_tuxcall SYS_security SYS_gettid SYS_readahead SYS_setxattr SYS_lsetxattr
    SYS_fsetxattr SYS_getxattr SYS_lgetxattr SYS_fgetxattr SYS_listxattr SYS_llistxattr SYS_flistxattr
    SYS_removexattr SYS_lremovexattr SYS_fremovexattr SYS_tkill SYS_time SYS_futex SYS_sched_setaffinity
    SYS_sched_getaffinity SYS_set_thread_area SYS_io_setup SYS_io_destroy SYS_io_getevents SYS_io_submit
    SYS_io_cancel SYS_get_thread_area SYS_lookup_dcookie SYS_epoll_create SYS_epoll_ctl_old
    SYS_epoll_wait_old SYS_remap_file_pages SYS_getdents64 SYS_set_tid_address SYS_restart_syscall
    SYS_semtimedop SYS_fadvise64 SYS_timer_create SYS_timer_settime SYS_timer_gettime
    SYS_timer_getoverrun SYS_timer_delete SYS_clock_settime SYS_clock_gettime SYS_clock_getres
    SYS_clock_nanosleep SYS_exit_group SYS_epoll_wait SYS_epoll_ctl SYS_tgkill SYS_utimes SYS_vserver
    SYS_mbind SYS_set_mempolicy SYS_get_mempolicy SYS_mq_open SYS_mq_unlink SYS_mq_timedsend
    SYS_mq_timedreceive SYS_mq_notify SYS_mq_getsetattr SYS_kexec_load SYS_waitid SYS_add_key
    SYS_request_key SYS_keyctl SYS_ioprio_set SYS_ioprio_get SYS_inotify_init SYS_inotify_add_watch
    SYS_inotify_rm_watch SYS_migrate_pages SYS_openat SYS_mkdirat SYS_mknodat SYS_fchownat SYS_futimesat
    SYS_newfstatat SYS_unlinkat SYS_renameat SYS_linkat SYS_symlinkat SYS_readlinkat SYS_fchmodat
    SYS_faccessat SYS_pselect6 SYS_ppoll SYS_unshare SYS_set_robust_list SYS_get_robust_list SYS_splice
    SYS_tee SYS_sync_file_range SYS_vmsplice SYS_move_pages SYS_utimensat SYS_epoll_pwait SYS_signalfd
    SYS_timerfd_create SYS_eventfd SYS_fallocate SYS_timerfd_settime SYS_timerfd_gettime SYS_accept4
    SYS_signalfd4 SYS_eventfd2 SYS_epoll_create1 SYS_dup3 SYS_pipe2 SYS_inotify_init1 SYS_preadv
    SYS_pwritev SYS_rt_tgsigqueueinfo SYS_perf_event_open SYS_recvmmsg SYS_fanotify_init
    SYS_fanotify_mark SYS_prlimit64 SYS_name_to_handle_at SYS_open_by_handle_at SYS_clock_adjtime
    SYS_syncfs SYS_sendmmsg SYS_setns SYS_getcpu SYS_process_vm_readv SYS_process_vm_writev SYS_kcmp
    SYS_finit_module SYS_sched_setattr SYS_sched_getattr SYS_renameat2 SYS_seccomp SYS_getrandom
    SYS_memfd_create SYS_kexec_file_load SYS_bpf SYS_execveat SYS_userfaultfd SYS_membarrier SYS_mlock2
    SYS_copy_file_range SYS_preadv2 SYS_pwritev2 SYS_pkey_mprotect SYS_pkey_alloc SYS_pkey_free
    SYS_statx SYS_rseq SYS_pidfd_send_signal SYS_io_uring_setup SYS_io_uring_enter SYS_io_uring_register
    SYS_open_tree SYS_move_mount SYS_fsopen SYS_fsconfig SYS_fsmount SYS_fspick SYS_pidfd_open
    SYS_clone3 SYS_close_range SYS_openat2 SYS_pidfd_getfd SYS_faccessat2 SYS_process_madvise
    SYS_epoll_pwait2 SYS_mount_setattr SYS_quotactl_fd SYS_landlock_create_ruleset SYS_landlock_add_rule
    SYS_landlock_restrict_self SYS_memfd_secret SYS_process_mrelease SYS_futex_waitv
    SYS_set_mempolicy_home_node SYS_fchmodat2 SYS_mseal
];
const NUMBER_OF_THEM: usize = 360;
