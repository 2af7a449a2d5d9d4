//! What the settings mean for the engine: plain numbers that a signal handler can read.

use std::time::Duration;

use crate::calls::{NUMBERS, Verdict};

/// The settings of one gated scope, as the engine reads them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    /// Whether writes to standard output and standard error count.
    pub(crate) stdio: bool,
    /// How long a lock wait may take before it counts; `None` when it never does.
    pub(crate) locks_over: Option<Duration>,
    /// Whether starting a process counts.
    pub(crate) spawn: bool,
    allowed: [u64; NUMBERS / 64],
}

impl Rules {
    pub(crate) const fn new() -> Self {
        Self { stdio: false, locks_over: None, spawn: true, allowed: [0; NUMBERS / 64] }
    }

    pub(crate) fn allow(&mut self, number: u16) {
        let (word, bit) = place(u64::from(number));
        self.allowed[word] |= bit;
    }

    /// Whether a call with this verdict counts; a lock wait is asked again when it is over.
    pub(crate) fn counts(&self, number: u64, verdict: Verdict) -> bool {
        let by_kind = match verdict {
            Verdict::Benign => false,
            Verdict::Blocking => true,
            Verdict::Stdio => self.stdio,
            Verdict::Lock => self.locks_over.is_some(),
            Verdict::Spawn => self.spawn,
        };
        by_kind && !self.allows(number)
    }

    fn allows(&self, number: u64) -> bool {
        let (word, bit) = place(number);
        self.allowed.get(word).is_some_and(|bits| bits & bit != 0)
    }
}

fn place(number: u64) -> (usize, u64) {
    (usize::try_from(number / 64).unwrap_or(usize::MAX), 1 << (number % 64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_allowed_call_counts_no_more_and_its_neighbours_still_do() {
        let mut rules = Rules::new();
        rules.allow(74);
        assert!(!rules.counts(74, Verdict::Blocking));
        for number in [10, 73, 75, 138, 74 + 64, 600, u64::MAX] {
            assert!(rules.counts(number, Verdict::Blocking), "{number}");
        }
    }

    #[test]
    fn output_and_locks_are_off_and_processes_are_on_until_settings_say_otherwise() {
        let rules = Rules::new();
        assert!(!rules.counts(1, Verdict::Stdio));
        assert!(!rules.counts(202, Verdict::Lock));
        assert!(rules.counts(59, Verdict::Spawn));
        assert!(!rules.counts(3, Verdict::Benign));
    }
}
