//! Looking up, holding and letting go.

use std::sync::Arc;

use super::Registry;
use super::entry::Shared;
use crate::provider::planted::Planted;
use crate::provider::sandbox::LostReason;
use crate::{Moment, SandboxId};

/// What letting go of a sandbox came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parked {
    /// It was the last holder: the sandbox is kept warm for the next.
    Warm,
    /// Others hold it here.
    StillHeld,
    /// It had been lost, stopped or let go of before; there was nothing to let go of.
    Nothing,
}

/// Why no work may begin in a sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::provider) enum Unpinnable {
    /// It was lost.
    Lost(LostReason),
    /// It is being stopped.
    Stopping,
    /// Nobody here holds it.
    NotHeld,
}

impl Registry {
    /// The sandbox if it is in use here, stamping its activity. One that is reserved, lost or nobody's is not given.
    pub(in crate::provider) fn get(&self, id: &SandboxId, now: Moment) -> Option<Arc<Shared>> {
        let state = self.state.lock();
        let entry = state.entries.get(id)?;
        if entry.holders.is_empty() || entry.reservation.is_some() || entry.condemned || entry.is_lost() {
            return None;
        }
        let shared = entry.shared.as_ref()?;
        shared.stamp(now);
        Some(Arc::clone(shared))
    }

    /// Whether somebody here holds it.
    pub(in crate::provider) fn is_held(&self, id: &SandboxId) -> bool {
        self.state.lock().entries.get(id).is_some_and(|entry| !entry.holders.is_empty())
    }

    /// Lets a holder go; the last one parks the sandbox. Twice is harmless.
    pub(in crate::provider) fn let_go(
        &self,
        id: &SandboxId,
        shared: &Arc<Shared>,
        holder: u64,
        now: Moment,
    ) -> Parked {
        let mut state = self.state.lock();
        let Some(entry) = state.entries.get_mut(id) else { return Parked::Nothing };
        if !entry.shared.as_ref().is_some_and(|tracked| Arc::ptr_eq(tracked, shared)) {
            return Parked::Nothing;
        }
        let before = entry.holders.len();
        entry.holders.retain(|held| *held != holder && !self.rules.guards.lack(Planted::LastHolderParks));
        if entry.holders.len() == before {
            return Parked::Nothing;
        }
        if !entry.holders.is_empty() {
            return Parked::StillHeld;
        }
        entry.rest.warm_since = now;
        let lost = entry.is_lost();
        if lost && entry.lease.is_none() && !entry.acquiring && entry.reservation.is_none() {
            // A peer's, or on its way to be: the last one to know it here has gone.
            state.forget(id, LostReason::Forgotten);
        } else {
            state.schedule(id, now, &self.rules);
        }
        drop(state);
        self.freed.notify_waiters();
        self.calmer.notify_waiters();
        if lost { Parked::Nothing } else { Parked::Warm }
    }

    /// Work begins in a sandbox: from here on it can't be reaped as idle, until [`unpin`](Self::unpin).
    pub(in crate::provider) fn pin(
        &self,
        id: &SandboxId,
        shared: &Arc<Shared>,
        now: Moment,
    ) -> Result<(), Unpinnable> {
        let state = self.state.lock();
        if let Some(reason) = shared.is_lost() {
            return Err(Unpinnable::Lost(reason));
        }
        let entry = state.entries.get(id).ok_or(Unpinnable::NotHeld)?;
        if entry.reservation.is_some() || entry.condemned {
            return Err(Unpinnable::Stopping);
        }
        if entry.holders.is_empty()
            || !entry.shared.as_ref().is_some_and(|tracked| Arc::ptr_eq(tracked, shared))
        {
            return Err(Unpinnable::NotHeld);
        }
        shared.stamp(now);
        shared.pin();
        Ok(())
    }

    /// Work has ended: the idle clock starts.
    pub(in crate::provider) fn unpin(&self, shared: &Shared, now: Moment) {
        // Under the lock, so that a decision to reap sees either the work or its late end.
        let _state = self.state.lock();
        shared.unpin(if self.rules.guards.lack(Planted::IdleFromEnd) { Moment::default() } else { now });
    }
}
