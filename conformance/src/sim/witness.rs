//! Watches the world from outside, knows what every gateway was told, and says at once when a rule is broken.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use leasehold::{SandboxId, SandboxState};

use super::engine::Engine;
use super::executor::{Life, nanos};
use super::plan::Make;
use super::world::Inside;

/// What a gateway was told about a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Heard {
    Taken,
    Kept,
    Renewed,
    Lapsed,
    Lost,
    /// The Teardown is granted.
    MayStop,
    MayNotStop,
    LetGo,
}

/// Everything the rules are judged by. Times are nanoseconds of the world.
pub(super) struct Witness {
    ttl: u64,
    grace: u64,
    idle_timeout: u64,
    known: BTreeMap<(Life, SandboxId), Known>,
    looks: BTreeMap<(Life, u64), Look>,
    condemned: BTreeMap<(Life, u64), u64>,
    uses: BTreeMap<u64, Use>,
    /// When a gateway last handed an instance out, which is a sign of use.
    handed: BTreeMap<(Life, u64), u64>,
    next_use: u64,
    /// Gateways that were told to stop what is theirs.
    stopping_all: Vec<Life>,
    /// Gateways that were told to shut down.
    ending: Vec<Life>,
    /// Who has asked for what to be made.
    making: BTreeSet<(Life, SandboxId)>,
}

/// What a gateway knows of one lease.
#[derive(Clone, Copy, Default)]
struct Known {
    /// When the last grant it heard of was sent, and the number of its effect.
    granted: Option<(u64, u64)>,
    /// Until when it may rely on that grant.
    until: u64,
    /// When it heard of its last take, and the number of its effect.
    taken: Option<(u64, u64)>,
    /// When it last asked what was answered that it lost it or that it ran out, and the number of that effect.
    broken: Option<(u64, u64)>,
    /// Told that a peer has it: the number of that effect.
    lost: Option<u64>,
    /// When the Teardown that it was granted last was asked for.
    may_stop: Option<u64>,
    /// Since when it has seen nobody own it, in its awake time.
    unowned: Option<u64>,
}

/// What a gateway knows of one instance.
#[derive(Clone, Copy, Default)]
struct Look {
    /// When it last began to look.
    asked: u64,
    /// When the last look that was answered began, and what it showed.
    answered: Option<(u64, Shown)>,
}

/// What a look at an instance showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    Usable,
    Condemned,
    /// Gone, or ended.
    Dead,
}

/// One holder of a sandbox.
pub(super) struct Use {
    pub(super) life: Life,
    pub(super) id: SandboxId,
    pub(super) instance: u64,
    /// The last sign of use.
    activity: u64,
    running: u32,
    /// Whether its holder was told that it is lost.
    told: Arc<dyn Fn() -> bool + Send + Sync>,
}

impl Witness {
    pub(super) fn new(make: &Make) -> Self {
        Self {
            ttl: nanos(make.ttl()),
            grace: nanos(make.horizon()),
            idle_timeout: nanos(make.idle_timeout),
            known: BTreeMap::new(),
            looks: BTreeMap::new(),
            condemned: BTreeMap::new(),
            uses: BTreeMap::new(),
            handed: BTreeMap::new(),
            next_use: 0,
            stopping_all: Vec::new(),
            ending: Vec::new(),
            making: BTreeSet::new(),
        }
    }

    /// A gateway got an answer about the lease of `id` to what it asked and what was sent at these times.
    pub(super) fn heard(
        &mut self,
        life: Life,
        id: &SandboxId,
        heard: Heard,
        (asked, sent): (u64, u64),
        (effect, until): (u64, Option<u64>),
        now: u64,
    ) {
        let known = self.known.entry((life, id.clone())).or_default();
        known.until = known.until.max(until.unwrap_or(0));
        match heard {
            Heard::Taken | Heard::Kept | Heard::Renewed => {
                if known.granted.is_none_or(|(before, _)| before <= sent) {
                    known.granted = Some((sent, effect));
                }
                if heard != Heard::Renewed {
                    known.may_stop = None;
                }
                if heard == Heard::Taken {
                    known.taken = Some((now, effect));
                }
            }
            Heard::Lapsed => known.broken = Some((asked, effect)),
            Heard::Lost => {
                known.broken = Some((asked, effect));
                known.lost = Some(effect);
            }
            Heard::MayStop => known.may_stop = Some(sent),
            Heard::MayNotStop => known.may_stop = None,
            Heard::LetGo => {
                known.granted = None;
                known.until = 0;
                known.may_stop = None;
            }
        }
    }

    pub(super) fn looked_at_lease(&mut self, life: Life, id: &SandboxId, owned: bool, awake: u64) {
        let known = self.known.entry((life, id.clone())).or_default();
        known.unowned = if owned { None } else { known.unowned.or(Some(awake)) };
    }

