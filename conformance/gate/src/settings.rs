//! What counts.

use std::error::Error;
use std::fmt;
use std::panic::Location;
use std::time::Duration;

use crate::rules::Rules;
use crate::scope::Scope;
use crate::{Record, Strict, Unavailable, Violation, calls, require, status};

/// What counts as a violation, where that is a matter of taste.
///
/// | what | by default | because |
/// | --- | --- | --- |
/// | writes to standard output and standard error | allowed | logging does it everywhere, and a terminal or a pipe to a collector rarely waits |
/// | waits for a lock or another thread | allowed | short internal locks are honest, and every runtime has some |
/// | starting a process | reported, except through `tokio::process` and its like | it copies page tables and reads a program from disk; an async process API has no other way |
/// | dropping a future before its end | gated | a destructor that blocks does so on the polling thread |
///
/// ```
/// use std::time::Duration;
/// use leasehold_gate::{ProcessSpawn, Settings};
///
/// # fn main() -> Result<(), leasehold_gate::UnknownCall> {
/// let settings = Settings::new()
///     .report_stdio(true)
///     .report_lock_waits(Duration::from_millis(1))
///     .process_spawn(ProcessSpawn::Allow)
///     .allow_calls("the audit log is synced before a request is answered", ["fsync", "fdatasync"])?;
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// settings.strict(async { /* … */ }).await;
/// # });
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Settings {
    pub(crate) rules: Rules,
    pub(crate) spawn: ProcessSpawn,
    pub(crate) drops: bool,
}

/// What to make of a process that is started within a gated poll.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum ProcessSpawn {
    /// Report each, whoever starts it.
    Report,
    /// Report each, except those started through `tokio::process` or `async_process`, which start processes in the
    /// poll by design. They are told by the names in the backtrace, so in a stripped binary they are reported too.
    #[default]
    ExcuseAsync,
    /// Report none. Waiting for a child is reported all the same.
    Allow,
}

impl Settings {
    /// The defaults.
    pub fn new() -> Self {
        Self { rules: Rules::new(), spawn: ProcessSpawn::ExcuseAsync, drops: true }
    }

    /// Whether writes to standard output and standard error count. Off by default.
    pub fn report_stdio(mut self, report: bool) -> Self {
        self.rules.stdio = report;
        self
    }

    /// Report waits for a lock or another thread that took at least so long. Off by default. Zero reports every wait
    /// that reached the kernel.
    pub fn report_lock_waits(mut self, at_least: Duration) -> Self {
        self.rules.locks_over = Some(at_least);
        self
    }

    /// What to make of processes that are started. [`ProcessSpawn::ExcuseAsync`] by default.
    pub fn process_spawn(mut self, spawn: ProcessSpawn) -> Self {
        self.spawn = spawn;
        self.rules.spawn = spawn != ProcessSpawn::Allow;
        self
    }

    /// Whether a [`strict`](crate::strict()) future that is dropped before its end is dropped under the gate. On by
    /// default; turn it off where such futures are dropped on threads that may block.
    pub fn gate_cancelled_drops(mut self, gate: bool) -> Self {
        self.drops = gate;
        self
    }

    /// Lets some system calls pass throughout, by the kernel's names. Prefer [`allow`](crate::allow()) around the one
    /// place that needs it.
    ///
    /// # Errors
    ///
    /// [`UnknownCall`] for a name that the [table](calls::table()) doesn't have: a name that was misspelt, or that is a
    /// function's and not a system call's, would allow nothing and look as if it did.
    ///
    /// # Panics
    ///
    /// When the reason is empty.
    #[track_caller]
    pub fn allow_calls<'a>(
        mut self,
        reason: &str,
        names: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self, UnknownCall> {
        assert!(!reason.trim().is_empty(), "allow_calls wants a reason: why may these block?");
        for name in names {
            let row = calls::find(name).ok_or_else(|| UnknownCall { name: name.to_owned() })?;
            self.rules.allow(row.number);
        }
        Ok(self)
    }

    /// [`strict`](crate::strict()) with these settings.
    ///
    /// # Panics
    ///
    /// When the gate is unavailable and required; the future itself panics after a poll that blocked.
    #[track_caller]
    pub fn strict<F: Future>(self, future: F) -> Strict<F> {
        Strict::new(future, self, Location::caller())
    }

    /// [`try_strict`](crate::try_strict()) with these settings.
    ///
    /// # Errors
    ///
    /// [`Unavailable`], with the reason.
    #[track_caller]
    pub fn try_strict<F: Future>(self, future: F) -> Result<Strict<F>, Unavailable> {
        require()?;
        Ok(Strict::new(future, self, Location::caller()))
    }

    /// [`record`](crate::record()) with these settings.
    ///
    /// # Panics
    ///
    /// When the gate is unavailable and required, or turns out to be blind.
    #[track_caller]
    pub fn record<F: Future>(self, future: F) -> Record<F> {
        Record::new(future, self, Location::caller())
    }

    /// [`during`](crate::during()) with these settings.
    ///
    /// # Panics
    ///
    /// When the gate is unavailable and required, or turns out to be blind.
    #[track_caller]
    pub fn during<R>(self, work: impl FnOnce() -> R) -> (R, Vec<Violation>) {
        status::admit();
        Scope::new(self, Location::caller()).run(work)
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self::new()
    }
}

/// A name in an allow-list that is no system call's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownCall {
    name: String,
}

impl UnknownCall {
    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Display for UnknownCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` is no system call the gate knows; it wants the kernel's names, such as `openat`",
            self.name
        )
    }
}

impl Error for UnknownCall {}
