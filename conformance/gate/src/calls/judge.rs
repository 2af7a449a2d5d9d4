//! Does this call, with these arguments, block?

use super::class::{Class, EmptyPath, SpawnFlags, Timeout};

/// The six arguments of a system call, as they stood in the registers.
pub(crate) type Arguments = [u64; 6];

/// What a call turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Can't make the thread wait.
    Benign,
    /// Can.
    Blocking,
    /// Writes to standard output or standard error: the settings decide.
    Stdio,
    /// Waits for a lock or another thread: the settings decide, and so does the time it took.
    Lock,
    /// Starts a process: the settings decide.
    Spawn,
}

/// What stands behind a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FdKind {
    /// A file, a directory or a block device: the disk may have to move, whatever the flags say.
    File,
    /// A device that answers from memory, such as `/dev/null`.
    Instant,
    /// Anything else, with `O_NONBLOCK`.
    Nonblocking,
    /// Anything else, without.
    MayWait,
    /// Not open: the call fails at once.
    Closed,
}

/// What the judge may look at beyond the arguments.
pub(crate) trait Look {
    fn fd(&self, fd: u64) -> FdKind;
    /// The word at that address, or `None` where none can be read.
    fn word(&self, address: u64) -> Option<u64>;
    /// The byte at that address.
    fn byte(&self, address: u64) -> Option<u8>;
}

const AT_EMPTY_PATH: u64 = 0x1000;
const CLONE_THREAD: u64 = 0x0001_0000;
const STDOUT: u64 = 1;
const STDERR: u64 = 2;
/// `FUTEX_PRIVATE_FLAG` and `FUTEX_CLOCK_REALTIME` are modifiers beside the operation; the rest is the operation.
const FUTEX_OPERATION: u64 = 0x7f;
/// Descriptors and flags are `int`: the upper half of their register means nothing.
const INT: u64 = 0xffff_ffff;

/// Judges one call.
pub(crate) fn judge(class: &Class, args: &Arguments, look: &impl Look) -> Verdict {
    let arg = |at: u8| args[usize::from(at)];
    let has = |bits: super::class::Bits| arg(bits.arg) & bits.mask != 0;
    match *class {
        Class::Always => Verdict::Blocking,
        Class::UnlessNonblocking { fds, flag, stdio } => {
            if stdio && matches!(arg(fds[0]) & INT, STDOUT | STDERR) {
                return Verdict::Stdio;
            }
            let excused = flag.is_some_and(has);
            blocking_if(fds.iter().any(|&fd| waits(look.fd(arg(fd) & INT), excused)))
        }
        Class::OnFiles { fd, at } => {
            let names_a_path = at.is_some_and(|at| !is_empty_path(at, args, look));
            blocking_if(names_a_path || look.fd(arg(fd) & INT) == FdKind::File)
        }
        Class::UnlessFlag(bits) => blocking_if(!has(bits)),
        Class::IfFlag(bits) => blocking_if(has(bits)),
        Class::IfCommand { arg: at, commands } => blocking_if(commands.contains(&(arg(at) & INT))),
        Class::ByTimeout(timeout) => blocking_if(!is_zero(timeout, args, look)),
        Class::Lock { operations: None } => Verdict::Lock,
        Class::Lock { operations: Some(waiting) } if waiting.contains(&(arg(1) & FUTEX_OPERATION)) => {
            Verdict::Lock
        }
        Class::Lock { operations: Some(_) } | Class::Benign => Verdict::Benign,
        Class::Spawn(flags) => {
            let flags = match flags {
                SpawnFlags::Argument => arg(0),
                SpawnFlags::Pointer => look.word(arg(0)).unwrap_or(0),
                SpawnFlags::Process => 0,
            };
            if flags & CLONE_THREAD == 0 { Verdict::Spawn } else { Verdict::Benign }
        }
    }
}

fn blocking_if(it_does: bool) -> Verdict {
    if it_does { Verdict::Blocking } else { Verdict::Benign }
}