    /// A gateway got the list of all leases. What it shows is what the gateway may go by from now on.
    pub(super) fn looked_at_leases<'a>(
        &mut self,
        life: Life,
        owned: impl Iterator<Item = &'a SandboxId>,
        awake: u64,
    ) {
        let owned: Vec<&SandboxId> = owned.collect();
        let others: Vec<SandboxId> =
            self.known.keys().map(|(_, id)| id).filter(|id| !owned.contains(id)).cloned().collect();
        for id in others {
            self.known.entry((life, id)).or_default().unowned.get_or_insert(awake);
        }
        for id in owned {
            self.known.entry((life, id.clone())).or_default().unowned = None;
        }
    }

    pub(super) fn looks_at(&mut self, life: Life, instance: u64, now: u64) {
        self.looks.entry((life, instance)).or_default().asked = now;
    }

    pub(super) fn looked_at(&mut self, life: Life, instance: u64, sent: u64, shown: Shown) {
        let look = self.looks.entry((life, instance)).or_default();
        look.asked = look.asked.max(sent);
        look.answered = Some((sent, shown));
    }

    pub(super) fn condemned(&mut self, life: Life, instance: u64, now: u64) {
        self.condemned.insert((life, instance), now);
    }

    /// A gateway was told to shut down, and maybe to stop what is its own.
    pub(super) fn ends(&mut self, life: Life, stops: bool) {
        self.ending.push(life);
        if stops {
            self.stopping_all.push(life);
        }
    }

    /// Whether that gateway was told that a peer has it, and took it not again since.
    pub(super) fn has_lost(&self, life: Life, id: &SandboxId) -> bool {
        let known = self.known(life, id);
        known.lost.is_some_and(|lost| known.granted.is_none_or(|(_, granted)| granted < lost))
    }

    /// Whether somebody on that gateway uses the sandbox, and was neither told that it is lost nor that all ends.
    pub(super) fn is_needed(&self, life: Life, id: &SandboxId) -> bool {
        !self.ending.contains(&life) && self.held_by(life).any(|held| held.id == *id)
    }

    /// Since when a gateway has seen nobody own it, in its awake time.
    pub(super) fn unowned_for(&self, life: Life, id: &SandboxId, awake: u64) -> Option<u64> {
        Some(awake.saturating_sub(self.known(life, id).unowned?))
    }

    pub(super) fn grace(&self) -> u64 {
        self.grace
    }

    /// Whether the gateway asks for a sandbox to be made for the first time.
    pub(super) fn asks_to_make(&mut self, life: Life, id: &SandboxId) -> bool {
        self.making.insert((life, id.clone()))
    }

    /// A gateway is no more.
    pub(super) fn died(&mut self, life: Life) {
        self.uses.retain(|_, held| held.life != life);
    }

    /// A user received a sandbox.
    pub(super) fn received(
        &mut self,
        life: Life,
        id: &SandboxId,
        instance: u64,
        now: u64,
        told: Arc<dyn Fn() -> bool + Send + Sync>,
    ) -> u64 {
        self.next_use += 1;
        // Who receives it may have been held up since.
        let activity = self.handed.get(&(life, instance)).copied().unwrap_or(now);
        self.uses.insert(self.next_use, Use { life, id: id.clone(), instance, activity, running: 0, told });
        self.next_use
    }

    pub(super) fn used(&mut self, held: u64, now: u64) {
        if let Some(held) = self.uses.get_mut(&held) {
            held.activity = now;
        }
    }

    pub(super) fn runs(&mut self, held: u64, now: u64, begins: bool) {
        if let Some(held) = self.uses.get_mut(&held) {
            held.activity = now;
            held.running = if begins { held.running + 1 } else { held.running.saturating_sub(1) };
        }
    }

    pub(super) fn let_go(&mut self, held: u64) {
        self.uses.remove(&held);
    }

    /// What a gateway's users hold and were not told to have lost.
    pub(super) fn held_by(&self, life: Life) -> impl Iterator<Item = &Use> {
        self.uses.values().filter(move |held| held.life == life && !(held.told)())
    }

    fn known(&self, life: Life, id: &SandboxId) -> Known {
        self.known.get(&(life, id.clone())).copied().unwrap_or_default()
    }

    /// Whether the last grant it heard of was sent less than a TTL ago, and it was not told since that a peer has it.
    fn in_good_standing(&self, life: Life, id: &SandboxId, now: u64) -> bool {
        let known = self.known(life, id);
        let Some((sent, effect)) = known.granted else { return false };
        now < sent + self.ttl && known.lost.is_none_or(|lost| lost < effect)
    }

    fn in_use(&self, held: &Use, now: u64) -> bool {
        held.running > 0 || self.idle_timeout == 0 || now - held.activity < self.idle_timeout
    }

    /// Who uses an instance in good standing, seen from the moment at which `by` stops it.
    fn user_in_good_standing(&self, engine: &Engine, by: Life, instance: u64, now: u64) -> Option<&Use> {
        if engine.get(instance).is_none_or(|there| there.ended) {
            return None;
        }
        self.uses.values().find(|held| {
            held.instance == instance
                && !(held.life == by && self.stopping_all.contains(&by))
                && !(held.told)()
                && self.in_use(held, now)
                && self.in_good_standing(held.life, &held.id, now)
        })
    }
}

