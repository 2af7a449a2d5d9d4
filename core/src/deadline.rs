use std::time::{Duration, Instant};

/// The end of a real wait: a lock that is tried again, a server that is asked.
///
/// This is the one place of the house that reads the machine's monotonic clock, so that leases, which are timed by an
/// injected [`Clock`](crate::Clock), and waits, which are not, can't be mixed up.
///
/// ```
/// use leasehold::Deadline;
/// use std::time::Duration;
///
/// let deadline = Deadline::after(Duration::from_secs(60));
/// assert!(deadline.left() > Some(Duration::from_secs(59)));
/// assert_eq!(Deadline::after(Duration::ZERO).left(), None);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Deadline {
    started: Instant,
    allowed: Duration,
}

impl Deadline {
    /// A deadline `allowed` from now.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "the one reading that bounds real waits")]
    pub fn after(allowed: Duration) -> Self {
        Self { started: Instant::now(), allowed }
    }

    /// What is left of it; `None` once it has passed.
    #[must_use]
    pub fn left(&self) -> Option<Duration> {
        self.allowed.checked_sub(self.elapsed()).filter(|left| !left.is_zero())
    }

    /// Whether it has passed.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.left().is_none()
    }

    /// How long ago it was set.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// How long was allowed.
    #[must_use]
    pub fn allowed(&self) -> Duration {
        self.allowed
    }
}
