//! A plain closure under the gate.

use crate::{Settings, Violation};

/// Runs a closure as if it were a poll, and returns what it returned and what in it blocked.
///
/// For code that an async task calls and that can be tried without one.
///
/// ```
/// use leasehold_gate as gate;
///
/// let (_, violations) = gate::during(|| std::fs::metadata("/etc/hostname"));
/// if gate::status().is_available() {
///     assert_eq!(violations[0].call(), "statx");
///     assert_eq!(violations[0].target(), Some("/etc/hostname"));
/// }
/// ```
///
/// # Panics
///
/// As [`strict`](crate::strict()) does when the gate is blind, or unavailable and required.
#[track_caller]
pub fn during<R>(work: impl FnOnce() -> R) -> (R, Vec<Violation>) {
    Settings::new().during(work)
}
