//! The signal handler: what happens in place of a system call of a gated thread.
//!
//! It runs in the middle of anything, malloc included. So it allocates nothing, takes no lock, touches no `errno`, and
//! never unwinds (it is an `extern "C"` function, which aborts instead).

use std::time::Duration;

use super::frame::{Context, SignalInfo};
use super::look::Here;
use super::thread::{ALLOW, BLOCK, Thread};
use super::{describe, mask, previous, raw, region, switch, trace};
use crate::calls::{self, Arguments, Verdict};
use crate::tape::Entry;

/// What a call is made of.
struct Call {
    number: u64,
    args: Arguments,
    is_32_bit: bool,
}

/// The address to install.
pub(super) fn address() -> u64 {
    on_sigsys as *const () as u64
}

unsafe extern "C" fn on_sigsys(signal: i32, info: *mut SignalInfo, context: *mut Context) {
    // SAFETY: the kernel hands both to every handler installed with SA_SIGINFO, and they live until it returns.
    let (sent, interrupted) = unsafe { (&*info, &mut *context) };
    Thread::with(|thread| {
        if sent.is_dispatch() {
            thread.select(ALLOW);
            let is_32_bit = sent.is_32_bit();
            let call = Call { number: interrupted.number(), args: interrupted.arguments(), is_32_bit };
            dispatch(thread, &call, interrupted);
        } else {
            let selected = thread.selected();
            thread.select(ALLOW);
            // SAFETY: these are what the kernel handed to us.
            unsafe { previous::pass_on(signal, info, context) };
            thread.select(selected);
        }
    });
}

fn dispatch(thread: &Thread, call: &Call, context: &mut Context) {
    if is_sentinel(call) {
        context.rax = SEEN;
        thread.select(BLOCK);
        return;
    }
    if !thread.on.get() {
        // Left armed by mistake. The check at the end of a poll tells; until then the program must not suffer.
        context.rax = make(call);
        return;
    }
    let number = if call.is_32_bit { u64::MAX } else { call.number };
    let row = calls::by_number(number);
    let verdict = row.map_or(Verdict::Blocking, |row| calls::judge(&row.class, &call.args, &Here));
    let rules = thread.rules.get();
    // A thread that panics reads debug information for its backtrace. That would bury the panic under violations.
    let counts = rules.counts(number, verdict) && !std::thread::panicking();
    // SAFETY: the scope that set this pointer borrows the tape for as long as the pointer stands, on this thread; and
    // no dispatch happens within another, since the selector lets calls through from the first line on.
    let tape = if counts { unsafe { thread.tape.get().as_mut() } } else { None };

    let stays_up = match tape {
        None => carry_out(thread, call, context),
        // A lock wait counts by the time it took, so it is noted afterwards.
        Some(tape) if verdict == Verdict::Lock => {
            let (stays_up, took) = timed(|| carry_out(thread, call, context));
            if rules.locks_over.is_some_and(|limit| took >= limit)
                && let Some(entry) = tape.next()
            {
                note(entry, call, row, verdict, context);
                entry.took = Some(took);
            }
            stays_up
        }
        // Of any other call, what its arguments point to may be gone afterwards, so it is noted first.
        Some(tape) => {
            let mut entry = tape.next();
            if let Some(entry) = entry.as_deref_mut() {
                note(entry, call, row, verdict, context);
            }
            let (stays_up, took) = timed(|| carry_out(thread, call, context));
            if let Some(entry) = entry
                && !goes_native(call)
            {
                entry.took = Some(took);
            }
            stays_up
        }
    };
    if stays_up {
        thread.select(BLOCK);
    }
}

fn timed<R>(work: impl FnOnce() -> R) -> (R, Duration) {
    let start = raw::now();
    let result = work();
    (result, Duration::from_nanos(raw::now().saturating_sub(start)))
}

fn note(
    entry: &mut Entry,
    call: &Call,
    row: Option<&'static calls::Row>,
    verdict: Verdict,
    context: &mut Context,
) {
    entry.number = call.number;
    entry.row = row;
    entry.verdict = verdict;
    entry.is_32_bit = call.is_32_bit;
    if let Some(row) = row {
        describe::target(row.show, &call.args, &mut entry.target);
    }
    trace::record(entry, context);
}

/// Sees to it that the call is made, here or by a stub. Returns whether the gate may be up when the handler returns.
fn carry_out(thread: &Thread, call: &Call, context: &mut Context) -> bool {
    #[cfg(feature = "faults")]
    if crate::faults::is_dry() {
        context.rax = -i64::from(libc::ENOSYS) as u64;
        return true;
    }
    if goes_native(call) {
        return by_stub(thread, call, context);
    }
    context.rax = match call.number as libc::c_long {
        libc::SYS_rt_sigprocmask => mask::change(thread, &call.args, context),
        libc::SYS_rt_sigaction if call.args[0] == libc::SIGSYS as u64 => mask::sigsys_action(&call.args),
        // The gate's own switch. Another user of it on this thread would take the gate down unseen, so it is told
        // that the switch is taken.
        libc::SYS_prctl if call.args[0] == switch::DISPATCH => -i64::from(libc::EBUSY) as u64,
        _ => make(call),
    };
    true
}

/// Calls that only make sense where the program made them: with its stack, its registers, its signal frame.
fn goes_native(call: &Call) -> bool {
    call.is_32_bit
        || matches!(
            call.number as libc::c_long,
            libc::SYS_clone
                | libc::SYS_clone3
                | libc::SYS_fork
                | libc::SYS_vfork
                | libc::SYS_execve
                | libc::SYS_execveat
                | libc::SYS_rt_sigreturn
                | libc::SYS_sigaltstack
                | libc::SYS_arch_prctl
        )
}

fn by_stub(thread: &Thread, call: &Call, context: &mut Context) -> bool {
    if !call.is_32_bit && call.number as libc::c_long == libc::SYS_rt_sigreturn {
        // The end of the program's own signal handler: our restorer does it as well as libc's.
        context.rip = region::restorer() as u64;
        return true;
    }
    if let Some(stub) = region::stub(context.rip, call.is_32_bit) {
        context.rip = stub;
        return true;
    }
    // The instruction is two bytes long. It runs where it was, with the gate down for the rest of the poll.
    context.rip = context.rip.wrapping_sub(2);
    thread.trouble.set(Some("too many places in this program start threads and processes"));
    false
}

fn make(call: &Call) -> u64 {
    // SAFETY: this is the program's own call with the program's own arguments, on the thread that made it.
    (unsafe { raw::call(call.number, call.args) }) as u64
}

const SENTINEL: [u64; 2] = [0x6c65_6173_6568_6f6c, 0x6461_7465_6761_7465];
/// No process id is that large.
const SEEN: u64 = 0x5ee7_0000_0000;

fn is_sentinel(call: &Call) -> bool {
    !call.is_32_bit && call.number == raw::number(libc::SYS_getpid) && call.args[..2] == SENTINEL
}

/// Asks for the process id in a way that a gate which is up answers otherwise: whether it is up on this thread, right
/// now, with all that takes part in it. The kernel ignores the arguments.
pub(super) fn sees() -> bool {
    // SAFETY: takes no pointers.
    let answer = unsafe { raw::call(raw::number(libc::SYS_getpid), [SENTINEL[0], SENTINEL[1], 0, 0, 0, 0]) };
    answer as u64 == SEEN
}
