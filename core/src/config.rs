use std::error::Error;
use std::fmt;
use std::time::Duration;

use crate::{InvalidTtl, Ttl};

/// How often leases are renewed and how many intervals one lasts; the TTL follows from these two and from nothing else.
///
/// All gateways of a namespace use the same one.
///
/// ```
/// use leasehold::OwnershipConfig;
/// use std::time::Duration;
///
/// let config = OwnershipConfig::new(Duration::from_secs(30), 4.0)?;
/// assert_eq!(config.ttl().as_duration(), Duration::from_secs(120));
/// assert!(OwnershipConfig::new(Duration::from_secs(30), 1.5).is_err());
/// # Ok::<(), leasehold::InvalidConfig>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize), serde(try_from = "Raw"))]
pub struct OwnershipConfig {
    renewal_interval: Duration,
    ttl: Ttl,
}

impl OwnershipConfig {
    /// The renewal interval when none is given: 30 s.
    pub const DEFAULT_RENEWAL_INTERVAL: Duration = Duration::from_secs(30);
    /// The TTL in renewal intervals when none is given. Four lets three renewals in a row fail without losing a lease.
    pub const DEFAULT_TTL_MULTIPLIER: f64 = 4.0;
    /// The smallest TTL in renewal intervals: with fewer than two, one late renewal loses a lease.
    pub const MIN_TTL_MULTIPLIER: f64 = 2.0;

    /// Leases renewed every `renewal_interval`, lasting `ttl_multiplier` of those.
    ///
    /// # Errors
    /// [`InvalidConfig`] that names the value when the interval is zero, the multiplier is not finite or below 2, or
    /// the TTL they make is not a valid one (rounded to whole milliseconds).
    pub fn new(renewal_interval: Duration, ttl_multiplier: f64) -> Result<Self, InvalidConfig> {
        if renewal_interval.is_zero() {
            return Err(InvalidConfig::new("renewal_interval is zero; use 1 ms or more".to_owned()));
        }
        if !ttl_multiplier.is_finite() || ttl_multiplier < Self::MIN_TTL_MULTIPLIER {
            return Err(InvalidConfig::new(format!(
                "ttl_multiplier {ttl_multiplier} is not valid: use a number of at least 2, so that one late renewal \
                 loses nothing"
            )));
        }
        let seconds = (renewal_interval.as_secs_f64() * ttl_multiplier * 1_000.0).round() / 1_000.0;
        let ttl = Ttl::from_secs_f64(seconds).map_err(|e| InvalidConfig::caused_by(&e))?;
        Ok(Self { renewal_interval, ttl })
    }

    /// How often each lease is renewed.
    #[must_use]
    pub fn renewal_interval(&self) -> Duration {
        self.renewal_interval
    }

    /// How long a lease lasts from its last refresh.
    #[must_use]
    pub fn ttl(&self) -> Ttl {
        self.ttl
    }
}

impl Default for OwnershipConfig {
    fn default() -> Self {
        Self::new(Self::DEFAULT_RENEWAL_INTERVAL, Self::DEFAULT_TTL_MULTIPLIER)
            .expect("the defaults are valid")
    }
}

/// The form in a settings file.
#[cfg(feature = "serde")]
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Raw {
    renewal_interval_seconds: f64,
    ttl_multiplier: f64,
}

#[cfg(feature = "serde")]
impl Default for Raw {
    fn default() -> Self {
        Self {
            renewal_interval_seconds: OwnershipConfig::DEFAULT_RENEWAL_INTERVAL.as_secs_f64(),
            ttl_multiplier: OwnershipConfig::DEFAULT_TTL_MULTIPLIER,
        }
    }
}

#[cfg(feature = "serde")]
impl TryFrom<Raw> for OwnershipConfig {
    type Error = InvalidConfig;

    fn try_from(raw: Raw) -> Result<Self, InvalidConfig> {
        let interval = Duration::try_from_secs_f64(raw.renewal_interval_seconds).map_err(|e| {
            InvalidConfig::new(format!("renewal_interval_seconds {}: {e}", raw.renewal_interval_seconds))
        })?;
        Self::new(interval, raw.ttl_multiplier)
    }
}

/// A setting that can't be right: which, its value and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidConfig {
    message: String,
}

impl InvalidConfig {
    pub(crate) fn new(message: String) -> Self {
        Self { message }
    }

    fn caused_by(error: &InvalidTtl) -> Self {
        Self::new(format!("renewal_interval × ttl_multiplier: {error}"))
    }
}

impl fmt::Display for InvalidConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for InvalidConfig {}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case(0.0, 4.0, "zero")]
    #[case(30.0, 1.999, "1.999")]
    #[case(30.0, f64::NAN, "NaN")]
    #[case(30.0, f64::INFINITY, "inf")]
    #[case(315_360_000.0, 2.0, "10 years")]
    fn refuses_and_names_the_value(#[case] interval: f64, #[case] multiplier: f64, #[case] says: &str) {
        let error =
            OwnershipConfig::new(Duration::from_secs_f64(interval), multiplier).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }

    #[test]
    fn the_ttl_is_rounded_to_whole_milliseconds() {
        let config = OwnershipConfig::new(Duration::from_micros(1_100), 2.0).unwrap();
        assert_eq!(config.ttl().as_millis(), 2);
    }

    #[cfg(feature = "serde")]
    #[test]
    fn settings_are_checked_when_they_are_read() {
        let read = serde_json::from_str::<OwnershipConfig>;
        assert_eq!(read("{}").unwrap(), OwnershipConfig::default());
        assert_eq!(read(r#"{"renewal_interval_seconds": 0.5}"#).unwrap().ttl().as_millis(), 2_000);
        assert!(read(r#"{"ttl_multiplier": 1}"#).unwrap_err().to_string().contains("ttl_multiplier 1"));
        assert!(read(r#"{"renewal_interval_seconds": -1}"#).is_err());
        assert!(read(r#"{"ttl_seconds": 5}"#).is_err(), "the TTL is derived and can't be set");
    }
}
