//! The engine proves itself before anyone may rely on it.

use std::sync::OnceLock;

use super::{Blind, arm, raw};
use crate::calls::Verdict;
use crate::rules::Rules;
use crate::tape::Tape;

/// Whether this engine works here: tried once a process, by a canary of its own.
///
/// # Errors
///
/// Why it does not.
pub(crate) fn available() -> Result<(), String> {
    static ONCE: OnceLock<Result<(), String>> = OnceLock::new();
    ONCE.get_or_init(canary).clone()
}

/// Makes a call that blocks, one that does not and one after the end, and wants to have seen exactly the first, with
/// its name, and the right answers to all.
pub(crate) fn canary() -> Result<(), String> {
    let mut tape = Tape::new();
    let mut rules = Rules::new();
    rules.stdio = true;
    let blind = |Blind(why): Blind| {
        format!("{why}; kernels before 5.11, some containers and some sandboxes don't offer it")
    };
    let armed = arm(&mut tape, rules).map_err(blind)?;
    let parent = plain_call(libc::SYS_getppid);
    let failed = read_from_nowhere();
    armed.finish().map_err(blind)?;

    let parent_after = plain_call(libc::SYS_getppid);
    let failed_after = read_from_nowhere();
    let seen: Vec<_> =
        tape.entries().iter().map(|entry| (entry.row.map(|row| row.name), entry.verdict)).collect();
    if seen != [(Some("pread64"), Verdict::Blocking)] {
        return Err(format!("its canary wanted one call of pread64 to be seen, and these were: {seen:?}"));
    }
    if tape.entries().iter().any(|entry| entry.frames().is_empty()) {
        return Err("its canary was seen without a backtrace".to_owned());
    }
    if (parent, failed) != (parent_after, failed_after) {
        return Err(format!(
            "calls answer otherwise under it: {parent}, {failed} for {parent_after}, {failed_after}"
        ));
    }
    Ok(())
}

/// Makes a call that the handler answers without making it: see `faults`.
#[cfg(feature = "faults")]
pub(crate) fn pretend(number: u64, args: crate::calls::Arguments) {
    assert!(super::handler::sees(), "the gate is not up, so the call would be made");
    // SAFETY: the gate is up on this thread and the thread is dry, so the kernel never gets this call.
    unsafe { raw::call(number, args) };
}

fn plain_call(number: libc::c_long) -> i64 {
    // SAFETY: takes no pointers.
    unsafe { raw::call(raw::number(number), [0; 6]) }
}

/// A read that counts as blocking and fails at once, since its descriptor is none.
fn read_from_nowhere() -> i64 {
    let args = [u64::MAX, 0, 0, 0, 0, 0];
    // SAFETY: the kernel refuses the descriptor before it looks at the pointer.
    unsafe { raw::call(raw::number(libc::SYS_pread64), args) }
}
