//! Floor and ours in turns, so that whatever else the machine does falls on both.

use std::time::Duration;

use leasehold::Deadline;

/// Something that can be done `n` times in a row.
pub type Work = Box<dyn FnMut(u64)>;

/// The times of one row: nanoseconds an operation, round by round.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    floor: Vec<f64>,
    ours: Vec<f64>,
}

impl Sample {
    /// How long one measurement of either side is meant to take: long enough for the clock, short enough that the two
    /// sides of a round see the same machine.
    const BATCH: Duration = Duration::from_millis(8);

    /// Measures `floor` and `ours` in `rounds` rounds, after one that warms up and finds how many operations fill a batch.
    pub fn take(rounds: usize, floor: &mut Work, ours: &mut Work) -> Self {
        let (floor_n, ours_n) = (calibrate(floor), calibrate(ours));
        let mut sample = Self::default();
        for round in 0..rounds {
            // Whoever goes second finds warmer caches, so they change places every round.
            if round % 2 == 0 {
                sample.floor.push(time(floor, floor_n));
                sample.ours.push(time(ours, ours_n));
            } else {
                sample.ours.push(time(ours, ours_n));
                sample.floor.push(time(floor, floor_n));
            }
        }
        sample
    }

    /// The floor's median, in nanoseconds an operation.
    #[must_use]
    pub fn floor(&self) -> f64 {
        quantile(&self.floor, 0.5)
    }

    /// Our median, in nanoseconds an operation.
    #[must_use]
    pub fn ours(&self) -> f64 {
        quantile(&self.ours, 0.5)
    }

    /// The quartiles of the rounds' ratios, ours to floor: lower, median, upper.
    #[must_use]
    pub fn ratio(&self) -> (f64, f64, f64) {
        let ratios: Vec<f64> = self.ours.iter().zip(&self.floor).map(|(ours, floor)| ours / floor).collect();
        (quantile(&ratios, 0.25), quantile(&ratios, 0.5), quantile(&ratios, 0.75))
    }
}

fn calibrate(work: &mut Work) -> u64 {
    let mut n = 1;
    loop {
        let elapsed = run(work, n);
        if elapsed >= Sample::BATCH / 2 {
            let wanted = n as f64 * Sample::BATCH.as_secs_f64() / elapsed.as_secs_f64();
            return (wanted as u64).max(1);
        }
        n *= 2;
    }
}

fn time(work: &mut Work, n: u64) -> f64 {
    run(work, n).as_secs_f64() * 1e9 / n as f64
}

fn run(work: &mut Work, n: u64) -> Duration {
    let started = Deadline::after(Duration::ZERO);
    work(n);
    started.elapsed()
}

fn quantile(values: &[f64], q: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = (sorted.len().saturating_sub(1)) as f64 * q;
    let (low, high) = (at.floor() as usize, at.ceil() as usize);
    match sorted.get(low).zip(sorted.get(high)) {
        Some((a, b)) => a + (b - a) * at.fract(),
        None => f64::NAN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_lie_between_their_neighbours() {
        assert_eq!(quantile(&[4.0, 1.0, 3.0, 2.0], 0.5), 2.5);
        assert_eq!(quantile(&[1.0], 0.75), 1.0);
        assert!(quantile(&[], 0.5).is_nan());
    }
}
