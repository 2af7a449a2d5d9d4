//! Random histories, run against the store and the pure rules side by side; a failing one is shrunk before it is shown.

use std::fmt;
use std::time::Duration;

use leasehold::rules::{self, Asker};
use leasehold::{
    ClaimOutcome, Fence, Intent, Reading, Record, ReleaseOutcome, RenewOutcome, SandboxId, Step, TakeOutcome,
    Write,
};

use crate::case::{Check, Stop};
use crate::chance::Chance;
use crate::kit::{Kit, Store, id};

/// One step of a history. `tenure` counts back among the fences that the id ever had: 0 is the newest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Take,
    Keep,
    Destroy,
    DestroyTenure {
        tenure: usize,
    },
    Renew,
    RenewMany,
    Release,
    ReleaseTenure {
        tenure: usize,
    },
    Discard {
        force: bool,
    },
    /// Moves time by a fraction of the TTL, in eighths, and a nanosecond up or down.
    Pass {
        eighths: u32,
        nanos: i8,
    },
    StepWall {
        seconds: i64,
    },
}

/// A step by somebody on something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Move {
    owner: usize,
    /// The same owner has a handle with a long TTL and one with a short one.
    long: bool,
    sandbox: usize,
    action: Action,
}

const OWNERS: [&str; 3] = ["gw-1", "gw-2", "gw-3"];
const SANDBOXES: [&str; 4] = ["sbx-1", "SBX-1", "sbx-2", "sbx_2"];
const SHORT: Duration = Duration::from_secs(60);
const LONG: Duration = Duration::from_secs(95);

impl fmt::Display for Move {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.action {
            Action::Pass { eighths, nanos } => write!(f, "{eighths}/8 of the TTL and {nanos} ns pass"),
            Action::StepWall { seconds } => write!(f, "the wall clock is set by {seconds} s"),
            action => {
                let ttl = if self.long { LONG } else { SHORT };
                write!(f, "{} ({ttl:?}): {action:?} of {}", OWNERS[self.owner], SANDBOXES[self.sandbox])
            }
        }
    }
}

pub(super) fn histories_equal_the_rules(kit: &Kit<'_>) -> Check {
    let virtual_time = kit.capabilities().virtual_time;
    let (histories, length) = if virtual_time { (60, 60) } else { (12, 80) };
    for n in 0..histories {
        let seed = kit.seed().wrapping_add(n);
        let history = history(seed, length, virtual_time);
        if let Err(stop) = run(kit, &history) {
            return Err(shrunk(kit, history, stop, seed));
        }
    }
    Ok(())
}

fn history(seed: u64, length: usize, virtual_time: bool) -> Vec<Move> {
    let mut chance = Chance::new(seed);
    (0..length)
        .map(|_| {
            let tenure = chance.below(3);
            let action = match chance.below(if virtual_time { 18 } else { 14 }) {
                0 | 1 => Action::Take,
                2 | 3 => Action::Keep,
                4 => Action::Destroy,
                5 | 6 => Action::DestroyTenure { tenure },
                7 | 8 => Action::Renew,
                9 => Action::RenewMany,
                10 => Action::Release,
                11 | 12 => Action::ReleaseTenure { tenure },
                13 => Action::Discard { force: chance.below(2) == 0 },
                14..=16 => Action::Pass { eighths: chance.below(9) as u32, nanos: chance.below(3) as i8 - 1 },
                _ => Action::StepWall { seconds: chance.below(7_201) as i64 - 3_600 },
            };
            let (owner, sandbox) = (chance.below(OWNERS.len()), chance.below(SANDBOXES.len()));
            Move { owner, long: chance.below(3) == 0, sandbox, action }
        })
        .collect()
}

/// The model of one sandbox: the record by the rules, and which fence of the store each of its fences stands for.
#[derive(Default)]
struct Model {
    record: Option<Record>,
    /// Model fence and store fence of every tenure, oldest first.
    fences: Vec<(Fence, Fence)>,
}

impl Model {
    fn ask<T>(&mut self, kit: &Kit<'_>, rule: impl Fn(Option<&Record>, Reading) -> Step<T>) -> T {
        let floor = self.fences.last().map_or(1, |(model, _)| model.get() + 1);
        let step = rule(self.record.as_ref(), Reading { now: kit.now(), fence_floor: floor });
        match step.write {
            Write::Nothing => {}
            Write::Extend(expires) => self.record.iter_mut().for_each(|record| record.expires = expires),
            Write::Put(record) => self.record = Some(record),
            Write::Remove => self.record = None,
        }
        step.answer
    }

    /// The fence to ask with, in the model's numbers and in the store's.
    fn nth(&self, back: usize) -> (Fence, Fence) {
        // One that no tenure ever has.
        let none = (Fence::MAX, Fence::MAX);
        self.fences.iter().rev().nth(back).copied().unwrap_or(none)
    }

