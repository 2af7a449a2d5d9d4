//! The scripts against the rules: random histories on the server and on the pure functions side by side.

use std::collections::HashMap;

use leasehold::rules::{self, Asker};
use leasehold::{
    ClaimOutcome, DiscardOutcome, Fence, Intent, Lease, Moment, OwnerId, OwnershipStore, Phase, Reading,
    Record, RenewOutcome, SandboxId, Step, TakeOutcome, Tenure, Ttl, Write,
};
use leasehold_conformance::servers::RawRedis;

use crate::support::{Dice, Fenced, LONG, Space, ask, id, space};

const NOW: Moment = Moment::from_nanos(1_000_000_000);

/// What the rules say is there. Time stands still in it, since no lease of these histories runs out by itself.
#[derive(Default)]
struct Model {
    records: HashMap<SandboxId, Record>,
    /// The largest fence of each sandbox so far, remembered when its record is forgotten.
    marks: HashMap<SandboxId, u64>,
}

impl Model {
    /// Runs `rule` as the server did when it answered with the fence `given`: that must be larger than every earlier one,
    /// and then it stands in for the server's clock.
    fn run<T>(
        &mut self,
        id: &SandboxId,
        given: Option<Fence>,
        rule: impl Fn(Option<&Record>, Reading) -> Step<T>,
    ) -> T {
        let mark = self.marks.entry(id.clone()).or_default();
        let floor = given.map_or(*mark + 1, Fence::get);
        let Step { write, answer } = rule(self.records.get(id), Reading { now: NOW, fence_floor: floor });
        match write {
            Write::Put(record) => {
                let fence = record.fence.unwrap().get();
                assert!(fence > *mark, "the fence {fence} of a new tenure is not above {mark}");
                *mark = fence;
                self.records.insert(id.clone(), record);
            }
            Write::Remove => {
                self.records.remove(id);
            }
            Write::Nothing | Write::Extend(_) => {}
        }
        answer
    }

    fn plant(&mut self, id: &SandboxId, owner: &str, phase: Phase) {
        let owner = OwnerId::new(owner).unwrap();
        let expires = Moment::from_nanos(u64::MAX);
        self.records.insert(id.clone(), Record { owner, phase, fence: None, expires });
    }

    fn lease(&self, id: &SandboxId) -> Option<Lease> {
        rules::inspect(self.records.get(id), Reading { now: NOW, fence_floor: 0 }).map(timeless)
    }
}

/// The same without what the clocks of server and model can't agree on.
fn timeless(lease: Lease) -> Lease {
    Lease { left: std::time::Duration::from_secs(1), ..lease }
}

fn untimed(tenure: Tenure) -> Tenure {
    Tenure { valid_until: NOW, ..tenure }
}

fn take_untimed(outcome: TakeOutcome) -> TakeOutcome {
    match outcome {
        TakeOutcome::Taken { tenure, replaced } => TakeOutcome::Taken { tenure: untimed(tenure), replaced },
        other => other,
    }
}

fn claim_untimed(outcome: ClaimOutcome) -> ClaimOutcome {
    match outcome {
        ClaimOutcome::Claimed { tenure, replaced } => {
            ClaimOutcome::Claimed { tenure: untimed(tenure), replaced }
        }
        other => other,
    }
}

fn renew_untimed(outcome: RenewOutcome) -> RenewOutcome {
    match outcome {
        RenewOutcome::Renewed(tenure) => RenewOutcome::Renewed(untimed(tenure)),
        other => other,
    }
}

struct History {
    space: Space,
    stores: Vec<Box<dyn OwnershipStore>>,
    ids: Vec<SandboxId>,
    raw: RawRedis,
    model: Model,
    dice: Dice,
}

impl History {
    const OWNERS: [&str; 3] = ["gw-1", "gw-2:x#y", "gw-3#"];

