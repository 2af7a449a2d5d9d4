//! Work that may block, for a reason.

use crate::{engine, inside};

/// Runs a closure that may block, within a gated poll, and says why that is all right.
///
/// The gate is down on this thread until the closure returns or panics, then up again. A gated future that is polled
/// inside the closure (a nested `block_on`) is gated as ever. Outside a gated poll this only runs the closure.
///
/// ```
/// use leasehold_gate as gate;
///
/// let (text, violations) = gate::during(|| {
///     gate::allow("read once at start, before anything is served", || std::fs::read_to_string("/etc/hostname"))
/// });
/// assert!(violations.is_empty());
/// # drop(text);
/// ```
///
/// # Panics
///
/// When the reason is empty, and when the gate can't be raised again.
#[track_caller]
pub fn allow<R>(reason: &str, work: impl FnOnce() -> R) -> R {
    assert!(!reason.trim().is_empty(), "gate::allow wants a reason: why may this block?");
    let excused = inside::excuse();
    let suspended = engine::suspend();
    let result = work();
    if let Err(engine::Blind(why)) = suspended.resume() {
        panic!("the gate is blind: {why}");
    }
    drop(excused);
    result
}
