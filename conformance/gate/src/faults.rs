//! Ways to make the gate blind on purpose, for the tests that show it notices.
//!
//! Everything here acts on the calling thread alone, until the closure returns.

use std::cell::Cell;

/// What is wrong with the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The kernel is never told.
    NeverArmed,
    /// The kernel is told to watch another thread.
    WrongThread,
    /// The kernel is never told to stop.
    LeftArmed,
    /// The table has lost the row of that number.
    LostRow(u64),
    /// Calls are judged and noted, and answered with "not implemented" instead of being made.
    Dry,
}

thread_local! {
    static FAULT: Cell<Option<Fault>> = const { Cell::new(None) };
    static DRY: Cell<bool> = const { Cell::new(false) };
}

/// Runs a closure on a thread whose engine has that fault. A dry run may be combined with another fault.
pub fn with<R>(fault: Fault, work: impl FnOnce() -> R) -> R {
    struct Restore(Option<Fault>, bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            FAULT.set(self.0);
            DRY.set(self.1);
        }
    }
    let _restore = Restore(FAULT.get(), DRY.get());
    if fault == Fault::Dry {
        DRY.set(true);
    } else {
        FAULT.set(Some(fault));
    }
    work()
}

/// The engine's own canary, run again.
///
/// # Errors
///
/// What it found.
pub fn self_test() -> Result<(), String> {
    crate::engine::canary()
}

pub(crate) fn is(fault: Fault) -> bool {
    FAULT.get() == Some(fault)
}

/// Makes a system call with any arguments at all, within a gated scope of a [dry](Fault::Dry) thread: the gate judges it
/// and nobody makes it.
///
/// # Panics
///
/// When the gate is not up here, since the call would then be made.
pub fn pretend(number: u64, args: [u64; 6]) {
    assert!(is_dry(), "only a dry thread may pretend");
    crate::engine::pretend(number, args);
}

pub(crate) fn is_dry() -> bool {
    DRY.get()
}

pub(crate) fn row_is_lost(number: u64) -> bool {
    is(Fault::LostRow(number))
}
