//! One piece of blocking work.

use std::fmt;
use std::time::Duration;

use crate::frames::{self, Frame};
use crate::tape::Entry;

/// One system call that blocks, made while an async task was being polled.
///
/// Its [`Display`](fmt::Display) is what a failing test shows.
#[derive(Clone)]
pub struct Violation {
    call: String,
    target: Option<String>,
    took: Option<Duration>,
    thread: Option<String>,
    reason: &'static str,
    addresses: Vec<usize>,
    pub(crate) more: usize,
}

const NOT_IN_THE_TABLE: &str =
    "it is not in the table of calls, so it is not known to be harmless; see `leasehold_gate::calls`";

impl Violation {
    /// To be made on the thread that made the call.
    pub(crate) fn new(entry: &Entry) -> Self {
        let call = match (entry.row, entry.is_32_bit) {
            (Some(row), _) => row.name.to_owned(),
            (None, false) => format!("system call {}", entry.number),
            (None, true) => format!("32-bit system call {}", entry.number),
        };
        let target = String::from_utf8_lossy(entry.target.as_bytes()).into_owned();
        Self {
            call,
            target: Some(target).filter(|target| !target.is_empty()),
            took: entry.took,
            thread: std::thread::current().name().map(str::to_owned),
            reason: entry.row.map_or(NOT_IN_THE_TABLE, |row| row.reason),
            addresses: entry.frames().to_vec(),
            more: 0,
        }
    }

    /// The kernel's name of the call, such as `openat`; `system call 999` for one that the table doesn't have.
    pub fn call(&self) -> &str {
        &self.call
    }

    /// What the call was about, where that could be told: a path, the file behind a descriptor, a socket's address, a
    /// time.
    pub fn target(&self) -> Option<&str> {
        self.target.as_deref()
    }

    /// How long the call took, by the monotonic clock; `None` for one that started a process.
    pub fn duration(&self) -> Option<Duration> {
        self.took
    }

    /// The name of the thread that made it.
    pub fn thread(&self) -> Option<&str> {
        self.thread.as_deref()
    }

    /// Why the call counts.
    pub fn reason(&self) -> &'static str {
        self.reason
    }

    /// How many further violations of the same poll were counted but not kept: a poll keeps 24. Not zero on the last
    /// one of a poll alone.
    pub fn more(&self) -> usize {
        self.more
    }

    /// The frames that led to the call, innermost first: from the first that isn't the standard library's or libc's to
    /// the one that the gate polled.
    ///
    /// Names, files and lines are looked up now, from the debug information. That reads files; don't ask within a gated
    /// poll.
    pub fn backtrace(&self) -> Vec<Frame> {
        frames::resolve(&self.addresses)
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 16;
        write!(f, "{}", self.call)?;
        if let Some(target) = &self.target {
            write!(f, " {target}")?;
        }
        if let Some(took) = self.took {
            write!(f, ", took {took:?}")?;
        }
        if let Some(thread) = &self.thread {
            write!(f, ", on thread `{thread}`")?;
        }
        write!(f, "\n     why: {}", self.reason)?;
        let frames = self.backtrace();
        for frame in frames.iter().take(SHOWN) {
            write!(f, "\n      at {frame}")?;
        }
        if frames.len() > SHOWN {
            write!(f, "\n      … and {} more frames", frames.len() - SHOWN)?;
        }
        if self.more > 0 {
            write!(f, "\n  … and {} more calls in the same poll, which were only counted", self.more)?;
        }
        Ok(())
    }
}

impl fmt::Debug for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Violation")
            .field("call", &self.call)
            .field("target", &self.target)
            .field("took", &self.took)
            .field("thread", &self.thread)
            .finish_non_exhaustive()
    }
}
