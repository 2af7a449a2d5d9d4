//! The gate up on a thread, for one poll.

use std::marker::PhantomData;
use std::ptr;

use super::Blind;
use super::thread::{ALLOW, BLOCK, Thread};
use super::{handler, mask, previous, raw, switch};
use crate::rules::Rules;
use crate::tape::Tape;

/// The gate is up on this thread for as long as this lives; it can't leave the thread.
#[must_use]
pub(crate) struct Armed<'tape> {
    /// Noted into by the handler, through its own copy of this pointer.
    tape: *mut Tape,
    /// What to go back to: the scope around this one.
    outer: *mut Tape,
    outer_rules: Rules,
    outer_selected: u8,
    is_outermost: bool,
    finished: bool,
    /// The tape is this guard's alone until it is gone. (The pointers keep the guard on its thread.)
    _borrows: PhantomData<&'tape mut Tape>,
}

/// Raises the gate on this thread and proves that it is up.
///
/// # Errors
///
/// When it can't be raised, or a call made to be seen was not seen.
pub(crate) fn arm(tape: &mut Tape, rules: Rules) -> Result<Armed<'_>, Blind> {
    Thread::with(|thread| {
        let process = raw::process_id();
        if thread.process.get() != process {
            // A child made by `fork`: the memory says that the gate is up, the kernel took it down.
            thread.on.set(false);
            thread.tape.set(ptr::null_mut());
            thread.process.set(process);
        }
        let is_outermost = !thread.on.get();
        let outer_selected = if is_outermost { ALLOW } else { thread.selected() };
        thread.select(ALLOW);
        previous::install().map_err(Blind)?;
        let was_blocked = thread.wants_blocked.get();
        mask::open(thread);
        if !is_outermost && outer_selected == BLOCK {
            // Between two gated scopes nothing changed the mask behind our back, and it never held SIGSYS.
            thread.wants_blocked.set(was_blocked);
        }
        if is_outermost {
            thread.trouble.set(None);
            if let Err(why) = switch::turn(thread, true) {
                mask::close(thread);
                return Err(Blind(why));
            }
        }
        let tape: *mut Tape = tape;
        let armed = Armed {
            tape,
            outer: thread.tape.replace(tape),
            outer_rules: thread.rules.replace(rules),
            outer_selected,
            is_outermost,
            finished: false,
            _borrows: PhantomData,
        };
        thread.on.set(true);
        thread.select(BLOCK);
        if handler::sees() {
            Ok(armed)
        } else {
            thread.select(ALLOW);
            Err(Blind("it was raised, and a system call made to be seen was not seen"))
        }
    })
}

impl Armed<'_> {
    /// Lowers the gate and proves that it is down.
    ///
    /// # Errors
    ///
    /// When it was not up all the time, or is still up.
    pub(crate) fn finish(mut self) -> Result<(), Blind> {
        self.lower()
    }

    fn lower(&mut self) -> Result<(), Blind> {
        self.finished = true;
        Thread::with(|thread| {
            let was_up = thread.selected() == BLOCK && ptr::eq(thread.tape.get(), self.tape);
            thread.select(ALLOW);
            thread.tape.set(self.outer);
            thread.rules.set(self.outer_rules);
            // SAFETY: the outer scope's tape is borrowed by the outer guard, which outlives this one on this thread; ours
            // is borrowed by this one. The handler has neither any more, and the selector lets calls through.
            if let (Some(outer), inner) = unsafe { (self.outer.as_mut(), &*self.tape) } {
                outer.absorb(inner);
            }
            let trouble = if self.is_outermost { thread.trouble.take() } else { None };
            let down = if self.is_outermost {
                let down = self.take_down(thread);
                mask::close(thread);
                down
            } else {
                if self.outer_selected == ALLOW {
                    // Within `allow`, the thread has the mask the program believes it to have.
                    mask::close(thread);
                }
                thread.select(self.outer_selected);
                Ok(())
            };
            down?;
            if let Some(why) = trouble {
                return Err(Blind(why));
            }
            if was_up { Ok(()) } else { Err(Blind("it went down in the middle of the poll")) }
        })
    }

    fn take_down(&self, thread: &Thread) -> Result<(), Blind> {
        thread.on.set(false);
        #[cfg(feature = "faults")]
        let told = if crate::faults::is(crate::faults::Fault::LeftArmed) {
            Ok(())
        } else {
            switch::turn(thread, false)
        };
        #[cfg(not(feature = "faults"))]
        let told = switch::turn(thread, false);
        // With the byte on "raise", a thread that the kernel still watches can't hide it.
        thread.select(BLOCK);
        let still_up = handler::sees();
        thread.select(ALLOW);
        told.map_err(Blind)?;
        if still_up {
            switch::turn(thread, false).map_err(Blind)?;
            return Err(Blind("it was lowered, and system calls were still seen afterwards"));
        }
        Ok(())
    }
}

impl Drop for Armed<'_> {
    fn drop(&mut self) {
        if !self.finished {
            // The poll panics. Whether the gate was sound no longer matters, only that it is down.
            let _ = self.lower();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gate_that_went_down_in_mid_poll_says_so_and_the_next_one_is_sound() {
        if crate::status::require().is_err() {
            crate::status::admit();
            return;
        }
        let mut tape = Tape::new();
        let armed = arm(&mut tape, Rules::new()).expect("it is available");
        // As when a signal handler jumps out of a call in progress, and the gate never gets to go up again.
        std::mem::forget(super::super::suspend());
        assert_eq!(armed.finish(), Err(Blind("it went down in the middle of the poll")));
        assert_eq!(arm(&mut tape, Rules::new()).and_then(Armed::finish), Ok(()));
    }
}
