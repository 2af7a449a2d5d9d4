use std::fmt;

use crate::case::{Check, Stop};

/// How a case ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The rule holds.
    Passed,
    /// The store broke the rule.
    Failed {
        /// What the contract says.
        expected: String,
        /// What the store did.
        seen: String,
    },
    /// Store and harness declare that they have not what the case is about.
    NotApplicable(String),
    /// What the case needs is not on this machine.
    NotRun(String),
    /// It failed, and somebody has a reason to bear that for a while.
    Waived {
        /// The reason.
        reason: String,
        /// The last day it holds, as `YYYY-MM-DD`.
        until: String,
    },
    /// The harness failed, which says nothing of the store and counts as a failure.
    HarnessError(String),
}

impl Verdict {
    /// Whether the run as a whole fails because of it.
    #[must_use]
    pub fn is_failure(&self) -> bool {
        matches!(self, Self::Failed { .. } | Self::HarnessError(_))
    }

    /// Its name in reports.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Passed => "pass",
            Self::Failed { .. } => "FAIL",
            Self::NotApplicable(_) => "n/a",
            Self::NotRun(_) => "not run",
            Self::Waived { .. } => "waived",
            Self::HarnessError(_) => "HARNESS",
        }
    }

    /// What there is to say beyond the word.
    #[must_use]
    pub fn detail(&self) -> Option<&str> {
        match self {
            Self::Passed => None,
            Self::Failed { seen, .. } => Some(seen),
            Self::NotApplicable(why) | Self::NotRun(why) | Self::HarnessError(why) => Some(why),
            Self::Waived { reason, .. } => Some(reason),
        }
    }
}

impl From<Check> for Verdict {
    fn from(check: Check) -> Self {
        match check {
            Ok(()) => Self::Passed,
            Err(Stop::Failed { expected, seen }) => Self::Failed { expected, seen },
            Err(Stop::NotApplicable(why)) => Self::NotApplicable(why),
            Err(Stop::NotRun(why)) => Self::NotRun(why),
            Err(Stop::Harness(why)) => Self::HarnessError(why),
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}
