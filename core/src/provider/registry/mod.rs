//! What a provider knows, under one short lock that is never held across an await or I/O. Each method is one atomic step
//! and says what to do next.

mod acquire;
mod capacity;
mod entry;
mod hold;
mod owed;
mod reap;
mod renew;
mod show;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use hashbrown::DefaultHashBuilder;
use indexmap::IndexMap;
use parking_lot::Mutex;
use tokio::sync::Notify;

pub(super) use acquire::{Begin, NoHandOut};
pub(super) use capacity::SlotAnswer;
pub(super) use entry::Shared;
pub use hold::Parked;
pub(super) use hold::Unpinnable;
pub(super) use owed::Debt;
pub use reap::{Refusal, StopWhy};
pub(super) use reap::{Stop, StopEnd};
pub(super) use renew::{Asked, Follow, Heard};

use self::entry::{Entry, Held};
use self::owed::Owed;
use super::ProviderConfig;
use super::planted::{Guards, Planted};
use crate::provider::sandbox::LostReason;
use crate::{Moment, Replaced, SandboxId, Tenure};

/// The durations that its decisions go by.
#[derive(Clone, Copy, Debug)]
struct Rules {
    horizon: Duration,
    idle_timeout: Duration,
    warm_timeout: Duration,
    capacity: Option<usize>,
    guards: Guards,
}

pub(super) struct Registry {
    rules: Rules,
    state: Mutex<State>,
    /// Told whenever a slot may have become free.
    pub(super) freed: Notify,
    /// Told whenever an entry went or an acquire ended.
    pub(super) calmer: Notify,
}

#[derive(Default)]
struct State {
    /// In one row, so that a batch of renewals can go through them in order, and in the order they came, so that a
    /// simulation runs the same every time.
    entries: IndexMap<SandboxId, Entry, DefaultHashBuilder>,
    /// Those that may lack a lease or an instance, so that nobody has to search all of them for the few that do.
    unsettled: BTreeSet<SandboxId>,
    /// When to look at whom.
    due: BTreeSet<(Moment, SandboxId)>,
    /// Tenures that may be left in the store and that nothing is kept for.
    owed: BTreeMap<SandboxId, Owed>,
    slots: usize,
    acquires: usize,
    /// Numbers for holders and reservations.
    next: u64,
    closing: bool,
    guards: Guards,
}

impl Registry {
    pub(super) fn new(config: &ProviderConfig, guards: Guards) -> Self {
        let rules = Rules {
            horizon: config.horizon(),
            idle_timeout: config.idle_timeout,
            warm_timeout: config.warm_timeout,
            capacity: config.capacity,
            guards,
        };
        let state = State { guards, ..State::default() };
        Self { rules, state: Mutex::new(state), freed: Notify::new(), calmer: Notify::new() }
    }

    /// Lets nothing begin from now on. Says whether that is new.
    pub(super) fn close(&self) -> bool {
        let mut state = self.state.lock();
        !std::mem::replace(&mut state.closing, true)
    }

    pub(super) fn is_closing(&self) -> bool {
        self.state.lock().closing
    }
}

impl State {
    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// A tenure that the store granted by an answer that came at `now`. K9 starts anew unless it replaced the very fence
    /// that was known.
    fn grant(
        &mut self,
        id: &SandboxId,
        tenure: Tenure,
        replaced: Option<&Replaced>,
        known: Option<crate::Fence>,
        now: Moment,
        horizon: Duration,
    ) {
        let Some(entry) = self.entries.get_mut(id) else { return };
        let unbroken = matches!(replaced, Some(Replaced::Mine(fence)) if Some(*fence) == known);
        let reapable_from = match &entry.lease {
            _ if self.guards.lack(Planted::HorizonOfTake) => now,
            Some(held) if unbroken || held.tenure.fence == tenure.fence => held.reapable_from,
            _ => now + horizon,
        };
        // A take that replaced the tenure under which it was made goes on with it.
        if unbroken && entry.rest.made_under == known && known.is_some() {
            entry.rest.made_under = Some(tenure.fence);
        }
        let valid_until = match &entry.lease {
            Some(held) if held.tenure.fence == tenure.fence => {
                held.tenure.valid_until.max(tenure.valid_until)
            }
            _ => tenure.valid_until,
        };
        entry.lease = Some(Held { tenure: Tenure { valid_until, ..tenure }, reapable_from });
        entry.rest.unowned_since = None;
        entry.doubt = false;
    }

    /// The tenure is over. Says whether there was one.
    fn ungrant(&mut self, id: &SandboxId) -> bool {
        let Some(entry) = self.entries.get_mut(id) else { return false };
        entry.rest.broken += 1;
        self.unsettled.insert(id.clone());
        entry.lease.take().is_some()
    }

    /// Those that lack a lease or an instance.
    fn unsettled(&mut self) -> impl Iterator<Item = (&SandboxId, &Entry)> {
        let entries = &self.entries;
        let lacks =
            |entry: &Entry| entry.lease.is_none() || entry.shared.is_none() || entry.rest.suspect.is_some();
        self.unsettled.retain(|id| entries.get(id).is_some_and(lacks));
        self.unsettled.iter().filter_map(|id| Some((id, entries.get(id)?)))
    }

    /// Takes the instance away from the entry: its holders are told, its slot is free.
    fn untrack(&mut self, id: &SandboxId, reason: LostReason) -> Option<Arc<Shared>> {
        let entry = self.entries.get_mut(id)?;
        self.unsettled.insert(id.clone());
        if self.guards.lack(Planted::SlotFreedOnce) {
            self.slots = self.slots.saturating_sub(1);
        }
        if std::mem::take(&mut entry.slot) && !self.guards.lack(Planted::SlotFreed) {
            self.slots = self.slots.saturating_sub(1);
        }
        entry.holders.clear();
        entry.condemned = false;
        entry.doomed = false;
        entry.rest.made_under = None;
        entry.rest.unowned_since = None;
        let shared = entry.shared.take();
        if let Some(shared) = &shared
            && !(reason == LostReason::Stopped && self.guards.lack(Planted::StopTold))
        {
            shared.tell_lost(reason);
        }
        self.reschedule(id, None);
        shared
    }

    /// Forgets the entry if nothing is left in it.
    fn tidy(&mut self, id: &SandboxId) {
        if self.entries.get(id).is_some_and(Entry::is_empty) {
            self.reschedule(id, None);
            // The last one takes its place, and whoever goes through the row goes backwards.
            self.entries.swap_remove(id);
        }
    }

    /// Forgets it whatever is in it.
    fn forget(&mut self, id: &SandboxId, reason: LostReason) {
        self.untrack(id, reason);
        if let Some(entry) = self.entries.get_mut(id) {
            entry.lease = None;
            entry.rest.suspect = None;
        }
        self.tidy(id);
    }

    fn reschedule(&mut self, id: &SandboxId, due: Option<Moment>) {
        let Some(entry) = self.entries.get_mut(id) else { return };
        if entry.rest.due == due {
            return;
        }
        if let Some(old) = entry.rest.due.take() {
            self.due.remove(&(old, id.clone()));
        }
        if let Some(at) = due {
            entry.rest.due = due;
            self.due.insert((at, id.clone()));
        }
    }
}
