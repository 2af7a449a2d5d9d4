//! What all gateways of a simulation share: one store, one engine, the hosts, and whoever watches them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use leasehold::{Moment, ProviderStatus, SandboxId};

use super::audit::{Audit, Trouble};
use super::engine::Engine;
use super::executor::{Executor, Life};
use super::faults::Faults;
use super::leases::Leases;
use super::plan::{Make, gateway};
use super::witness::Witness;

/// The world of one simulation. A clone is the same one.
#[derive(Clone)]
pub(super) struct World {
    pub(super) executor: Executor,
    pub(super) make: Arc<Make>,
    inside: Arc<Mutex<Inside>>,
}

/// All that can change, behind one lock that is never held while a gateway's code runs.
pub(super) struct Inside {
    pub(super) leases: Leases,
    pub(super) engine: Engine,
    /// Create locks: on which host, of which sandbox, and who has it.
    pub(super) locks: BTreeMap<(usize, SandboxId), (Life, u64)>,
    pub(super) faults: Faults,
    pub(super) witness: Witness,
    pub(super) names: Names,
    pub(super) audit: Audit,
    /// How each gateway's provider can be looked at.
    pub(super) peeks: BTreeMap<Life, Peek>,
    story: Option<Vec<String>>,
    failure: Option<Failure>,
    draws: BTreeMap<(usize, &'static str), u64>,
    now: u64,
    elapsed: Duration,
}

/// What a gateway's provider says of itself, without asking anybody.
pub(super) type Peek = Arc<dyn Fn() -> Option<ProviderStatus> + Send + Sync>;

/// A rule that was broken, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Failure {
    /// The rule, in few words, by which two failures are told apart.
    pub(super) rule: &'static str,
    pub(super) how: String,
    /// When, since the beginning.
    pub(super) at: Duration,
}

/// Short names for people.
#[derive(Default)]
pub(super) struct Names {
    sandboxes: BTreeMap<SandboxId, String>,
    lives: BTreeMap<Life, (usize, String)>,
}

impl World {
    pub(super) fn new(make: Make, told: bool) -> Self {
        let executor = Executor::new(make.seed ^ 0x0ec5_0ec5_0ec5_0ec5);
        let inside = Inside {
            leases: Leases::new(make.server_clock),
            engine: Engine::default(),
            locks: BTreeMap::new(),
            faults: Faults::default(),
            witness: Witness::new(&make),
            names: Names::default(),
            audit: Audit::default(),
            peeks: BTreeMap::new(),
            story: told.then(Vec::new),
            failure: None,
            draws: BTreeMap::new(),
            now: executor.now(),
            elapsed: Duration::ZERO,
        };
        Self { executor, make: Arc::new(make), inside: Arc::new(Mutex::new(inside)) }
    }

