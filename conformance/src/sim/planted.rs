//! Proof that the simulation can fail: guards of the provider left out one at a time, and in how many seeds each is found
//! out.

use std::fmt;

use leasehold::Planted;

use super::plan::Plan;
use super::report::{Search, Story};
use super::run::run;

/// In which seeds a guard that was left out was found out.
#[derive(Clone, Debug)]
pub struct Hunted {
    /// The guard.
    pub guard: Planted,
    /// How many seeds were tried.
    pub tried: u64,
    /// The seeds in which a rule was broken, as many as were looked for.
    pub found_in: Vec<u64>,
    /// How many seeds it took from one to the next in the middle of cases; `None` when it was not found at all.
    pub median: Option<u64>,
    /// Which rules it broke, and how often.
    pub rules: Vec<(String, usize)>,
}

/// Leaves out every guard in turn and tries seeds until it was found out often enough, at most as many as `search` says.
/// `told` hears of each as soon as it is known.
pub fn hunt(search: Search, told: &mut dyn FnMut(&Hunted)) -> Vec<Hunted> {
    let hunted = Planted::ALL.iter().map(|&guard| {
        let hunted = hunt_one(search, guard);
        told(&hunted);
        hunted
    });
    hunted.collect()
}

/// The same for one guard.
#[must_use]
pub fn hunt_one(search: Search, guard: Planted) -> Hunted {
    let found = search.run_without(Some(guard));
    let found_in: Vec<u64> = found.broken.iter().map(|(seed, _)| *seed).collect();
    let mut before = search.first.wrapping_sub(1);
    let mut gaps: Vec<u64> = found_in
        .iter()
        .map(|&seed| {
            let gap = seed.wrapping_sub(before);
            before = seed;
            gap
        })
        .collect();
    gaps.sort_unstable();
    let mut rules: Vec<(String, usize)> = Vec::new();
    for (_, rule) in &found.broken {
        match rules.iter_mut().find(|(known, _)| known == rule) {
            Some((_, times)) => *times += 1,
            None => rules.push((rule.clone(), 1)),
        }
    }
    rules.sort_by_key(|(_, times)| std::cmp::Reverse(*times));
    let median = gaps.get(gaps.len() / 2).copied();
    Hunted { guard, tried: found.tried, found_in, median, rules }
}

/// The story of `seed` without `guard`, cut down to what its failure needs.
#[must_use]
pub fn story(seed: u64, gateways: usize, guard: Planted) -> Story {
    Story::without(seed, gateways, Some(guard))
}

/// Whether `seed` breaks a rule without `guard`, and which.
#[must_use]
pub fn broken(seed: u64, gateways: usize, guard: Planted) -> Option<&'static str> {
    run(&Plan::by_seed(seed, gateways), Some(guard), false).failure.map(|failure| failure.rule)
}

/// All of them in one table.
#[must_use]
pub fn table(hunted: &[Hunted]) -> String {
    let found = hunted.iter().filter(|hunted| !hunted.found_in.is_empty()).count();
    let mut lines = vec![format!("{} guards left out one at a time, {found} found out", hunted.len())];
    let missed = hunted.iter().filter(|hunted| hunted.found_in.is_empty());
    lines.extend(
        missed.map(|hunted| format!("  not found out in {} seeds: {:?}", hunted.tried, hunted.guard)),
    );
    lines.join("\n")
}

impl fmt::Display for Hunted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = format!("{:?}", self.guard);
        write!(f, "{:<24} {:>3}  ", name, self.guard.clause())?;
        match self.median {
            None => write!(f, "NOT FOUND in {} seeds", self.tried),
            Some(median) => {
                let rule = self.rules.first().map_or("", |(rule, _)| rule);
                write!(
                    f,
                    "in {:>2} of {:>6} seeds, median {median:>6}  ({rule})",
                    self.found_in.len(),
                    self.tried
                )
            }
        }
    }
}