/// An instance was made: nobody else may have one of that id that is alive and not condemned.
pub(super) fn made(inside: &mut Inside, by: Life, number: u64) {
    let Some(id) = inside.engine.get(number).map(|made| made.id.clone()) else { return };
    inside.witness.known.entry((by, id.clone())).or_default();
    let alive =
        |(_, there): &(u64, &super::engine::Instance)| there.id == id && !there.condemned && !there.ended;
    let many = inside.engine.all().filter(alive).count();
    if many > 1 {
        inside.fail("H3: at most one live sandbox for a session", |names| {
            format!("{} made i{number}, and there are {many} of {} now", names.life(by), names.sandbox(&id))
        });
    }
}

/// A while ago a gateway was not told whether an instance was made: it was, so it must be looked after.
pub(super) fn created_unknown(inside: &mut Inside, by: Life, id: &SandboxId) {
    let now = inside.now();
    let Some(number) = inside.engine.named(id) else { return };
    let Some(status) = inside.peeks.get(&by).cloned().and_then(|peek| peek()) else { return };
    let its_own =
        inside.engine.get(number).is_some_and(|there| *there.creator() == status.owner && !there.late);
    let known = status.closing || status.sandboxes.iter().any(|row| row.id == *id);
    let leased = inside.leases.inspect(id, now).is_some();
    if its_own && !known && !leased && !inside.witness.has_lost(by, id) {
        inside.fail("K7: what may have been made is looked after", |names| {
            format!(
                "{} was not told whether it made i{number} of {}, and forgot it",
                names.life(by),
                names.sandbox(id)
            )
        });
    }
}

/// A gateway asks the engine to stop an instance: only under a Teardown granted after the condemning was answered, or to
/// finish what somebody else had condemned, as the owner.
pub(super) fn asks_to_stop(inside: &mut Inside, by: Life, number: u64) {
    let Some((id, unfinished)) = inside.engine.get(number).map(|there| (there.id.clone(), there.condemned))
    else {
        return;
    };
    let now = inside.now();
    if unfinished && inside.witness.in_good_standing(by, &id, now) {
        return;
    }
    let known = inside.witness.known(by, &id);
    let condemned = inside.witness.condemned.get(&(by, number)).copied();
    let says = |what: &str, names: &super::world::Names| {
        format!("{} stops i{number} of {} {what}", names.life(by), names.sandbox(&id))
    };
    match (known.may_stop, condemned) {
        (None, _) => inside.fail("K1: every stop is permitted by claim(DestroyTenure)", |names| {
            says("without having been granted it", names)
        }),
        (Some(_), None) => inside.fail("K8: an instance is condemned before it is stopped", |names| {
            says("without having condemned it", names)
        }),
        (Some(sent), Some(answered)) if sent < answered => {
            inside.fail("K8: the store is asked once more after condemning", |names| {
                says("under what was granted before it was condemned", names)
            });
        }
        _ => {}
    }
}

/// A gateway asks the engine to condemn an instance: only while its Teardown lasts.
pub(super) fn asks_to_condemn(inside: &mut Inside, by: Life, number: u64) {
    let Some(id) = inside.engine.get(number).map(|there| there.id.clone()) else { return };
    let now = inside.now();
    let known = inside.witness.known(by, &id);
    if known.may_stop.is_none_or(|sent| now >= sent + inside.witness.ttl) {
        inside.fail("K8: an instance is condemned only while the Teardown lasts", |names| {
            let since = known.may_stop.map(|sent| std::time::Duration::from_nanos(now - sent));
            format!(
                "{} condemns i{number} of {}; its Teardown was asked for {since:?} ago",
                names.life(by),
                names.sandbox(&id)
            )
        });
    }
}

