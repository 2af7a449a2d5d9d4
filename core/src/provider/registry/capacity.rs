//! Slots: reserved before a create, freed exactly once, when the entry that has one loses its instance.

use super::reap::{Stop, StopWhy};
use super::{Registry, State};
use crate::provider::planted::Planted;
use crate::{Moment, SandboxId};

/// Whether there is room for one more.
pub(in crate::provider) enum SlotAnswer {
    /// There is, and it is reserved.
    Got,
    /// There is none; this one may be stopped to make some.
    Evict(Box<Stop>),
    /// There is none, and nothing that may be stopped.
    Full,
}

impl Registry {
    /// Reserves a slot for `id`, or says whom to evict for one: the oldest warm sandbox that may be reaped.
    /// `may_evict` says whether tidying up is allowed at all.
    pub(in crate::provider) fn reserve_slot(
        &self,
        id: &SandboxId,
        may_evict: bool,
        now: Moment,
    ) -> SlotAnswer {
        let mut state = self.state.lock();
        let full = !self.rules.guards.lack(Planted::SlotReserved)
            && self.rules.capacity.is_some_and(|capacity| state.slots >= capacity);
        if !full || state.entries.get(id).is_some_and(|entry| entry.slot) {
            state.take_slot(id);
            return SlotAnswer::Got;
        }
        if !may_evict || state.closing {
            return SlotAnswer::Full;
        }
        let mut warm: Vec<_> = state
            .entries
            .iter()
            .filter(|(_, entry)| {
                entry.holders.is_empty() && entry.shared.is_some() && entry.reservation.is_none()
            })
            .map(|(id, entry)| (entry.rest.warm_since, id.clone()))
            .collect();
        warm.sort();
        for (_, oldest) in warm {
            if let Ok(stop) = state.reserve(&oldest, StopWhy::Evicted, now, &self.rules) {
                return SlotAnswer::Evict(Box::new(stop));
            }
        }
        SlotAnswer::Full
    }

    /// Reserves a slot beyond the cap.
    pub(in crate::provider) fn exceed_capacity(&self, id: &SandboxId) {
        self.state.lock().take_slot(id);
    }

    /// The slot of an entry that has no instance is not needed after all.
    pub(in crate::provider) fn return_slot(&self, id: &SandboxId) {
        let mut state = self.state.lock();
        if let Some(entry) = state.entries.get_mut(id)
            && entry.shared.is_none()
            && std::mem::take(&mut entry.slot)
        {
            state.slots -= 1;
        }
        drop(state);
        self.freed.notify_waiters();
    }
}

impl State {
    fn take_slot(&mut self, id: &SandboxId) {
        if let Some(entry) = self.entries.get_mut(id)
            && !std::mem::replace(&mut entry.slot, true)
        {
            self.slots += 1;
        }
    }
}