    fn step(&mut self) {
        let id = self.dice.pick(&self.ids).clone();
        let at = self.dice.roll(self.stores.len());
        let owner = OwnerId::new(Self::OWNERS[at]).unwrap();
        let asker = Asker { owner: &owner, ttl: Ttl::from_millis(LONG).unwrap() };
        let fence = self.some_fence(&id);
        let (store, model) = (&self.stores[at], &mut self.model);
        match self.dice.roll(16) {
            0..=2 => {
                let seen = store.take(&id).unwrap();
                let said = model.run(&id, seen.fence(), |b, r| rules::take(b, asker, r)).unwrap();
                assert_eq!(take_untimed(seen), take_untimed(said), "take of {id} by {owner}");
            }
            n @ 3..=7 => {
                let intent = match n {
                    3 => Intent::Keep,
                    4 => Intent::Destroy,
                    _ => Intent::DestroyTenure(fence),
                };
                let seen = store.claim(&id, intent).unwrap();
                let said = model.run(&id, seen.fence(), |b, r| rules::claim(b, intent, asker, r)).unwrap();
                assert_eq!(claim_untimed(seen), claim_untimed(said), "claim({intent:?}) of {id} by {owner}");
            }
            8 => {
                let seen = store.renew(&id).unwrap();
                let said = model.run(&id, None, |b, r| rules::renew(b, asker, r));
                assert_eq!(renew_untimed(seen), renew_untimed(said), "renew of {id} by {owner}");
            }
            9 => {
                let seen = store.renew_many(&self.ids);
                for (id, seen) in self.ids.iter().zip(seen) {
                    let said = model.run(id, None, |b, r| rules::renew(b, asker, r));
                    assert_eq!(renew_untimed(seen.unwrap()), renew_untimed(said), "renew of {id} by {owner}");
                }
            }
            10 => {
                let seen = store.release(&id).unwrap();
                assert_eq!(seen, model.run(&id, None, |b, r| rules::release(b, None, asker, r)));
            }
            11 => {
                let seen = store.release_tenure(&id, fence).unwrap();
                assert_eq!(seen, model.run(&id, None, |b, r| rules::release(b, Some(fence), asker, r)));
            }
            12 => {
                let force = self.dice.roll(2) == 0;
                let seen = store.discard(&id, force).unwrap();
                match (model.lease(&id), seen) {
                    (None, DiscardOutcome::Absent) => {}
                    (Some(_), DiscardOutcome::Discarded) if force => {
                        model.records.remove(&id);
                    }
                    (Some(lease), DiscardOutcome::Refused(seen)) if !force => {
                        assert_eq!(timeless(seen), lease);
                    }
                    (there, seen) => panic!("discard({force}) of {there:?} was {seen:?}"),
                }
            }
            // A lease that runs out leaves its mark and nothing else.
            13 => {
                ask(&mut self.raw, &["DEL", &self.space.key(&id)]);
                model.records.remove(&id);
            }
            n => {
                let (word, phase) = if n == 14 { ("own", Phase::Held) } else { ("del", Phase::Teardown) };
                let owner = *self.dice.pick(&["gw-1", "foreign", "a:b#c"]);
                let value = format!("{word}:{owner}");
                ask(&mut self.raw, &["SET", &self.space.key(&id), &value, "PX", &LONG.to_string()]);
                model.plant(&id, owner, phase);
            }
        }
        self.look();
    }

    /// What is there is what the rules say is there, and `list` says the same.
    fn look(&self) {
        let store = &self.stores[0];
        let mut listed: HashMap<_, _> = store.list().unwrap().leases.into_iter().collect();
        for id in &self.ids {
            let there = store.inspect(id).unwrap().map(timeless);
            assert_eq!(there, self.model.lease(id), "{id}");
            assert_eq!(listed.remove(id).map(timeless), there, "{id} in the list");
        }
        assert!(listed.is_empty(), "{listed:?}");
    }

    /// The current fence, or one a little beside it, or an old one.
    fn some_fence(&mut self, id: &SandboxId) -> Fence {
        let mark = self.model.marks.get(id).copied().unwrap_or(1);
        let current = self.model.records.get(id).and_then(|r| r.fence).map_or(mark, Fence::get);
        let near = match self.dice.roll(4) {
            0 => current + 1,
            1 => current.saturating_sub(1),
            _ => current,
        };
        Fence::new(near).unwrap_or(Fence::MIN)
    }
}

#[test]
fn every_history_is_as_the_rules_say() {
    for seed in 0..12 {
        let Some(space) = space() else { return };
        let open = if seed % 2 == 0 { Space::open } else { Space::open_when_due };
        let stores = History::OWNERS.map(|owner| open(&space, owner, LONG)).into_iter().collect();
        let ids = vec![id("sbx-1"), id("sbx-2"), id("SBX-1")];
        let raw = space.raw();
        let mut history = History { space, stores, ids, raw, model: Model::default(), dice: Dice(seed) };
        for step in 0..250 {
            let _told = Told { seed, step };
            history.step();
        }
    }
}

/// Says where a history failed.
struct Told {
    seed: u64,
    step: usize,
}

impl Drop for Told {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("seed {}, step {}", self.seed, self.step);
        }
    }
}
