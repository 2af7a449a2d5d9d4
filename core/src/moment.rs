use std::fmt;
use std::time::Duration;

/// A point on one clock's own line, in nanoseconds since that clock's start.
///
/// On a host store that clock is the boot clock, so a moment means the same in every process of this boot and nothing
/// at all in another boot. Moments of different clocks can't be compared in any useful way.
///
/// ```
/// use leasehold::Moment;
/// use std::time::Duration;
///
/// let later = Moment::from_nanos(5) + Duration::from_nanos(7);
/// assert_eq!(later.since(Moment::from_nanos(5)), Duration::from_nanos(7));
/// assert_eq!(Moment::from_nanos(5).since(later), Duration::ZERO);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Moment(u64);

impl Moment {
    /// The moment `nanos` nanoseconds after the clock's start.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the clock's start.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// How long after `earlier` this is; zero when it is not after it.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl std::ops::Add<Duration> for Moment {
    type Output = Self;

    /// Stops at the end of the line (584 years) rather than wrapping round.
    fn add(self, duration: Duration) -> Self {
        let nanos = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        Self(self.0.saturating_add(nanos))
    }
}

impl fmt::Debug for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Moment({}.{:09}s)", self.0 / 1_000_000_000, self.0 % 1_000_000_000)
    }
}