fn waits(kind: FdKind, excused: bool) -> bool {
    match kind {
        FdKind::File => true,
        FdKind::MayWait => !excused,
        FdKind::Instant | FdKind::Nonblocking | FdKind::Closed => false,
    }
}

fn is_empty_path(at: EmptyPath, args: &Arguments, look: &impl Look) -> bool {
    let path = args[usize::from(at.path)];
    args[usize::from(at.flags)] & AT_EMPTY_PATH != 0 && (path == 0 || look.byte(path) == Some(0))
}

fn is_zero(timeout: Timeout, args: &Arguments, look: &impl Look) -> bool {
    const GETEVENTS: u64 = 1;
    let zero_at = |address: u64| {
        address != 0 && look.word(address) == Some(0) && look.word(address.wrapping_add(8)) == Some(0)
    };
    match timeout {
        Timeout::Millis(at) => args[usize::from(at)] & INT == 0,
        Timeout::Pointer(at) => zero_at(args[usize::from(at)]),
        Timeout::Ring => args[3] & GETEVENTS == 0 || args[2] & INT == 0,
        Timeout::Events => args[1] == 0 || zero_at(args[4]),
    }
}

#[cfg(test)]
mod tests {
    use super::super::class::Bits;
    use super::*;

    /// A world in which every descriptor is of one kind and every word in memory is the same.
    struct World(FdKind, Option<u64>);

    impl Look for World {
        fn fd(&self, _: u64) -> FdKind {
            self.0
        }
        fn word(&self, _: u64) -> Option<u64> {
            self.1
        }
        fn byte(&self, _: u64) -> Option<u8> {
            self.1.map(|word| word as u8)
        }
    }

    const READ: Class = Class::UnlessNonblocking { fds: &[0], flag: None, stdio: false };
    const WRITE: Class = Class::UnlessNonblocking { fds: &[0], flag: None, stdio: true };
    const SEND: Class =
        Class::UnlessNonblocking { fds: &[0], flag: Some(Bits { arg: 3, mask: 0x40 }), stdio: false };

    #[test]
    fn a_read_is_excused_by_what_it_reads_from() {
        for (kind, verdict) in [
            (FdKind::File, Verdict::Blocking),
            (FdKind::MayWait, Verdict::Blocking),
            (FdKind::Nonblocking, Verdict::Benign),
            (FdKind::Instant, Verdict::Benign),
            (FdKind::Closed, Verdict::Benign),
        ] {
            assert_eq!(judge(&READ, &[9, 0, 0, 0, 0, 0], &World(kind, None)), verdict, "{kind:?}");
        }
    }

    #[test]
    fn the_flag_of_a_call_excuses_a_socket_but_never_a_file() {
        let dont_wait = [9, 0, 0, 0x40, 0, 0];
        assert_eq!(judge(&SEND, &dont_wait, &World(FdKind::MayWait, None)), Verdict::Benign);
        assert_eq!(judge(&SEND, &dont_wait, &World(FdKind::File, None)), Verdict::Blocking);
        assert_eq!(judge(&SEND, &[9, 0, 0, 0, 0, 0], &World(FdKind::MayWait, None)), Verdict::Blocking);
    }

    #[test]
    fn standard_output_is_left_to_the_settings_even_where_it_is_a_file() {
        let world = World(FdKind::File, None);
        assert_eq!(judge(&WRITE, &[1, 0, 0, 0, 0, 0], &world), Verdict::Stdio);
        assert_eq!(judge(&WRITE, &[2, 0, 0, 0, 0, 0], &world), Verdict::Stdio);
        assert_eq!(judge(&WRITE, &[3, 0, 0, 0, 0, 0], &world), Verdict::Blocking);
        assert_eq!(judge(&READ, &[1, 0, 0, 0, 0, 0], &world), Verdict::Blocking);
    }

