//! What a case is, in which tier it runs, and what it comes to.

use std::fmt;

use crate::Kit;

/// One case: a sentence of the contract, and the function that proves it.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// Its name for ever: clause, dot, words.
    pub id: &'static str,
    /// In which tier it runs.
    pub tier: Tier,
    /// What must be true.
    pub rule: &'static str,
    /// The version of the contract that it came with.
    pub since: &'static str,
    /// The proof.
    pub run: fn(&Kit<'_>) -> Check,
}

impl Case {
    /// The clause it proves.
    #[must_use]
    pub fn clause(&self) -> &'static str {
        self.id.split('.').next().unwrap_or(self.id)
    }

    /// The family of its clause: the first letter.
    #[must_use]
    pub fn family(&self) -> &'static str {
        match self.clause().get(..1).unwrap_or_default() {
            "T" => "take",
            "C" => "claim",
            "R" => "renew",
            "L" => "release",
            "I" => "inspect and list",
            "E" => "time",
            "F" => "fence",
            "X" => "unknown",
            "S" => "isolation",
            "A" => "atomicity",
            "P" => "reach",
            "B" => "batch",
            _ => "other",
        }
    }
}

/// How deep a case goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tier {
    /// The lease table and every clause, one operation after the other. Can't be waived.
    Core,
    /// Threads through a barrier.
    Race,
    /// Random histories beside the pure rules.
    Model,
    /// Other processes, some of them killed.
    Durability,
}

impl Tier {
    /// All of them, the quickest first.
    pub const ALL: [Self; 4] = [Self::Core, Self::Race, Self::Model, Self::Durability];

    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::Race => "race",
            Self::Model => "model",
            Self::Durability => "durability",
        }
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a case comes to: nothing to say, or why it stopped.
pub type Check = Result<(), Stop>;

/// Why a case did not pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The store broke the rule.
    Failed {
        /// What the contract says.
        expected: String,
        /// What the store did.
        seen: String,
    },
    /// The store or its harness declares that it has not what this case is about.
    NotApplicable(String),
    /// What the case needs is not on this machine.
    NotRun(String),
    /// The harness failed, which says nothing of the store.
    Harness(String),
}

impl Stop {
    /// The store broke the rule.
    pub fn failed(expected: impl Into<String>, seen: impl fmt::Debug) -> Self {
        Self::Failed { expected: expected.into(), seen: format!("{seen:?}") }
    }

    /// The store has not what this case is about.
    pub fn not_applicable(why: impl Into<String>) -> Self {
        Self::NotApplicable(why.into())
    }
}

impl From<leasehold::StoreError> for Stop {
    fn from(error: leasehold::StoreError) -> Self {
        Self::failed("an answer", error)
    }
}

impl From<crate::Unready> for Stop {
    fn from(unready: crate::Unready) -> Self {
        match unready {
            crate::Unready::NotRun(why) => Self::NotRun(why),
            crate::Unready::Broken(why) => Self::Harness(why),
        }
    }
}

/// Fails the case unless `holds`.
pub(crate) fn must(holds: bool, expected: &str, seen: impl fmt::Debug) -> Check {
    if holds { Ok(()) } else { Err(Stop::failed(expected, seen)) }
}
