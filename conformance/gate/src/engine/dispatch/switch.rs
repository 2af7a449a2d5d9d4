//! The kernel's switch: whether it looks at this thread's calls.

use super::thread::Thread;
use super::{raw, region};

/// `PR_SET_SYSCALL_USER_DISPATCH`, the first argument of `prctl`.
pub(super) const DISPATCH: u64 = 59;

/// Tells the kernel to watch this thread, or to stop.
pub(super) fn turn(thread: &Thread, on: bool) -> Result<(), &'static str> {
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
        [DISPATCH, 1, start as u64, length as u64, thread.selector_address(), 0]
    } else {
        [DISPATCH, 0, 0, 0, 0, 0]
    };
    // SAFETY: the selector lives as long as this thread and is one of the two values the kernel knows; the region is
    // this program's own code.
    match unsafe { raw::call(raw::number(libc::SYS_prctl), args) } {
        0 => Ok(()),
        _ if on => Err("the kernel refused to watch this thread (prctl PR_SET_SYSCALL_USER_DISPATCH)"),
        _ => Err("the kernel refused to stop watching this thread"),
    }
}