    #[test]
    fn one_waiting_end_of_two_is_enough() {
        struct Ends;
        impl Look for Ends {
            fn fd(&self, fd: u64) -> FdKind {
                if fd == 3 { FdKind::File } else { FdKind::Nonblocking }
            }
            fn word(&self, _: u64) -> Option<u64> {
                None
            }
            fn byte(&self, _: u64) -> Option<u8> {
                None
            }
        }
        let sendfile = Class::UnlessNonblocking { fds: &[0, 1], flag: None, stdio: false };
        assert_eq!(judge(&sendfile, &[4, 3, 0, 0, 0, 0], &Ends), Verdict::Blocking);
        assert_eq!(judge(&sendfile, &[4, 5, 0, 0, 0, 0], &Ends), Verdict::Benign);
    }

    #[test]
    fn only_a_timeout_of_zero_is_benign() {
        let poll = Class::ByTimeout(Timeout::Millis(2));
        let world = World(FdKind::MayWait, None);
        assert_eq!(judge(&poll, &[0, 0, 0, 0, 0, 0], &world), Verdict::Benign);
        assert_eq!(judge(&poll, &[0, 0, 1, 0, 0, 0], &world), Verdict::Blocking);
        assert_eq!(judge(&poll, &[0, 0, u64::MAX, 0, 0, 0], &world), Verdict::Blocking);
        let ppoll = Class::ByTimeout(Timeout::Pointer(2));
        let here = [0, 0, 8, 0, 0, 0];
        assert_eq!(judge(&ppoll, &[0; 6], &world), Verdict::Blocking, "null waits for ever");
        assert_eq!(judge(&ppoll, &here, &world), Verdict::Blocking, "can't be read");
        assert_eq!(judge(&ppoll, &here, &World(FdKind::MayWait, Some(0))), Verdict::Benign);
        assert_eq!(judge(&ppoll, &here, &World(FdKind::MayWait, Some(1))), Verdict::Blocking);
    }

    #[test]
    fn a_thread_is_benign_and_a_process_is_not() {
        let clone = Class::Spawn(SpawnFlags::Argument);
        let clone3 = Class::Spawn(SpawnFlags::Pointer);
        let world = World(FdKind::MayWait, Some(CLONE_THREAD));
        assert_eq!(judge(&clone, &[CLONE_THREAD, 0, 0, 0, 0, 0], &world), Verdict::Benign);
        assert_eq!(judge(&clone, &[17, 0, 0, 0, 0, 0], &world), Verdict::Spawn);
        assert_eq!(judge(&clone3, &[8, 0, 0, 0, 0, 0], &world), Verdict::Benign);
        assert_eq!(judge(&clone3, &[8, 0, 0, 0, 0, 0], &World(FdKind::MayWait, None)), Verdict::Spawn);
    }

    #[test]
    fn a_stat_by_descriptor_counts_on_files_alone_and_a_path_always() {
        let stat = Class::OnFiles { fd: 0, at: Some(EmptyPath { path: 1, flags: 3 }) };
        let empty = [9, 8, 0, AT_EMPTY_PATH, 0, 0];
        assert_eq!(judge(&stat, &empty, &World(FdKind::MayWait, Some(0))), Verdict::Benign);
        assert_eq!(judge(&stat, &empty, &World(FdKind::File, Some(0))), Verdict::Blocking);
        assert_eq!(judge(&stat, &empty, &World(FdKind::MayWait, Some(47))), Verdict::Blocking, "a path");
        assert_eq!(judge(&stat, &[9, 8, 0, 0, 0, 0], &World(FdKind::MayWait, Some(0))), Verdict::Blocking);
    }

    #[test]
    fn waking_a_lock_is_benign_and_waiting_for_it_is_not() {
        let futex = Class::Lock { operations: Some(&[0, 9]) };
        let world = World(FdKind::MayWait, None);
        assert_eq!(judge(&futex, &[0, 128, 0, 0, 0, 0], &world), Verdict::Lock, "WAIT | PRIVATE");
        assert_eq!(judge(&futex, &[0, 128 | 1, 0, 0, 0, 0], &world), Verdict::Benign, "WAKE | PRIVATE");
        assert_eq!(judge(&futex, &[0, 256 | 9, 0, 0, 0, 0], &world), Verdict::Lock, "WAIT_BITSET | REALTIME");
    }
}