/// A stop arrives at the engine: nobody in good standing may be using the instance, and whoever stops it still knows.
pub(super) fn stops(inside: &mut Inside, by: Life, number: u64) {
    let now = inside.now();
    // What somebody left condemned is finished without being tracked.
    let id = inside.engine.get(number).map(|there| there.id.clone());
    let its_own = inside.witness.condemned.contains_key(&(by, number))
        && id.is_some_and(|id| inside.witness.known(by, &id).may_stop.is_some());
    let status = inside.peeks.get(&by).cloned().and_then(|peek| peek());
    if let (Some(status), true) = (status, its_own) {
        let row = status.sandboxes.iter().find(|row| row.instance == Some(super::engine::name(number)));
        // Condemned: the stop was given up, and arrives all the same.
        let known =
            row.is_some_and(|row| matches!(row.state, SandboxState::Stopping | SandboxState::Condemned));
        if !known && !status.closing {
            let state = row.map(|row| row.state);
            inside.fail("K5: what is being stopped is tracked until it is gone", |names| {
                format!("{} stops i{number}, which is {state:?} to it", names.life(by))
            });
        }
    }
    let found = inside.witness.user_in_good_standing(&inside.engine, by, number, now);
    let Some((user, id)) = found.map(|held| (held.life, held.id.clone())) else { return };
    inside.fail("K2: nothing in use by an owner in good standing is stopped", |names| {
        let (by, user, id) = (names.life(by).to_owned(), names.life(user), names.sandbox(&id));
        format!("{by} stops i{number} of {id}, which {user} has handed out, in use and under a lease it may rely on")
    });
}

/// A gateway handed an instance out, just now.
pub(super) fn handed_out(inside: &mut Inside, by: Life, id: &SandboxId, number: u64) {
    let now = inside.now();
    let known = inside.witness.known(by, id);
    let look = inside.witness.looks.get(&(by, number)).copied().unwrap_or_default();
    let says = |what: &str, names: &super::world::Names| {
        format!("{} hands out i{number} of {} {what}", names.life(by), names.sandbox(id))
    };
    let Some((taken, taken_effect)) = known.taken else {
        inside.fail("H2: nothing is handed out before a take succeeded", |names| {
            says("without having taken it", names)
        });
        return;
    };
    if look.asked < taken {
        inside.fail("H2: the look at the instance follows the take", |names| {
            says("without a look at it since the take", names)
        });
    }
    let answered = look.answered.filter(|(sent, _)| *sent >= taken);
    match answered.map(|(_, shown)| shown) {
        Some(Shown::Condemned) => {
            inside.fail("K8: nothing condemned is handed out", |names| {
                says("though it saw that it is condemned", names)
            });
        }
        Some(Shown::Dead) => {
            inside.fail("H11: nothing that is gone is handed out", |names| {
                says("though it saw that it is gone", names)
            });
        }
        Some(Shown::Usable) | None => {}
    }
    inside.witness.handed.insert((by, number), now);
    if known.granted.is_none() || now >= known.until {
        inside.fail("H2: time is left of the lease at the hand-out", |names| {
            says("though no time is left of its lease", names)
        });
    }
    // What was asked before the take was answered says nothing (N4).
    if known.broken.is_some_and(|(asked, effect)| asked >= taken && effect > taken_effect)
        && known.granted.is_none_or(|(_, effect)| known.broken.is_some_and(|(_, broken)| broken > effect))
    {
        inside.fail("H2: no Lost and no Lapsed since the take", |names| {
            says("though it was told since that the lease is gone", names)
        });
    }
    if let (Some(Some(stopper)), true, true) =
        (inside.engine.stopped_by(number), answered.is_some(), inside.witness.in_good_standing(by, id, now))
    {
        inside.fail("H5: nothing that is being stopped is handed out", |names| {
            says(&format!("though {} is stopping it", names.life(stopper)), names)
        });
    }
}

/// A gateway adopted an instance, just now.
pub(super) fn adopted(inside: &mut Inside, by: Life, id: &SandboxId, number: u64, awake: u64) {
    let known = inside.witness.known(by, id);
    let since = known.unowned;
    let grace = inside.witness.grace;
    if since.is_none_or(|since| awake < since + grace) {
        inside.fail("D2: nothing is adopted before the grace is over", |names| {
            format!(
                "{} adopts i{number} of {} after it has seen nobody own it for {:?}",
                names.life(by),
                names.sandbox(id),
                since.map(|since| std::time::Duration::from_nanos(awake - since))
            )
        });
    }
    let looked = inside.witness.looks.get(&(by, number)).and_then(|look| look.answered).map(|(sent, _)| sent);
    match known.granted {
        None => inside.fail("K7: nothing is adopted without a claim that succeeded", |names| {
            format!("{} adopts i{number} of {}", names.life(by), names.sandbox(id))
        }),
        Some((claimed, _)) if looked.is_none_or(|looked| looked < claimed) => {
            inside.fail("D1: what is adopted is what is seen under the lease", |names| {
                format!(
                    "{} adopts i{number} of {} without a look at it since the claim",
                    names.life(by),
                    names.sandbox(id)
                )
            });
        }
        Some(_) => {}
    }
}
