//! What a case is, in which tier it runs, what it needs, and what it comes to.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use leasehold::Reach;

use crate::children::Again;
use crate::guard::said;
use crate::listed::Listed;
use crate::{Harness, Kit, Outage, Verdict};

/// One case: a sentence of the contract, and the function that proves it.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// Its name for ever: clause, dot, words.
    pub id: &'static str,
    /// Its name as a `#[test]` of [`conformance_suite!`](crate::conformance_suite).
    pub test: &'static str,
    /// In which tier it runs.
    pub tier: Tier,
    /// What must be true.
    pub rule: &'static str,
    /// The version of the contract that it came with.
    pub since: &'static str,
    /// What it can't do without; where one of these is missing the case is not applicable.
    pub needs: &'static [Need],
    /// The proof.
    pub proof: fn(&Kit<'_>) -> Check,
}

impl Case {
    /// How often a case is tried where real time passes and the machine was too slow for its leases.
    const TRIES: usize = 3;

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
            "O" => "async facade",
            _ => "other",
        }
    }

    /// Proves the rule on a fresh namespace of `harness`, here and now: on this thread, for as long as it takes.
    ///
    /// A panic is caught and is a failure of the store; one in the harness's own code is a harness error. Where real
    /// time passes, a failure that a stalled machine may have caused is tried again, a few times.
    pub fn run(&self, harness: &dyn Harness, seed: u64) -> Verdict {
        self.run_in(harness, seed, None)
    }

    /// The same in a program that `again` tells how to run again, which the cases with child processes need.
    pub(crate) fn run_in(&self, harness: &dyn Harness, seed: u64, again: Option<&Again>) -> Verdict {
        let mut tries = 1;
        loop {
            match self.attempt(harness, seed, again) {
                (Verdict::Failed { .. }, Some(_)) if tries < Self::TRIES => tries += 1,
                (Verdict::Failed { expected, seen }, Some(late)) => {
                    let note = format!("{seen}\n(tried {tries} times, and each time {late})");
                    return Verdict::Failed { expected, seen: note };
                }
                (verdict, _) => return verdict,
            }
        }
    }

    /// One try, and in words how the machine was too slow for it, if it was.
    fn attempt(&self, harness: &dyn Harness, seed: u64, again: Option<&Again>) -> (Verdict, Option<String>) {
        let kit = match Kit::new(harness, seed) {
            Ok(kit) => kit.in_program(again.cloned()),
            Err(stop) => return (Verdict::from(Err(stop)), None),
        };
        let prove = || (self.proof)(&kit);
        let checked = self.needs.iter().try_for_each(|need| need.met(&kit)).and_then(|()| {
            catch_unwind(AssertUnwindSafe(prove)).unwrap_or_else(|panic| {
                Err(Stop::Failed {
                    expected: self.rule.to_owned(),
                    seen: format!("a panic: {}", said(&*panic)),
                })
            })
        });
        (Verdict::from(checked), kit.late())
    }
}

impl Listed for Case {
    const SUBJECT: &'static str = "store";

    fn all() -> &'static [Self] {
        crate::CASES
    }

    fn groups() -> Vec<&'static str> {
        Tier::ALL.map(Tier::name).to_vec()
    }

    fn id(&self) -> &'static str {
        self.id
    }

    fn test(&self) -> &'static str {
        self.test
    }

    fn rule(&self) -> &'static str {
        self.rule
    }

    fn since(&self) -> &'static str {
        self.since
    }

    fn family(&self) -> &'static str {
        self.family()
    }

    fn group(&self) -> &'static str {
        self.tier.name()
    }

    fn needs(&self) -> Vec<String> {
        self.needs.iter().map(ToString::to_string).collect()
    }

    fn not_waivable(&self) -> Option<String> {
        (self.tier == Tier::Core).then(|| format!("{} is of the core tier, which can't be waived", self.id))
    }
}

/// What a case can't do without.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Need {
    /// Records that carry the boot id of their writer, and a clock that moves on command.
    BootBound,
    /// A harness that counts what is stored.
    Count,
    /// A harness that damages records.
    Damage,
    /// A harness that brings about this outage.
    Outage(Outage),
    /// A harness that brings about any outage at all.
    AnyOutage,
    /// A harness that makes the server lose everything.
    Wipe,
    /// A harness that writes leases as a foreign program would.
    Foreign,
    /// A reach beyond this process.
    Processes,
}

impl Need {
    /// Not applicable where it is missing.
    fn met(self, kit: &Kit<'_>) -> Check {
        let (faults, capabilities) = (kit.namespace().faults(), kit.capabilities());
        let there = match self {
            Self::BootBound => capabilities.boot_bound && capabilities.virtual_time,
            Self::Count => kit.stored()?.is_some(),
            Self::Damage => faults.is_some_and(|faults| !faults.damages().is_empty()),
            Self::Outage(outage) => faults.is_some_and(|faults| faults.outages().contains(&outage)),
            Self::AnyOutage => faults.is_some_and(|faults| !faults.outages().is_empty()),
            Self::Wipe => faults.is_some_and(|faults| faults.can_wipe()),
            Self::Foreign => faults.is_some_and(|faults| faults.can_plant_foreign()),
            Self::Processes => capabilities.reach != Reach::Process,
        };
        if there { Ok(()) } else { Err(Stop::NotApplicable(format!("store and harness offer no {self}"))) }
    }
}

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BootBound => f.write_str("records bound to a boot"),
            Self::Count => f.write_str("count of records"),
            Self::Damage => f.write_str("damage to records"),
            Self::Outage(Outage::Down) => f.write_str("server that is down"),
            Self::Outage(Outage::Hung) => f.write_str("server that hangs"),
            Self::Outage(Outage::Refusing) => f.write_str("server that refuses"),
            Self::AnyOutage => f.write_str("outage of the server"),
            Self::Wipe => f.write_str("loss of everything"),
            Self::Foreign => f.write_str("foreign writer"),
            Self::Processes => f.write_str("reach beyond this process"),
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
    /// Behind the async facade, under the blocking gate. Its cases come with the feature `facade`.
    Facade,
}

impl Tier {
    /// All that this build of the kit has cases for, the quickest first.
    pub const ALL: [Self; 4 + cfg!(feature = "facade") as usize] = [
        Self::Core,
        Self::Race,
        Self::Model,
        Self::Durability,
        #[cfg(feature = "facade")]
        Self::Facade,
    ];

    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::Race => "race",
            Self::Model => "model",
            Self::Durability => "durability",
            Self::Facade => "facade",
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
