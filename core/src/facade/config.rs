use std::error::Error;
use std::fmt;
use std::time::Duration;

use super::OrphanHook;

/// How a facade runs its store: how many threads, how long a call may take, how many may wait.
///
/// ```
/// use leasehold::OffloadConfig;
/// use std::time::Duration;
///
/// let config = OffloadConfig { workers: 2, deadline: Duration::from_secs(3), ..OffloadConfig::default() };
/// assert_eq!(config.max_threads(), 2 + 2 + 2 + 1, "workers, their spares, the renewal worker and its spare, a watcher");
/// ```
#[derive(Clone, Debug)]
pub struct OffloadConfig {
    /// Ordinary operations that run at once; 1 to 256, 4 by default. Renewals have a worker of their own besides.
    pub workers: usize,
    /// How many workers lost to a call that hangs are replaced; 0 to 256, 2 by default. A call counts as hung at its
    /// deadline, and its worker is replaced then.
    pub max_stuck: usize,
    /// How long a call may take from being asked to being answered; 1 ms to an hour, 5 s by default. Longer than the
    /// store's own deadline, so that the store's better error comes first.
    pub deadline: Duration,
    /// How many calls may wait in each lane; 1 to 10 million, 65,536 by default. One more is refused at once.
    pub max_waiting: usize,
    /// How long an idle worker looks for the next call before it sleeps; at most 1 ms, 30 µs by default, zero on a
    /// machine with a single core. It saves the wake-up where calls come one after the other.
    pub spin: Duration,
    /// Told of tenures that nobody was left to receive; see [`Orphan`](super::Orphan). Nobody by default.
    pub on_orphan: Option<OrphanHook>,
}

impl OffloadConfig {
    /// The most threads a facade so configured ever has: the workers of both lanes, a spare for each that may hang, and
    /// the watcher.
    #[must_use]
    pub const fn max_threads(&self) -> usize {
        self.workers + self.max_stuck + Self::RENEWAL_WORKERS + Self::RENEWAL_SPARES + 1
    }

    pub(super) const RENEWAL_WORKERS: usize = 1;
    pub(super) const RENEWAL_SPARES: usize = 1;

    pub(super) fn check(&self) -> Result<(), InvalidOffload> {
        let within = |name, value: u128, low: u128, high: u128, unit| {
            if value >= low && value <= high {
                return Ok(());
            }
            Err(InvalidOffload(format!("{name} {value}{unit} is not from {low}{unit} to {high}{unit}")))
        };
        within("workers", self.workers as u128, 1, 256, "")?;
        within("max_stuck", self.max_stuck as u128, 0, 256, "")?;
        within("deadline", self.deadline.as_millis(), 1, 3_600_000, " ms")?;
        within("max_waiting", self.max_waiting as u128, 1, 10_000_000, "")?;
        within("spin", self.spin.as_micros(), 0, 1_000, " µs")
    }
}

impl Default for OffloadConfig {
    fn default() -> Self {
        let several_cores = std::thread::available_parallelism().is_ok_and(|cores| cores.get() > 1);
        Self {
            workers: 4,
            max_stuck: 2,
            deadline: Duration::from_secs(5),
            max_waiting: 65_536,
            spin: if several_cores { Duration::from_micros(30) } else { Duration::ZERO },
            on_orphan: None,
        }
    }
}

/// A setting of a facade that can't be right: which, its value and the range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidOffload(String);

impl fmt::Display for InvalidOffload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "offload settings: {}", self.0)
    }
}

impl Error for InvalidOffload {}
