use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::{Boot, BootId, Clock, WallTime};
use crate::Moment;

/// A clock that moves only on command. Clones are the same clock.
///
/// It starts one hour after its "kernel" did. [`advance`](Self::advance) moves time itself, [`step_wall`] only the
/// calendar, and [`reboot`](Self::reboot) starts another kernel.
///
/// ```
/// use leasehold::{Clock, ManualClock};
/// use std::time::Duration;
///
/// let clock = ManualClock::new();
/// let (now, wall) = (clock.now(), clock.wall());
/// clock.step_wall(-3_600_000_000);
/// assert_eq!((clock.now(), clock.wall()), (now, wall - 3_600_000_000));
/// ```
///
/// [`step_wall`]: Self::step_wall
#[derive(Clone, Debug)]
pub struct ManualClock {
    state: Arc<State>,
}

#[derive(Debug)]
struct State {
    /// The boot clock, in nanoseconds.
    now: AtomicU64,
    /// What the wall clock reads when the boot clock reads zero, in microseconds: the moment the kernel started.
    started: AtomicU64,
    /// Number of the kernel's run; the boot id is made of it.
    boot: AtomicU64,
}

impl ManualClock {
    const UP: Duration = Duration::from_secs(3_600);
    /// 2026-01-01 00:00:00 UTC, in microseconds since 1970.
    const STARTED: WallTime = 1_767_225_600_000_000;

    /// A clock one hour after its kernel's start, on the first of January 2026.
    #[must_use]
    pub fn new() -> Self {
        Self::starting_at(Self::STARTED)
    }

    /// A clock one hour after its kernel started at `started` (microseconds since 1970).
    #[must_use]
    pub fn starting_at(started: WallTime) -> Self {
        let now = Self::UP.as_nanos() as u64;
        let state = State { now: now.into(), started: started.into(), boot: 1.into() };
        Self { state: Arc::new(state) }
    }

    /// Lets `duration` pass, on the boot clock and on the wall clock.
    pub fn advance(&self, duration: Duration) {
        self.state.now.fetch_add(duration.as_nanos() as u64, Ordering::SeqCst);
    }

    /// Sets the wall clock `micros` microseconds forward (or back), as an administrator or NTP would.
    pub fn step_wall(&self, micros: i64) {
        let step = |started: u64| Some(started.saturating_add_signed(micros));
        let _ = self.state.started.fetch_update(Ordering::SeqCst, Ordering::SeqCst, step);
    }

    /// Starts another kernel now: a new boot id, the boot clock at zero, the calendar going on.
    pub fn reboot(&self) {
        let wall = self.wall();
        self.state.boot.fetch_add(1, Ordering::SeqCst);
        self.state.started.store(wall, Ordering::SeqCst);
        self.state.now.store(0, Ordering::SeqCst);
    }

    /// The clock of another kernel that has been up as long as this one: same time, other boot id.
    #[must_use]
    pub fn foreign_kernel(&self) -> Self {
        let load = |value: &AtomicU64| AtomicU64::new(value.load(Ordering::SeqCst));
        let boot = AtomicU64::new(self.state.boot.load(Ordering::SeqCst) + (1 << 32));
        let state = State { now: load(&self.state.now), started: load(&self.state.started), boot };
        Self { state: Arc::new(state) }
    }
}

impl Default for ManualClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Moment {
        Moment::from_nanos(self.state.now.load(Ordering::SeqCst))
    }

    fn wall(&self) -> WallTime {
        self.state.started.load(Ordering::SeqCst) + self.state.now.load(Ordering::SeqCst) / 1_000
    }

    fn boot(&self) -> Boot {
        let id = BootId::from_bits(u128::from(self.state.boot.load(Ordering::SeqCst)));
        Boot { id, started: self.state.started.load(Ordering::SeqCst) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reboot_changes_the_id_and_keeps_the_calendar() {
        let clock = ManualClock::new();
        let (before, wall) = (clock.boot(), clock.wall());
        clock.reboot();
        assert_ne!(clock.boot().id, before.id);
        assert_eq!((clock.now(), clock.wall(), clock.boot().started), (Moment::from_nanos(0), wall, wall));
    }
}
