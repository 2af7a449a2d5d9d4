//! The gate down for a while, within a poll in which it is up.

use std::marker::PhantomData;

use super::Blind;
use super::thread::{ALLOW, BLOCK, Thread};
use super::{handler, mask, previous, raw};

/// The gate is down on this thread for as long as this lives, within a scope in which it is up.
pub(crate) struct Suspended {
    selected: u8,
    finished: bool,
    _stays_on_its_thread: PhantomData<*mut ()>,
}

/// Lowers the gate for a while; does nothing where it isn't up.
pub(crate) fn suspend() -> Suspended {
    Thread::with(|thread| {
        let selected = if thread.on.get() { thread.selected() } else { ALLOW };
        if selected == BLOCK {
            thread.select(ALLOW);
            mask::close(thread);
        }
        Suspended { selected, finished: false, _stays_on_its_thread: PhantomData }
    })
}

impl Suspended {
    /// Raises the gate again.
    ///
    /// # Errors
    ///
    /// When a call made to be seen was not seen.
    pub(crate) fn resume(mut self) -> Result<(), Blind> {
        self.raise()
    }

    fn raise(&mut self) -> Result<(), Blind> {
        self.finished = true;
        if self.selected != BLOCK {
            return Ok(());
        }
        Thread::with(|thread| {
            if thread.process.get() != raw::process_id() {
                // The other side of a `fork`.
                return Ok(());
            }
            previous::install().map_err(Blind)?;
            mask::open(thread);
            thread.select(BLOCK);
            if handler::sees() {
                return Ok(());
            }
            thread.select(ALLOW);
            thread
                .trouble
                .set(Some("it could not be raised again after a while in which calls were allowed"));
            Err(Blind("it was raised again, and a system call made to be seen was not seen"))
        })
    }
}

impl Drop for Suspended {
    fn drop(&mut self) {
        if !self.finished {
            let _ = self.raise();
        }
    }
}