    /// The inside, with the time brought up to date.
    pub(super) fn inside(&self) -> MutexGuard<'_, Inside> {
        let (now, elapsed) = (self.executor.now(), self.executor.elapsed());
        let mut inside = self.inside.lock().unwrap_or_else(PoisonError::into_inner);
        (inside.now, inside.elapsed) = (now, elapsed);
        inside
    }

    /// What the lease clock of a gateway's host shows; every host started at another time.
    pub(super) fn clock_of(&self, gateway: usize) -> Moment {
        Moment::from_nanos(self.executor.now() + self.clock_offset(gateway))
    }

    /// How much more the clock of a gateway's host shows than the world's.
    pub(super) fn clock_offset(&self, gateway: usize) -> u64 {
        if self.make.one_host { 0 } else { 100_000_000_000_000 * gateway as u64 }
    }

    pub(super) fn host_of(&self, gateway: usize) -> usize {
        if self.make.one_host { 0 } else { gateway }
    }

    /// A number below `limit` for the next draw of this kind by this gateway. It depends on nothing else, so that a plan
    /// from which something was cut goes on as before where it can.
    pub(super) fn draw(&self, gateway: usize, kind: &'static str, limit: u64) -> u64 {
        let count = {
            let mut inside = self.inside.lock().unwrap_or_else(PoisonError::into_inner);
            let count = inside.draws.entry((gateway, kind)).or_insert(0);
            *count += 1;
            *count
        };
        let mut hash = self.make.seed ^ 0x9e37_79b9_7f4a_7c15;
        for part in [
            gateway as u64 + 1,
            kind.bytes().fold(7, |sum: u64, b| sum.wrapping_mul(131).wrapping_add(u64::from(b))),
            count,
        ] {
            hash = (hash ^ part).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            hash ^= hash >> 29;
            hash = hash.wrapping_mul(0x94d0_49bb_1331_11eb);
            hash ^= hash >> 32;
        }
        hash % limit.max(1)
    }

    /// How long a step of a call takes: mostly hardly any time, now and then a lot.
    pub(super) fn delay(&self, gateway: usize, kind: &'static str) -> Duration {
        let micros = match self.draw(gateway, kind, 20) {
            0..=11 => self.draw(gateway, kind, 2_000),
            12..=17 => self.draw(gateway, kind, 50_000),
            18 => self.draw(gateway, kind, 300_000),
            _ => self.draw(gateway, kind, 1_000_000),
        };
        Duration::from_micros(micros * u64::from(self.make.slowness) / 100)
    }

    /// Tells something, in a told simulation.
    pub(super) fn tell(&self, text: impl FnOnce(&Names) -> String) {
        self.inside().tell(text);
    }

    /// A rule was broken. The first counts.
    pub(super) fn fail(&self, rule: &'static str, how: impl FnOnce(&Names) -> String) {
        self.inside().fail(rule, how);
    }

    pub(super) fn failure(&self) -> Option<Failure> {
        self.inside().failure.clone()
    }

    /// What the provider of that life says of itself, while it serves.
    pub(super) fn peek(&self, life: Life) -> Option<ProviderStatus> {
        let peek = self.inside().peeks.get(&life).cloned()?;
        peek()
    }

    /// Something happens that explains what is amiss for a while.
    pub(super) fn disturb(&self, trouble: Trouble, lasts: Duration) {
        let settles = self.make.settles();
        self.inside().disturb(trouble, lasts + settles);
    }

    pub(super) fn has_failed(&self) -> bool {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner).failure.is_some()
    }

    /// What was told.
    pub(super) fn story(&self) -> Vec<String> {
        self.inside().story.clone().unwrap_or_default()
    }
}

impl Inside {
    /// Virtual nanoseconds.
    pub(super) fn now(&self) -> u64 {
        self.now
    }

    pub(super) fn tell(&mut self, text: impl FnOnce(&Names) -> String) {
        if let Some(story) = &mut self.story {
            let at = self.elapsed;
            story.push(format!("{:>4}.{:06} {}", at.as_secs(), at.subsec_micros(), text(&self.names)));
        }
    }

    pub(super) fn disturb(&mut self, trouble: Trouble, lasts: Duration) {
        let now = self.now;
        self.audit.disturb(trouble, now, super::executor::nanos(lasts));
    }

    pub(super) fn fail(&mut self, rule: &'static str, how: impl FnOnce(&Names) -> String) {
        if self.failure.is_none() {
            let how = how(&self.names);
            self.tell(|_| format!("!! {rule}: {how}"));
            self.failure = Some(Failure { rule, how, at: self.elapsed });
        }
    }
}

impl Names {
    pub(super) fn name_life(&mut self, life: Life, index: usize) {
        let before = self.lives.values().filter(|(other, _)| *other == index).count();
        let name = if before == 0 {
            gateway(index).to_string()
        } else {
            format!("{}{}", gateway(index), before + 1)
        };
        self.lives.insert(life, (index, name));
    }

    pub(super) fn name_sandbox(&mut self, id: &SandboxId, name: impl FnOnce(usize) -> String) {
        if !self.sandboxes.contains_key(id) {
            let name = name(self.sandboxes.len());
            self.sandboxes.insert(id.clone(), name);
        }
    }

    pub(super) fn life(&self, life: Life) -> &str {
        self.lives.get(&life).map_or("?", |(_, name)| name)
    }

    pub(super) fn sandbox(&self, id: &SandboxId) -> String {
        self.sandboxes.get(id).cloned().unwrap_or_else(|| id.as_str().chars().take(10).collect())
    }
}