    /// The store gave `theirs` where the rules gave `ours`.
    fn same_fence(&mut self, ours: Fence, theirs: Fence) -> Result<(), String> {
        if let Some((_, known)) = self.fences.iter().find(|(model, _)| *model == ours) {
            return if *known == theirs {
                Ok(())
            } else {
                Err(format!("fence {theirs}, not {known} as before"))
            };
        }
        if let Some((_, last)) = self.fences.last().filter(|(_, last)| theirs <= *last) {
            return Err(format!("fence {theirs} for a new tenure, not above {last}"));
        }
        self.fences.push((ours, theirs));
        Ok(())
    }
}

fn run(kit: &Kit<'_>, history: &[Move]) -> Check {
    let namespace = kit.harness().fresh()?;
    // Every run has a clock and a namespace of its own, or a shrunk history would meet the leavings of the last.
    let stores: Vec<[Store; 2]> = OWNERS
        .iter()
        .map(|owner| Ok([kit.open_in(&*namespace, owner, SHORT)?, kit.open_in(&*namespace, owner, LONG)?]))
        .collect::<Result<_, Stop>>()?;
    let mut models: Vec<Model> = SANDBOXES.iter().map(|_| Model::default()).collect();
    for (n, step) in history.iter().enumerate() {
        let store = &stores[step.owner][usize::from(step.long)];
        let differs = |why: String| Stop::Failed {
            expected: format!("step {}: {step}: what the rules say", n + 1),
            seen: why,
        };
        advance(kit, step.action);
        one(kit, store, &mut models, step).map_err(|e| e.unwrap_or_else(differs))?;
        for (model, sandbox) in models.iter_mut().zip(SANDBOXES) {
            state(kit, store, model, &id(sandbox)).map_err(|e| e.unwrap_or_else(differs))?;
        }
    }
    Ok(())
}

/// A difference in words, or something that stopped the run.
type Differs = Result<Stop, String>;

fn advance(kit: &Kit<'_>, action: Action) {
    let Ok(clock) = kit.virtual_clock() else { return };
    match action {
        Action::Pass { eighths, nanos } => {
            let whole = u64::from(eighths) * (SHORT.as_nanos() as u64 / 8) + 1;
            clock.advance(Duration::from_nanos(whole.saturating_add_signed(i64::from(nanos))));
        }
        Action::StepWall { seconds } => clock.step_wall(seconds * 1_000_000),
        _ => {}
    }
}

/// Runs one move on both, and compares the answers.
fn one(kit: &Kit<'_>, store: &Store, models: &mut [Model], step: &Move) -> Result<(), Differs> {
    let sbx = id(SANDBOXES[step.sandbox]);
    let asker = Asker { owner: store.owner(), ttl: store.ttl() };
    let stop = |error: leasehold::StoreError| -> Differs { Ok(Stop::from(error)) };
    let differ = |ours: &dyn fmt::Debug, theirs: &dyn fmt::Debug| -> Result<(), Differs> {
        Err(Err(format!("{theirs:?} where the rules say {ours:?}")))
    };
    let words = |text: Result<(), String>| text.map_err(Err);
    let model = &mut models[step.sandbox];
    match step.action {
        Action::Take => {
            let ours = model.ask(kit, |r, g| rules::take(r, asker, g)).map_err(|e| Err(e.to_string()))?;
            match (ours, store.take(&sbx).map_err(stop)?) {
                (TakeOutcome::Taken { tenure: a, .. }, TakeOutcome::Taken { tenure: b, .. }) => {
                    words(model.same_fence(a.fence, b.fence))
                }
                (TakeOutcome::BeingDestroyed, TakeOutcome::BeingDestroyed) => Ok(()),
                (a, b) => differ(&a, &b),
            }
        }
        Action::Keep | Action::Destroy | Action::DestroyTenure { .. } => {
            let intents = match step.action {
                Action::Keep => (Intent::Keep, Intent::Keep),
                Action::Destroy => (Intent::Destroy, Intent::Destroy),
                Action::DestroyTenure { tenure } => {
                    let (ours, theirs) = model.nth(tenure);
                    (Intent::DestroyTenure(ours), Intent::DestroyTenure(theirs))
                }
                _ => return Ok(()),
            };
            let ours = model
                .ask(kit, |r, g| rules::claim(r, intents.0, asker, g))
                .map_err(|e| Err(e.to_string()))?;
            match (ours, store.claim(&sbx, intents.1).map_err(stop)?) {
                (ClaimOutcome::Claimed { tenure: a, .. }, ClaimOutcome::Claimed { tenure: b, .. }) => {
                    words(model.same_fence(a.fence, b.fence))
                }
                (ClaimOutcome::Refused, ClaimOutcome::Refused)
                | (ClaimOutcome::Lapsed, ClaimOutcome::Lapsed) => Ok(()),
                (a, b) => differ(&a, &b),
            }
        }
        Action::Renew => {
            let theirs = store.renew(&sbx).map_err(stop)?;
            renewed(kit, model, asker, theirs)
        }
        Action::RenewMany => {
            let ids: Vec<SandboxId> = SANDBOXES.iter().rev().map(|text| id(text)).collect();
            let outcomes = store.renew_many(&ids);
            if outcomes.len() != ids.len() {
                return differ(&ids.len(), &outcomes.len());
            }
            for (model, theirs) in models.iter_mut().rev().zip(outcomes) {
                renewed(kit, model, asker, theirs.map_err(stop)?)?;
            }
            Ok(())
        }
        Action::Release | Action::ReleaseTenure { .. } => {
            let (ours, theirs) = match step.action {
                Action::ReleaseTenure { tenure } => {
                    let (ours, theirs) = model.nth(tenure);
                    (Some(ours), Some(theirs))
                }
                _ => (None, None),
            };
            let ours: ReleaseOutcome = model.ask(kit, |r, g| rules::release(r, ours, asker, g));
            let theirs = match theirs {
                Some(fence) => store.release_tenure(&sbx, fence),
                None => store.release(&sbx),
            };
            let theirs = theirs.map_err(stop)?;
            if ours == theirs { Ok(()) } else { differ(&ours, &theirs) }
        }
        Action::Discard { force } => {
            let live = model.record.as_ref().is_some_and(|record| record.is_live(kit.now()));
            let theirs = store.discard(&sbx, force).map_err(stop)?;
            let refused = matches!(theirs, leasehold::DiscardOutcome::Refused(_));
            if refused != (live && !force) {
                return differ(&(live, force), &theirs);
            }
            if !refused {
                model.record = None;
            }
            Ok(())
        }
        Action::Pass { .. } | Action::StepWall { .. } => Ok(()),
    }
}

