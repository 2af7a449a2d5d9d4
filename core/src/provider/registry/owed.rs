//! Leases of nothing: tenures that may be this owner's in the store and that nothing here is kept for, since the call that
//! took them or was to let them go got no answer. Each is remembered until its time is surely up.

use super::{Registry, State};
use crate::{Fence, Moment, SandboxId};

/// A tenure that has to be let go of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Owed {
    /// Which; `None` where only the store can tell.
    fence: Option<Fence>,
    /// When it is over by itself.
    until: Moment,
}

/// What to do about it now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::provider) enum Debt {
    /// Release this tenure.
    Release(Fence),
    /// Find out whether there is one, and release it.
    Find,
    /// Find out whether there is one, for an instance that is tracked here and that nobody owns.
    FindFor,
}

/// How many are remembered at most; those beyond it last for their TTL.
const MOST: usize = 4_096;

impl Registry {
    /// Remembers that a tenure of `id` may be left in the store: the one of `fence`, or one that only the store knows.
    pub(in crate::provider) fn owe(&self, id: &SandboxId, fence: Option<Fence>, now: Moment) {
        self.state.lock().owe(id, fence, now + self.rules.horizon);
    }

    /// The sandboxes whose lease may have to be let go of. Those whose time is up are forgotten.
    pub(in crate::provider) fn owed(&self, now: Moment) -> Vec<SandboxId> {
        let mut state = self.state.lock();
        state.owed.retain(|_, owed| owed.until > now);
        state.owed.keys().cloned().collect()
    }

    /// What is to be done about it, if anything is now. Whoever asks has the turn of `id`, so that nobody here takes or
    /// adopts it meanwhile.
    pub(in crate::provider) fn debt(&self, id: &SandboxId) -> Option<Debt> {
        let mut state = self.state.lock();
        let fence = state.owed.get(id)?.fence;
        let Some(entry) = state.entries.get(id) else { return Some(fence.map_or(Debt::Find, Debt::Release)) };
        if entry.acquiring || entry.reservation.is_some() || !entry.holders.is_empty() {
            return None;
        }
        match (entry.fence(), fence) {
            // What is held here is renewed, and a renewal finds out what a lost take has changed (N7).
            (Some(_), None) => {}
            (Some(held), Some(owed)) if held == owed => {}
            (_, Some(owed)) => return Some(Debt::Release(owed)),
            (None, None) => return Some(Debt::FindFor),
        }
        state.owed.remove(id);
        None
    }

    /// It has been let go of, or found to be kept for something.
    pub(in crate::provider) fn settled(&self, id: &SandboxId) {
        self.state.lock().owed.remove(id);
    }

    /// How many tenures are known to be left in the store.
    pub(in crate::provider) fn known_owed(&self) -> usize {
        self.state.lock().owed.values().filter(|owed| owed.fence.is_some()).count()
    }

    /// A lease was found for what is tracked here: it is reaped in its time like any other.
    pub(in crate::provider) fn look_again(&self, id: &SandboxId, now: Moment) {
        self.state.lock().schedule(id, now, &self.rules);
    }
}

impl State {
    pub(super) fn owe(&mut self, id: &SandboxId, fence: Option<Fence>, until: Moment) {
        if self.owed.len() >= MOST && !self.owed.contains_key(id) {
            tracing::warn!(%id, clause = "Z1", "too many leases are left in the store; this one lasts for its TTL");
            return;
        }
        let owed = self.owed.entry(id.clone()).or_insert(Owed { fence, until });
        // Of two that are known the older has been replaced; of one that is not known the store has to tell anyhow.
        owed.fence = owed.fence.zip(fence).map(|(one, other)| one.max(other));
        owed.until = owed.until.max(until);
    }
}
