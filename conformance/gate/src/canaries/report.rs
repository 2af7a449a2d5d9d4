//! What all the canaries found.

use std::fmt;

use super::canary::Finding;

/// What [`run_all`](super::run_all) found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CanaryReport {
    /// Canaries that tripped the gate inline and left it alone offloaded.
    pub tripped: usize,
    /// Pieces of honest work that left it alone.
    pub sanctioned: usize,
    /// What was not as it has to be: the name, and how.
    pub failures: Vec<(String, String)>,
    /// What could not be tried: the name, and why. The gate itself is the first of these where it is unavailable.
    pub not_run: Vec<(String, String)>,
}

impl CanaryReport {
    /// Whether everything was tried, and everything was as it has to be.
    ///
    /// What could not be tried counts against it when `LEASEHOLD_REQUIRE` names what was missing, which makes it a
    /// failure; else see [`not_run`](Self::not_run).
    pub fn is_sound(&self) -> bool {
        self.failures.is_empty() && self.tripped > 0 && self.sanctioned > 0
    }

    pub(super) fn note(&mut self, name: &str, finding: Finding) -> bool {
        match finding {
            Finding::Sound => return true,
            Finding::Wrong(how) => self.failures.push((name.to_owned(), how)),
            Finding::NotRun { need, why } if crate::status::is_required(need) => {
                let required = format!("not run, and LEASEHOLD_REQUIRE wants {need}: {why}");
                self.failures.push((name.to_owned(), required));
            }
            Finding::NotRun { why, .. } => self.not_run.push((name.to_owned(), why)),
        }
        false
    }
}

impl fmt::Display for CanaryReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "canaries: {} tripped, {} sanctioned", self.tripped, self.sanctioned)?;
        for (name, how) in &self.failures {
            write!(f, "\n  failed: {name}: {how}")?;
        }
        for (name, why) in &self.not_run {
            write!(f, "\n  not run: {name}: {why}")?;
        }
        Ok(())
    }
}