fn renewed(kit: &Kit<'_>, model: &mut Model, asker: Asker<'_>, theirs: RenewOutcome) -> Result<(), Differs> {
    let ours = model.ask(kit, |r, g| rules::renew(r, asker, g));
    match (ours, theirs) {
        (RenewOutcome::Renewed(a), RenewOutcome::Renewed(b)) => {
            model.same_fence(a.fence, b.fence).map_err(Err)
        }
        (a, b) if a == b => Ok(()),
        (a, b) => Err(Err(format!("{b:?} where the rules say {a:?}"))),
    }
}

/// Compares what a look at one sandbox shows with the model.
fn state(kit: &Kit<'_>, store: &Store, model: &mut Model, sbx: &SandboxId) -> Result<(), Differs> {
    let ours = model.record.as_ref().and_then(|record| record.lease_at(kit.now()));
    let theirs = store.inspect(sbx).map_err(|e| -> Differs { Ok(Stop::from(e)) })?;
    match (ours, theirs) {
        (None, None) => Ok(()),
        (Some(ours), Some(theirs)) => {
            let fences = ours.fence.zip(theirs.fence);
            let Some((a, b)) = fences else { return Err(Err(format!("{sbx} shows no fence: {theirs:?}"))) };
            model.same_fence(a, b).map_err(|why| Err(format!("{sbx}: {why}")))?;
            let same = ours.owner == theirs.owner && ours.phase == theirs.phase;
            if same && (kit.is_about(theirs.left, ours.left) || near(kit, theirs.left, ours.left)) {
                return Ok(());
            }
            Err(Err(format!("{sbx} is {theirs:?} where the rules have {ours:?}")))
        }
        (ours, theirs) => Err(Err(format!("{sbx} is {theirs:?} where the rules have {ours:?}"))),
    }
}

/// In real time the two sides read their clocks at slightly different moments, either way round.
fn near(kit: &Kit<'_>, a: Duration, b: Duration) -> bool {
    kit.virtual_clock().is_err() && a.abs_diff(b) < Duration::from_secs(5)
}

/// Leaves out whatever the failure doesn't need, and tells the rest as a story.
fn shrunk(kit: &Kit<'_>, mut history: Vec<Move>, mut stop: Stop, seed: u64) -> Stop {
    if !matches!(stop, Stop::Failed { .. }) {
        return stop;
    }
    let mut size = history.len() / 2;
    while size > 0 {
        let mut at = 0;
        while at < history.len() {
            let mut shorter = history.clone();
            shorter.drain(at..(at + size).min(shorter.len()));
            match run(kit, &shorter) {
                Err(still @ Stop::Failed { .. }) => (history, stop) = (shorter, still),
                _ => at += size,
            }
        }
        size /= 2;
    }
    let Stop::Failed { expected, seen } = stop else { return stop };
    let story: Vec<String> =
        history.iter().enumerate().map(|(n, step)| format!("  {}. {step}", n + 1)).collect();
    let seen = format!("{seen}\nthe shortest history that does it (seed {seed}):\n{}", story.join("\n"));
    Stop::Failed { expected, seen }
}
