use std::fmt;
use std::str::FromStr;

/// A day of the calendar, as waivers name the last one that they hold.
///
/// ```
/// use leasehold_conformance::Day;
///
/// let day: Day = "2026-12-31".parse()?;
/// assert!(day < "2027-01-01".parse()?);
/// assert!("31.12.2026".parse::<Day>().is_err());
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Day {
    year: u16,
    month: u8,
    day: u8,
}

impl Day {
    /// Today, by this machine's wall clock and in UTC.
    #[must_use]
    #[expect(
        clippy::disallowed_methods,
        reason = "a waiver ends on a day of the calendar, and of no other clock"
    )]
    pub fn today() -> Self {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        Self::since_1970(now.as_secs() / 86_400)
    }

    /// The day that many days after 1970-01-01.
    fn since_1970(days: u64) -> Self {
        let (mut year, mut left) = (1970, days);
        while left >= days_in_year(year) {
            left -= days_in_year(year);
            year += 1;
        }
        let mut month = 1;
        while left >= u64::from(days_in_month(year, month)) {
            left -= u64::from(days_in_month(year, month));
            month += 1;
        }
        Self { year, month, day: left as u8 + 1 }
    }
}

fn is_leap(year: u16) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

fn days_in_year(year: u16) -> u64 {
    if is_leap(year) { 366 } else { 365 }
}

fn days_in_month(year: u16, month: u8) -> u8 {
    match month {
        2 => 28 + u8::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

impl FromStr for Day {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is not a day; write it as 2026-12-31");
        let parts: Vec<&str> = text.split('-').collect();
        let [year, month, day] = parts[..] else { return Err(wrong()) };
        let digits = |part: &str, len| part.len() == len && part.bytes().all(|b| b.is_ascii_digit());
        if !(digits(year, 4) && digits(month, 2) && digits(day, 2)) {
            return Err(wrong());
        }
        let day = Self {
            year: year.parse().map_err(|_| wrong())?,
            month: month.parse().map_err(|_| wrong())?,
            day: day.parse().map_err(|_| wrong())?,
        };
        let there_is =
            (1..=12).contains(&day.month) && (1..=days_in_month(day.year, day.month)).contains(&day.day);
        if there_is { Ok(day) } else { Err(wrong()) }
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

#[cfg(test)]
mod tests {
    use super::Day;

    #[test]
    fn days_are_counted_through_leap_years() {
        for (days, text) in [
            (0, "1970-01-01"),
            (58, "1970-02-28"),
            (59, "1970-03-01"),
            (789, "1972-02-29"),
            (11_016, "2000-02-29"),
            (20_453, "2025-12-31"),
            (47_540, "2100-02-28"),
            (47_541, "2100-03-01"),
        ] {
            assert_eq!(Day::since_1970(days).to_string(), text);
            assert_eq!(text.parse(), Ok(Day::since_1970(days)));
        }
    }

    #[test]
    fn what_is_no_day_is_refused_by_name() {
        for text in ["", "2026", "2026-13-01", "2026-02-29", "2026-00-10", "2026-1-1", "soon", "+026-01-01"] {
            assert!(text.parse::<Day>().unwrap_err().contains(&format!("{text:?}")));
        }
    }
}
