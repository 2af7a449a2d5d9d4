//! The clocks that host stores time leases by: the boot clock in production, one that moves on command in tests.

#[cfg(target_os = "linux")]
mod boot;
mod boot_id;
mod manual;

#[cfg(target_os = "linux")]
pub use boot::BootClock;
pub use boot_id::BootId;
pub use manual::ManualClock;

use crate::Moment;
use std::fmt;

/// What a host store needs to know about time.
///
/// Three different questions, because they have three different answers: how much time passed ([`now`](Self::now), by
/// a clock that nobody can set), what the calendar says ([`wall`](Self::wall), good only to seed fences and to tell
/// whether something was written before this kernel started), and which run of the kernel this is
/// ([`boot`](Self::boot)).
///
/// ```
/// use leasehold::{Clock, ManualClock};
/// use std::time::Duration;
///
/// let clock = ManualClock::new();
/// let before = clock.now();
/// clock.advance(Duration::from_secs(5));
/// assert_eq!(clock.now().since(before), Duration::from_secs(5));
/// ```
pub trait Clock: Send + Sync + fmt::Debug + 'static {
    /// Now, by a clock that never steps, counts suspended time, and reads the same in every process of this boot.
    fn now(&self) -> Moment;

    /// What the calendar says, in microseconds since 1970. It may be stepped at any time, so it decides no lease.
    fn wall(&self) -> WallTime;

    /// Which run of the kernel this is, and when it started.
    fn boot(&self) -> Boot;
}

/// Microseconds since 1970-01-01 by a wall clock, which may be wrong and may be set.
pub type WallTime = u64;

/// One run of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Boot {
    /// Its id: another one after every start.
    pub id: BootId,
    /// When it started, by the wall clock as that reads now.
    pub started: WallTime,
}
