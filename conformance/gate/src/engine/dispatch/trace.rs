//! The addresses of the frames that led to a call.

use super::frame::Context;
use super::look::Here;
use crate::calls::Look as _;
use crate::tape::Entry;

/// Notes where each frame was, from the one that made the call outwards. Only the addresses: turning them into names
/// opens files and takes locks, which is for after the poll.
pub(super) fn record(entry: &mut Entry, context: &mut Context) {
    walk(entry, context.rip);
    if entry.frames().len() <= 1 {
        without_the_leaf(entry, context);
    }
}

/// libc ends the unwind information of `clone` and `clone3` right before their system call, since in the child it
/// would be wrong. In the parent these functions keep nothing on the stack but the address they return to, so the walk
/// begins there.
fn without_the_leaf(entry: &mut Entry, context: &mut Context) {
    let (rip, rsp) = (context.rip, context.rsp);
    let Some(caller) = Here.word(rsp) else { return };
    pretend_to_be_at(context, caller, rsp.wrapping_add(8));
    walk(entry, caller);
    pretend_to_be_at(context, rip, rsp);
}

/// Sets what the unwinder will find in the signal frame. The compiler can't know that anyone reads it there, so it must
/// not be free to leave the stores out.
fn pretend_to_be_at(context: &mut Context, rip: u64, rsp: u64) {
    // SAFETY: both are fields of a live structure that is borrowed for writing.
    unsafe {
        (&raw mut context.rip).write_volatile(rip);
        (&raw mut context.rsp).write_volatile(rsp);
    }
}

fn walk(entry: &mut Entry, site: u64) {
    entry.clear_frames();
    let mut reached = false;
    // SAFETY: not synchronised, which is what a signal handler needs. The unwinder only reads: it takes its tables from
    // the loader without a lock of this program's, and this thread's stack can't change while it is here.
    unsafe {
        backtrace::trace_unsynchronized(|frame| {
            let address = frame.ip() as usize;
            // The first frames are the handler's own. The program's begin where it was interrupted.
            if !reached && address as u64 == site {
                reached = true;
                entry.clear_frames();
            }
            entry.push_frame(address)
        });
    }
}
