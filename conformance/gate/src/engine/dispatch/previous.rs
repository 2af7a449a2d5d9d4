//! Whoever else handles SIGSYS: seccomp filters with traps, crash reporters, other engines.
//!
//! There is one action for SIGSYS in a process, and it is ours from the first arming on. What was there before is kept
//! here, called for every SIGSYS that no gated call raised, and shown to a gated thread that asks for it.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use super::frame::{Context, SignalInfo};
use super::raw::{self, Action};
use super::{handler, region};

/// The fields of an [`Action`], one word each, since a signal handler can't wait for a lock.
static PREVIOUS: [AtomicU64; 4] = [const { AtomicU64::new(0) }; 4];
static INSTALLING: Mutex<()> = Mutex::new(());

const SIG_DFL: u64 = 0;
const SIG_IGN: u64 = 1;
const SA_RESTORER: u64 = 0x0400_0000;

/// Sees to it that SIGSYS is ours, also when another took it since.
pub(super) fn install() -> Result<(), &'static str> {
    if is_ours(&current()?) {
        return Ok(());
    }
    let _one_at_a_time = INSTALLING.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let found = current()?;
    if is_ours(&found) {
        return Ok(());
    }
    keep(&found);
    let ours = Action {
        handler: handler::address(),
        flags: libc::SA_SIGINFO as u64 | libc::SA_NODEFER as u64 | SA_RESTORER,
        restorer: region::restorer() as u64,
        mask: 0,
    };
    raw::sigsys_action(Some(&ours)).map_err(|_| "the handler of SIGSYS could not be installed")?;
    Ok(())
}

fn current() -> Result<Action, &'static str> {
    raw::sigsys_action(None).map_err(|_| "the handler of SIGSYS could not be read")
}

fn is_ours(action: &Action) -> bool {
    action.handler == handler::address()
}

pub(super) fn kept() -> Action {
    let [handler, flags, restorer, mask] = PREVIOUS.each_ref().map(|word| word.load(Ordering::Acquire));
    Action { handler, flags, restorer, mask }
}

pub(super) fn keep(action: &Action) {
    let words = [action.handler, action.flags, action.restorer, action.mask];
    for (slot, word) in PREVIOUS.iter().zip(words) {
        slot.store(word, Ordering::Release);
    }
}

/// Hands a SIGSYS that is not ours to whoever was there before us.
///
/// # Safety
///
/// Only from within the handler, with what the kernel handed to it.
pub(super) unsafe fn pass_on(signal: i32, info: *mut SignalInfo, context: *mut Context) {
    let action = kept();
    // SAFETY: the caller vouches for the pointer.
    let sent_by_a_program = unsafe { (*info).code } <= 0;
    match action.handler {
        SIG_IGN if sent_by_a_program => {}
        // The kernel's own way with a SIGSYS that nobody handles is to end the process, ignored or not.
        SIG_DFL | SIG_IGN => end_by_default(),
        handler => {
            let nodefer = action.flags & libc::SA_NODEFER as u64 != 0;
            let itself = if nodefer { 0 } else { raw::SIGSYS_BIT };
            // The mask goes back to what it was when our own handler returns.
            raw::change_mask(libc::SIG_BLOCK, action.mask | itself);
            if action.flags & libc::SA_SIGINFO as u64 != 0 {
                type WithInfo = unsafe extern "C" fn(i32, *mut SignalInfo, *mut Context);
                // SAFETY: the program gave this address as a handler of this shape, by SA_SIGINFO.
                let call: WithInfo = unsafe { std::mem::transmute(handler as *const ()) };
                // SAFETY: these are the arguments the kernel made for such a handler.
                unsafe { call(signal, info, context) };
            } else {
                type Plain = unsafe extern "C" fn(i32);
                // SAFETY: the program gave this address as a handler of this shape, without SA_SIGINFO.
                let call: Plain = unsafe { std::mem::transmute(handler as *const ()) };
                // SAFETY: the signal is all such a handler gets.
                unsafe { call(signal) };
            }
        }
    }
}

fn end_by_default() {
    let default = Action::default();
    let _ = raw::sigsys_action(Some(&default));
    raw::change_mask(libc::SIG_UNBLOCK, raw::SIGSYS_BIT);
    // SAFETY: takes no pointers.
    unsafe {
        let thread = raw::call(raw::number(libc::SYS_gettid), [0; 6]) as u64;
        let args = [raw::process_id() as u64, thread, libc::SIGSYS as u64, 0, 0, 0];
        raw::call(raw::number(libc::SYS_tgkill), args);
    }
}
