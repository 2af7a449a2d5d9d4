use std::error::Error;
use std::fmt;
use std::time::Duration;

/// How long a lease lasts without a renewal: whole milliseconds from 1 ms to 10 years.
///
/// Checked when it is made, so that no store has to wonder what zero, infinity or half a millisecond would mean.
///
/// ```
/// use leasehold::Ttl;
/// use std::time::Duration;
///
/// assert_eq!(Ttl::from_secs_f64(1.5)?.as_millis(), 1_500);
/// assert_eq!(Ttl::new(Duration::from_secs(60))?.to_string(), "60s");
/// assert!(Ttl::from_secs_f64(f64::NAN).is_err());
/// # Ok::<(), leasehold::InvalidTtl>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ttl {
    millis: u64,
}

impl Ttl {
    /// The shortest TTL: 1 ms.
    pub const MIN: Self = Self { millis: 1 };
    /// The longest TTL: 3,650 days.
    pub const MAX: Self = Self { millis: 3_650 * 24 * 60 * 60 * 1_000 };

    /// A TTL of `duration`.
    ///
    /// # Errors
    /// [`InvalidTtl`] that names the value when it is zero, longer than 10 years or not whole milliseconds.
    pub fn new(duration: Duration) -> Result<Self, InvalidTtl> {
        if !duration.subsec_nanos().is_multiple_of(1_000_000) {
            return Err(InvalidTtl::new(format!("{duration:?}"), "it is not whole milliseconds"));
        }
        match u64::try_from(duration.as_millis()) {
            Ok(millis) => Self::from_millis(millis),
            Err(_) => Err(InvalidTtl::new(format!("{duration:?}"), "it is longer than 10 years")),
        }
    }

    /// A TTL of `millis` milliseconds.
    ///
    /// # Errors
    /// [`InvalidTtl`] that names the value when it is zero or longer than 10 years.
    pub fn from_millis(millis: u64) -> Result<Self, InvalidTtl> {
        match millis {
            0 => Err(InvalidTtl::new("0ms".to_owned(), "a lease must last at least 1 ms")),
            _ if millis > Self::MAX.millis => {
                Err(InvalidTtl::new(format!("{millis}ms"), "it is longer than 10 years"))
            }
            _ => Ok(Self { millis }),
        }
    }

    /// A TTL of `seconds`, as settings files write it.
    ///
    /// # Errors
    /// [`InvalidTtl`] that names the value when it is not a finite number, not above zero, longer than 10 years or
    /// further than a nanosecond from whole milliseconds.
    pub fn from_secs_f64(seconds: f64) -> Result<Self, InvalidTtl> {
        let refuse = |why| Err(InvalidTtl::new(format!("{seconds}s"), why));
        if !seconds.is_finite() {
            return refuse("it is not a finite number");
        }
        if seconds <= 0.0 {
            return refuse("a lease must last at least 1 ms");
        }
        let millis = seconds * 1_000.0;
        if millis > Self::MAX.millis as f64 {
            return refuse("it is longer than 10 years");
        }
        if (millis - millis.round()).abs() > 1e-6 {
            return refuse("it is not whole milliseconds");
        }
        Self::from_millis(millis.round() as u64)
    }

    /// The TTL in milliseconds.
    #[must_use]
    pub const fn as_millis(self) -> u64 {
        self.millis
    }

    /// The TTL as a duration.
    #[must_use]
    pub const fn as_duration(self) -> Duration {
        Duration::from_millis(self.millis)
    }
}

impl TryFrom<Duration> for Ttl {
    type Error = InvalidTtl;

    fn try_from(duration: Duration) -> Result<Self, InvalidTtl> {
        Self::new(duration)
    }
}

impl fmt::Display for Ttl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.as_duration(), f)
    }
}

impl fmt::Debug for Ttl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ttl({self})")
    }
}

/// A duration that can't be a TTL: the value as it was given, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidTtl {
    value: String,
    why: &'static str,
}

impl InvalidTtl {
    fn new(value: String, why: &'static str) -> Self {
        Self { value, why }
    }
}

impl fmt::Display for InvalidTtl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "TTL {} is not valid: {}; use whole milliseconds from 1 ms to 10 years",
            self.value, self.why
        )
    }
}

impl Error for InvalidTtl {}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case(0.001, 1)]
    #[case(0.29, 290)]
    #[case(60.0, 60_000)]
    #[case(315_360_000.0, 315_360_000_000)]
    fn seconds_round_trip(#[case] seconds: f64, #[case] millis: u64) {
        assert_eq!(Ttl::from_secs_f64(seconds).map(Ttl::as_millis), Ok(millis));
    }

    #[rstest]
    #[case(0.0)]
    #[case(-1.0)]
    #[case(f64::NAN)]
    #[case(f64::INFINITY)]
    #[case(0.0005)]
    #[case(3_155_760_000_000.0)]
    fn refuses_and_names_the_value(#[case] seconds: f64) {
        let error = Ttl::from_secs_f64(seconds).unwrap_err().to_string();
        assert!(error.contains(&format!("TTL {seconds}s")), "{error}");
    }

    #[test]
    fn durations_are_checked_too() {
        assert!(Ttl::new(Duration::ZERO).is_err());
        assert!(Ttl::new(Duration::MAX).is_err());
        assert!(Ttl::new(Duration::from_micros(1_500)).is_err());
        assert_eq!(Ttl::new(Ttl::MAX.as_duration()), Ok(Ttl::MAX));
        assert!(Ttl::from_millis(Ttl::MAX.as_millis() + 1).is_err());
    }
}
