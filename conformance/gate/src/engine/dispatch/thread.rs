//! What the engine knows of each thread.

use std::cell::Cell;
use std::ptr;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::rules::Rules;
use crate::tape::Tape;

/// Let calls through.
pub(super) const ALLOW: u8 = 0;
/// Raise SIGSYS in place of a call.
pub(super) const BLOCK: u8 = 1;

/// One thread's state. It holds nothing with a destructor and is made by the compiler, so that a signal handler may
/// use it at any moment of the thread's life.
pub(super) struct Thread {
    /// The byte the kernel reads at each call.
    selector: AtomicU8,
    /// Whether the kernel was told to look at it.
    pub(super) on: Cell<bool>,
    /// Which process armed it: a child made by `fork` inherits this memory, but not the kernel's state.
    pub(super) process: Cell<i64>,
    /// Where to note what is seen; null when no scope wants to know.
    pub(super) tape: Cell<*mut Tape>,
    pub(super) rules: Cell<Rules>,
    /// Whether the program believes that SIGSYS is blocked. It never is while the gate is up, since the kernel kills a
    /// process whose SIGSYS it can't deliver.
    pub(super) wants_blocked: Cell<bool>,
    /// What made the gate blind in the middle of a poll.
    pub(super) trouble: Cell<Option<&'static str>>,
}

thread_local! {
    static THREAD: Thread = const {
        Thread {
            selector: AtomicU8::new(ALLOW),
            on: Cell::new(false),
            process: Cell::new(0),
            tape: Cell::new(ptr::null_mut()),
            rules: Cell::new(Rules::new()),
            wants_blocked: Cell::new(false),
            trouble: Cell::new(None),
        }
    };
}

impl Thread {
    /// The calling thread's.
    pub(super) fn with<R>(f: impl FnOnce(&Thread) -> R) -> R {
        THREAD.with(f)
    }

    /// Sets the byte the kernel reads. The kernel reads it on this very thread, so the compiler's order is all that
    /// matters; a release store keeps what was written before it before it.
    pub(super) fn select(&self, what: u8) {
        self.selector.store(what, Ordering::SeqCst);
    }

    pub(super) fn selected(&self) -> u8 {
        self.selector.load(Ordering::SeqCst)
    }

    pub(super) fn selector_address(&self) -> u64 {
        self.selector.as_ptr() as u64
    }
}
