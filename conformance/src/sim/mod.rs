//! The provider under a seed: many gateways, one store, one engine, all simulated, in virtual time.
//!
//! Everything that a gateway meets is here: calls that take long, fail before or after their effect or have it late, a store
//! that forgets, gateways that are killed, paused or cut off, instances that end by themselves. The real provider runs in
//! it, unchanged; every rule is looked at after every step. The same seed does the same thing, always.

mod audit;
mod backend;
mod engine;
mod env;
mod executor;
mod faults;
mod gateway;
mod home;
mod leases;
mod patterns;
mod plan;
#[cfg(feature = "planted")]
pub mod planted;
mod promise;
mod report;
mod run;
mod shrink;
mod store;
mod user;
mod witness;
mod world;

use std::time::Duration;

pub use report::{Found, Search, Story};

/// How one seed ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Which rule was broken, and how; `None` when all was well.
    pub broken: Option<String>,
    /// Everything that happened, line by line, where it was asked for.
    pub story: Vec<String>,
    /// How many steps it took.
    pub steps: u64,
    /// How much virtual time passed.
    pub time: Duration,
}

/// Runs the simulation of `seed` with so many gateways.
#[must_use]
pub fn simulate(seed: u64, gateways: usize, told: bool) -> Outcome {
    let ran = run::run(&plan::Plan::by_seed(seed, gateways), None, told);
    let broken = ran.failure.map(|failure| format!("{} ({:?}): {}", failure.rule, failure.at, failure.how));
    Outcome { broken, story: ran.story, steps: ran.steps, time: ran.time }
}
