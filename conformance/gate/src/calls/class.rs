//! When a system call counts as blocking.

/// When a system call counts as blocking: the middle column of the [table](crate::calls::table()).
///
/// Arguments are counted from 0, in the order of the system call, which is not always the order of the libc function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Class {
    /// Whatever its arguments say.
    Always,
    /// Unless a descriptor can't make it wait: a socket, pipe, terminal or event with `O_NONBLOCK`, or a call with
    /// the flag set. Files, directories and block devices have no such mode, so they always count.
    UnlessNonblocking {
        /// The arguments that hold the descriptors.
        fds: &'static [u8],
        /// A flag of the call itself that says "don't wait", such as `MSG_DONTWAIT`.
        flag: Option<Bits>,
        /// Whether a write to standard output or standard error is a matter of settings.
        stdio: bool,
    },
    /// When the descriptor is a file, a directory or a block device; asking a socket or a pipe costs nothing.
    OnFiles {
        /// The argument that holds the descriptor.
        fd: u8,
        /// Where a path stands beside the descriptor, and the flags that may say it is empty. A path counts always.
        at: Option<EmptyPath>,
    },
    /// Unless the flag is set (`LOCK_NB`, `WNOHANG`).
    UnlessFlag(Bits),
    /// Only when the flag is set (`MS_SYNC`).
    IfFlag(Bits),
    /// Only for some commands of a call that has many (`fcntl`, `ioctl`).
    IfCommand {
        /// The argument that holds the command.
        arg: u8,
        /// The commands that block.
        commands: &'static [u64],
    },
    /// Unless its timeout is zero.
    ByTimeout(Timeout),
    /// A wait for a lock or for another thread: a matter of settings.
    Lock {
        /// The operations that wait; `None` when the call does nothing else.
        operations: Option<&'static [u64]>,
    },
    /// Starts a process (a matter of settings) or, where the flags say so, only a thread (benign).
    Spawn(SpawnFlags),
    /// Never.
    Benign,
}

/// One argument, and the bits in it that matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bits {
    /// The argument, from 0.
    pub arg: u8,
    /// The bits, any of which is enough.
    pub mask: u64,
}

/// Where a call like `newfstatat` may say that it means the descriptor and no path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EmptyPath {
    /// The argument that points to the path.
    pub path: u8,
    /// The argument that may hold `AT_EMPTY_PATH`.
    pub flags: u8,
}

/// How a call says how long it is willing to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Timeout {
    /// Milliseconds in this argument; negative means for ever.
    Millis(u8),
    /// A pointer to seconds and a fraction in this argument; null means for ever.
    Pointer(u8),
    /// `io_uring_enter`: waits when it asks for completions and wants more than none.
    Ring,
    /// `io_getevents`: waits when it wants more than no event, for the time in argument 4.
    Events,
}

/// Where a call that starts something says whether it is a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SpawnFlags {
    /// In argument 0 itself (`clone`).
    Argument,
    /// In the first word of the structure that argument 0 points to (`clone3`).
    Pointer,
    /// Nowhere: always a process.
    Process,
}

impl Class {
    /// The class in a word or two, as in the documentation's tables.
    ///
    /// ```
    /// use leasehold_gate::calls::Class;
    ///
    /// assert_eq!(Class::Always.label(), "always");
    /// ```
    pub const fn label(&self) -> &'static str {
        match self {
            Class::Always => "always",
            Class::UnlessNonblocking { .. } => "unless non-blocking",
            Class::OnFiles { .. } => "on files",
            Class::UnlessFlag(_) | Class::IfFlag(_) => "by flag",
            Class::IfCommand { .. } => "by command",
            Class::ByTimeout(_) => "by timeout",
            Class::Lock { .. } => "lock wait (setting)",
            Class::Spawn(_) => "process spawn (setting)",
            Class::Benign => "benign",
        }
    }
}
