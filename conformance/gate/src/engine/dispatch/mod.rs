//! The engine for Linux on x86_64: Syscall User Dispatch.
//!
//! The kernel looks at one byte of a thread before each system call and, when the byte says so, raises SIGSYS in place
//! of the call. The handler then judges the call, notes it, makes it in the program's stead and puts its result where
//! the program expects it. Nothing is patched and no function is known by name, so a call is seen whoever makes it:
//! the standard library, libc's own inner calls, C code, or a bare `syscall` instruction.
//!
//! | file | what it does |
//! | --- | --- |
//! | `thread.rs` | what is known of each thread, the byte included |
//! | `handler.rs` | what happens in place of a call |
//! | `region.rs` | calls that have to run where they were made: new threads, new processes, the end of a handler |
//! | `mask.rs` | keeps SIGSYS deliverable without the program noticing |
//! | `previous.rs` | other users of SIGSYS |
//! | `look.rs`, `describe.rs`, `trace.rs` | what a call was about and where it came from |
//! | `proof.rs` | the engine's own canary |
//! | `raw.rs`, `frame.rs` | system calls without libc, and the kernel's structures |

mod describe;
mod frame;
mod handler;
mod look;
mod mask;
mod previous;
mod proof;
mod raw;
mod region;
mod thread;
mod trace;

use std::marker::PhantomData;
use std::ptr;

pub(crate) use proof::available;
#[cfg(feature = "faults")]
pub(crate) use proof::{canary, pretend};

use super::Blind;
use crate::rules::Rules;
use crate::tape::Tape;
use thread::{ALLOW, BLOCK, Thread};

/// `PR_SET_SYSCALL_USER_DISPATCH`.
const SWITCH: u64 = 59;

/// The gate is up on this thread for as long as this lives; it can't leave the thread.
#[must_use]
pub(crate) struct Armed<'tape> {
    tape: &'tape mut Tape,
    /// What to go back to: the scope around this one.
    outer: *mut Tape,
    outer_rules: Rules,
    outer_selected: u8,
    is_outermost: bool,
    finished: bool,
    _stays_on_its_thread: PhantomData<*mut ()>,
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
            switch(thread, true).map_err(Blind)?;
        }
        let armed = Armed {
            outer: thread.tape.replace(tape),
            outer_rules: thread.rules.replace(rules),
            tape,
            outer_selected,
            is_outermost,
            finished: false,
            _stays_on_its_thread: PhantomData,
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
            // SAFETY: the outer scope's tape is borrowed by the outer guard, which outlives this one on this thread, and
            // nothing notes into it while the selector lets calls through.
            if let Some(outer) = unsafe { self.outer.as_mut() } {
                outer.absorb(self.tape);
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
        let told =
            if crate::faults::is(crate::faults::Fault::LeftArmed) { Ok(()) } else { switch(thread, false) };
        #[cfg(not(feature = "faults"))]
        let told = switch(thread, false);
        // With the byte on "raise", a thread that the kernel still watches can't hide it.
        thread.select(BLOCK);
        let still_up = handler::sees();
        thread.select(ALLOW);
        told.map_err(Blind)?;
        if still_up {
            switch(thread, false).map_err(Blind)?;
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

/// Tells the kernel to watch this thread, or to stop.
fn switch(thread: &Thread, on: bool) -> Result<(), &'static str> {
    #[cfg(feature = "faults")]
    if on && crate::faults::is(crate::faults::Fault::NeverArmed) {
        return Ok(());
    }
    #[cfg(feature = "faults")]
    if on && crate::faults::is(crate::faults::Fault::WrongThread) {
        return std::thread::scope(|scope| {
            let elsewhere = scope.spawn(|| Thread::with(|other| tell(other, true)));
            elsewhere.join().unwrap_or(Err("the other thread panicked"))
        });
    }
    tell(thread, on)
}

fn tell(thread: &Thread, on: bool) -> Result<(), &'static str> {
    let (start, length) = region::bounds();
    let args = if on {
        [SWITCH, 1, start as u64, length as u64, thread.selector_address(), 0]
    } else {
        [SWITCH, 0, 0, 0, 0, 0]
    };
    // SAFETY: the selector lives as long as this thread and is one of the two values the kernel knows; the region is
    // this program's own code.
    match unsafe { raw::call(raw::number(libc::SYS_prctl), args) } {
        0 => Ok(()),
        _ if on => Err("the kernel refused to watch this thread (prctl PR_SET_SYSCALL_USER_DISPATCH)"),
        _ => Err("the kernel refused to stop watching this thread"),
    }
}

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
