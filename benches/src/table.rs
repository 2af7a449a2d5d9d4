//! The table of ratios: for people, and as JSON.

use serde_json::{Value, json};

use crate::measure::Sample;
use crate::rows::Hold;

/// One measured row.
#[derive(Debug)]
pub struct Line {
    /// What was measured.
    pub name: &'static str,
    /// Against what.
    pub floor: &'static str,
    /// What is held.
    pub hold: Hold,
    /// The times.
    pub sample: Sample,
}

impl Line {
    /// Whether the hold is met by the median of the rounds' ratios.
    #[must_use]
    pub fn is_met(&self) -> bool {
        let (_, median, _) = self.sample.ratio();
        match self.hold {
            Hold::AtMost(limit) => median <= limit,
            Hold::None => true,
        }
    }

    /// The row for people.
    #[must_use]
    pub fn text(&self) -> String {
        let (low, median, high) = self.sample.ratio();
        let (hold, verdict) = match self.hold {
            Hold::AtMost(limit) => (format!("≤ {limit:.3}"), if self.is_met() { "met" } else { "MISSED" }),
            Hold::None => ("-".to_owned(), ""),
        };
        format!(
            "{:<34} {:<40} {:>10} {:>10}  {median:>6.3} ({low:.3}–{high:.3})  {hold:>8} {verdict}",
            self.name,
            self.floor,
            nanos(self.sample.floor()),
            nanos(self.sample.ours()),
        )
    }

    /// The row for programs.
    #[must_use]
    pub fn json(&self) -> Value {
        let (low, median, high) = self.sample.ratio();
        let hold = match self.hold {
            Hold::AtMost(limit) => json!(limit),
            Hold::None => Value::Null,
        };
        json!({
            "name": self.name, "floor": self.floor, "floor_ns": self.sample.floor(), "ours_ns": self.sample.ours(),
            "ratio": median, "ratio_low": low, "ratio_high": high, "hold": hold, "met": self.is_met(),
        })
    }
}

/// The head over the rows.
#[must_use]
pub fn head() -> String {
    format!(
        "{:<34} {:<40} {:>10} {:>10}  {:>6} (quartiles)    {:>8}",
        "ours", "floor, in the same run", "floor", "ours", "ratio", "hold"
    )
}

fn nanos(ns: f64) -> String {
    match ns {
        ns if ns < 1e3 => format!("{ns:.0} ns"),
        ns if ns < 1e6 => format!("{:.2} µs", ns / 1e3),
        ns => format!("{:.2} ms", ns / 1e6),
    }
}
