//! What a search over seeds found, and how a person gets to see it.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::plan::{Plan, gateway};
use super::run::{Guard, Ran, run};
use super::shrink::shrunk;

/// How many seeds to try, from which on, with how many gateways, on how many threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Search {
    /// The first seed.
    pub first: u64,
    /// How many seeds.
    pub seeds: u64,
    /// How many gateways share the store and the engine; at least 1.
    pub gateways: usize,
    /// How many simulations run at once; at least 1. Each runs on one thread, so this changes no result.
    pub threads: usize,
}

/// What a search found.
#[derive(Clone, Debug)]
pub struct Found {
    /// How many seeds were tried.
    pub tried: u64,
    /// Seeds that break a rule, in order, each with the rule.
    pub broken: Vec<(u64, String)>,
    /// How much virtual time passed in all of them.
    pub time: Duration,
    /// How many steps all of them took.
    pub steps: u64,
}

impl Search {
    /// How many broken seeds are looked for; after so many the search ends.
    pub const ENOUGH: usize = 20;

    /// Tries the seeds, and stops early when enough of them break a rule.
    #[must_use]
    pub fn run(self) -> Found {
        self.run_without(None)
    }

    pub(super) fn run_without(self, without: Guard) -> Found {
        let next = AtomicU64::new(0);
        let found = Mutex::new(Found { tried: 0, broken: Vec::new(), time: Duration::ZERO, steps: 0 });
        let work = || {
            loop {
                let nth = next.fetch_add(1, Ordering::Relaxed);
                if nth >= self.seeds {
                    return;
                }
                let seed = self.first.wrapping_add(nth);
                let ran = run(&Plan::by_seed(seed, self.gateways), without, false);
                let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
                found.tried += 1;
                found.time += ran.time;
                found.steps += ran.steps;
                if let Some(failure) = ran.failure {
                    found.broken.push((seed, failure.rule.to_owned()));
                    if found.broken.len() >= Self::ENOUGH {
                        next.store(self.seeds, Ordering::Relaxed);
                    }
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..self.threads.max(1) {
                scope.spawn(work);
            }
            work();
        });
        let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
        found.broken.sort();
        found
    }
}

/// A failure as a person reads it: the shortest schedule that breaks the rule, and what happened in it.
#[derive(Clone, Debug)]
pub struct Story {
    seed: u64,
    gateways: usize,
    plan: Plan,
    ran: Ran,
    happened_before: usize,
}

impl Story {
    /// The story of `seed`, cut down to what its failure needs.
    #[must_use]
    pub fn of(seed: u64, gateways: usize) -> Self {
        Self::without(seed, gateways, None)
    }

    /// How many happenings the failure needs, and how many there were.
    #[must_use]
    pub fn happenings(&self) -> (usize, usize) {
        (self.plan.happenings.len(), self.happened_before)
    }

    pub(super) fn without(seed: u64, gateways: usize, without: Guard) -> Self {
        let whole = Plan::by_seed(seed, gateways);
        let happened_before = whole.happenings.len();
        let (plan, ran) = shrunk(&whole, without);
        Self { seed, gateways, plan, ran, happened_before }
    }
}

impl fmt::Display for Story {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let make = &self.plan.make;
        match &self.ran.failure {
            Some(failure) => {
                writeln!(f, "seed {} breaks a rule after {:.3} s:", self.seed, failure.at.as_secs_f64())?;
                writeln!(f, "  {}", failure.rule)?;
                writeln!(f, "  {}", failure.how)?;
            }
            None => writeln!(f, "seed {} breaks no rule", self.seed)?,
        }
        let gateways: Vec<String> = (0..make.gateways).map(|index| gateway(index).to_string()).collect();
        let hosts = if make.one_host { "one host" } else { "hosts of their own" };
        let clock = if make.server_clock { "a clock of its own" } else { "the host's clock" };
        writeln!(f, "the world: gateways {} on {hosts}, a store that goes by {clock};", gateways.join(", "))?;
        writeln!(
            f,
            "  leases of {:?} renewed every {:?}, idle after {:?}, warm for {:?}, capacity {:?}",
            make.ttl(),
            make.renewal_interval,
            make.idle_timeout,
            make.warm_timeout,
            make.capacity
        )?;
        writeln!(
            f,
            "what was done to it ({} of {} happenings are needed):",
            self.plan.happenings.len(),
            self.happened_before
        )?;
        for happening in &self.plan.happenings {
            writeln!(f, "  {:>8.3} s  {}", happening.at.as_secs_f64(), happening.what)?;
        }
        writeln!(f, "what happened:")?;
        let lines: Vec<&String> = self.ran.story.iter().filter(|line| !is_routine(line)).collect();
        const MOST: usize = 150;
        if lines.len() > MOST {
            writeln!(f, "  ({} lines before)", lines.len() - MOST)?;
        }
        for line in lines.iter().skip(lines.len().saturating_sub(MOST)) {
            writeln!(f, "  {line}")?;
        }
        write!(f, "again: leasehold sim --seed {} --gateways {}", self.seed, self.gateways)
    }
}

/// A renewal that went as it should says little.
fn is_routine(line: &str) -> bool {
    line.split_once(" → ").is_some_and(|(asked, answer)| {
        asked.contains(" renew ") && answer.split(", ").all(|one| one.starts_with("renewed"))
    })
}
