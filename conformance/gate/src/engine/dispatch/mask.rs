//! A gated thread's signal mask, which never holds SIGSYS, whatever the program asks for.
//!
//! The kernel ends a process when it has to raise SIGSYS and can't. Honest code blocks all signals now and then:
//! `pthread_create` does so around each new thread. So the program is told that SIGSYS is blocked, and it is not.

use super::frame::Context;
use super::previous;
use super::raw::{self, Action, SIGSYS_BIT};
use super::thread::Thread;
use crate::calls::Arguments;

/// `rt_sigprocmask` in place of the program. The mask to change is the one the thread will have when the handler
/// returns, which stands in the signal frame.
pub(super) fn change(thread: &Thread, args: &Arguments, context: &mut Context) -> u64 {
    // The handler runs with the mask of the interrupted thread. With SIGSYS put in where the program believes it to be,
    // the kernel does the rest, its checks of the arguments included.
    if thread.wants_blocked.get() {
        raw::change_mask(libc::SIG_BLOCK, SIGSYS_BIT);
    }
    // SAFETY: this is the program's own call with its own arguments.
    let result = unsafe { raw::call(raw::number(libc::SYS_rt_sigprocmask), *args) };
    let asked = raw::mask();
    thread.wants_blocked.set(asked & SIGSYS_BIT != 0);
    context.mask = asked & !SIGSYS_BIT;
    result as u64
}

/// `rt_sigaction` for SIGSYS in place of the program: it reads and sets what comes after us, and ours stays.
pub(super) fn sigsys_action(args: &Arguments) -> u64 {
    const SIZE: usize = size_of::<Action>();
    let [_, new, old, mask_bytes, ..] = *args;
    let failed = |error: i32| -i64::from(error) as u64;
    if mask_bytes != 8 {
        return failed(libc::EINVAL);
    }
    let before = previous::kept();
    if new != 0 {
        let mut bytes = [0; SIZE];
        if raw::peek(new, &mut bytes) != SIZE {
            return failed(libc::EFAULT);
        }
        previous::keep(&Action::from_bytes(&bytes));
    }
    if old != 0 && raw::poke(old, &before.to_bytes()) != SIZE {
        return failed(libc::EFAULT);
    }
    0
}

/// Takes SIGSYS out of this thread's mask, and notes whether the program believes it to be in there.
pub(super) fn open(thread: &Thread) {
    let before = raw::change_mask(libc::SIG_UNBLOCK, SIGSYS_BIT);
    thread.wants_blocked.set(before & SIGSYS_BIT != 0);
}

/// Gives the thread the mask that the program believes it to have.
pub(super) fn close(thread: &Thread) {
    if thread.wants_blocked.get() {
        raw::change_mask(libc::SIG_BLOCK, SIGSYS_BIT);
    }
}
