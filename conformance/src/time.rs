use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use leasehold::{Boot, BootClock, Clock, ManualClock, Moment, StoreError, WallTime};

/// Time as the kit has it: moved where the store takes a clock, waited for where the store's server times the leases.
#[derive(Debug)]
pub(crate) struct Time {
    kind: Kind,
    /// When the case began.
    born: Moment,
    /// How much of the time since then was asked for.
    waited: AtomicU64,
}

#[derive(Debug)]
enum Kind {
    Virtual(ManualClock),
    Real(SteppedClock),
}

impl Time {
    pub(crate) fn moved() -> Self {
        Self::of(Kind::Virtual(ManualClock::new()))
    }

    /// # Errors
    /// Where this host has no boot clock.
    pub(crate) fn real() -> Result<Self, StoreError> {
        let (real, step) = (BootClock::new()?, Arc::default());
        Ok(Self::of(Kind::Real(SteppedClock { real, step })))
    }

    fn of(kind: Kind) -> Self {
        let mut time = Self { kind, born: Moment::default(), waited: AtomicU64::new(0) };
        time.born = time.now();
        time
    }

    pub(crate) fn clock(&self) -> Arc<dyn Clock> {
        match &self.kind {
            Kind::Virtual(clock) => Arc::new(clock.clone()),
            Kind::Real(clock) => Arc::new(clock.clone()),
        }
    }

    pub(crate) fn now(&self) -> Moment {
        match &self.kind {
            Kind::Virtual(clock) => clock.now(),
            Kind::Real(clock) => clock.now(),
        }
    }

    /// The clock that moves on command, where there is one.
    pub(crate) fn manual(&self) -> Option<&ManualClock> {
        match &self.kind {
            Kind::Virtual(clock) => Some(clock),
            Kind::Real(_) => None,
        }
    }

    /// Sets the wall clock of this client, as an administrator would.
    pub(crate) fn step_wall(&self, micros: i64) {
        match &self.kind {
            Kind::Virtual(clock) => clock.step_wall(micros),
            Kind::Real(clock) => drop(clock.step.fetch_add(micros, Ordering::SeqCst)),
        }
    }

    /// Lets `duration` pass. Real time has passed when the clock says so, not when a sleep returns.
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place where the kit waits for time that nobody can move"
    )]
    pub(crate) fn pass(&self, duration: Duration) {
        match &self.kind {
            Kind::Virtual(clock) => clock.advance(duration),
            Kind::Real(clock) => {
                let until = clock.now() + duration;
                loop {
                    let left = until.since(clock.now());
                    if left.is_zero() {
                        break;
                    }
                    std::thread::sleep(left);
                }
                self.waited.fetch_add(duration.as_nanos() as u64, Ordering::SeqCst);
            }
        }
    }

    /// How much real time has gone by since the case began; none where time is moved.
    pub(crate) fn elapsed(&self) -> Duration {
        match &self.kind {
            Kind::Virtual(_) => Duration::ZERO,
            Kind::Real(clock) => clock.now().since(self.born),
        }
    }

    /// How much of that nobody asked for: the store's own time, and whatever else the machine had to do.
    pub(crate) fn unasked(&self) -> Duration {
        self.elapsed().saturating_sub(Duration::from_nanos(self.waited.load(Ordering::SeqCst)))
    }
}

/// The boot clock with a calendar that can be set, since a store must not care.
#[derive(Clone, Debug)]
struct SteppedClock {
    real: BootClock,
    /// Microseconds that the wall clock was set forward.
    step: Arc<AtomicI64>,
}

impl Clock for SteppedClock {
    fn now(&self) -> Moment {
        self.real.now()
    }

    fn wall(&self) -> WallTime {
        self.real.wall().saturating_add_signed(self.step.load(Ordering::SeqCst))
    }

    fn boot(&self) -> Boot {
        let boot = self.real.boot();
        Boot { started: boot.started.saturating_add_signed(self.step.load(Ordering::SeqCst)), ..boot }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moved_time_is_never_late() {
        let time = Time::moved();
        time.pass(Duration::from_secs(3_600));
        assert_eq!((time.elapsed(), time.unasked()), (Duration::ZERO, Duration::ZERO));
    }

    #[test]
    fn real_time_has_passed_when_the_clock_says_so() {
        let time = Time::real().unwrap();
        let before = time.now();
        time.pass(Duration::from_millis(3));
        assert!(time.now().since(before) >= Duration::from_millis(3));
        // Read in this order, since both go on growing.
        let unasked = time.unasked();
        assert!(time.elapsed() >= unasked + Duration::from_millis(3));
    }

    #[test]
    fn a_step_of_the_wall_clock_moves_the_calendar_alone() {
        let time = Time::real().unwrap();
        let clock = time.clock();
        let (now, boot) = (clock.now(), clock.boot());
        time.step_wall(-3_600_000_000);
        assert!(clock.now().since(now) < Duration::from_secs(1_800));
        assert!(clock.boot().started < boot.started - 1_800_000_000);
        assert_eq!(clock.boot().id, boot.id);
    }
}
