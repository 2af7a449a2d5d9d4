//! The steps of an acquire.

use std::sync::Arc;

use tokio::sync::watch;

use super::entry::{Entry, Shared, Snapshot};
use super::{Registry, State};
use crate::provider::planted::Planted;
use crate::provider::sandbox::LostReason;
use crate::{Fence, Identity, InstanceId, Moment, Replaced, SandboxId, SandboxInfo, Tenure};

/// How an acquire may begin.
pub(in crate::provider) enum Begin {
    /// It has begun; the instance that is tracked here already, if one is.
    Go(Option<Arc<Shared>>),
    /// A stop is under way here; the receiver closes when it has ended.
    Stopping(watch::Receiver<()>),
    /// The id is another session's.
    Foreign(Box<Identity>),
    /// The provider is shutting down.
    Closing,
}

/// Why a sandbox may not be handed out now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::provider) enum NoHandOut {
    /// The lease was lost or ran out since the look.
    Broken,
    /// No time is left of the tenure.
    Expired,
    /// It is reserved for a stop.
    Reserved,
    /// The instance is no longer the one that was looked at.
    Changed,
    /// The provider is shutting down.
    Closing,
}

impl Registry {
    /// Begins an acquire of `id`. From here to [`end_acquire`](Self::end_acquire) or
    /// [`hand_out`](Self::hand_out) it can't be reserved for a stop.
    pub(in crate::provider) fn begin(&self, id: &SandboxId, identity: &Identity) -> Begin {
        let mut state = self.state.lock();
        if state.closing {
            return Begin::Closing;
        }
        if let Some(entry) = state.entries.get(id) {
            if let Some(reservation) = &entry.reservation
                && !state.guards.lack(Planted::ReservationBeforeTake)
            {
                return Begin::Stopping(reservation.ended.subscribe());
            }
            if entry.rest.identity != *identity {
                return Begin::Foreign(Box::new(entry.rest.identity.clone()));
            }
            debug_assert!(!entry.acquiring, "acquires of one id wait for each other");
        }
        state.acquires += 1;
        // Until it has both, so that not even a panic leaves something that nobody looks after.
        state.unsettled.insert(id.clone());
        let entry = state.entries.entry(id.clone()).or_insert_with(|| Entry::new(identity.clone()));
        entry.acquiring = true;
        entry.ask_again = false;
        Begin::Go(entry.shared.clone())
    }

    /// A take is about to be sent.
    pub(in crate::provider) fn take_begins(&self, id: &SandboxId) {
        self.with_entry(id, |entry| {
            entry.takes += 1;
            entry.take_in_flight = true;
            entry.rest.fence_before_take = entry.fence();
        });
    }

    /// A take was answered with a tenure at `now`. Says what the entry looks like from here on, for the hand-out, and
    /// whether an answer about the old lease was set aside meanwhile and the store has to be asked again.
    pub(in crate::provider) fn taken(
        &self,
        id: &SandboxId,
        tenure: Tenure,
        replaced: &Replaced,
        now: Moment,
    ) -> (u64, bool) {
        let mut state = self.state.lock();
        // Whatever was left there of an earlier one has been replaced.
        state.owed.remove(id);
        let known = state.entries.get(id).and_then(|entry| entry.rest.fence_before_take);
        state.grant(id, tenure, Some(replaced), known, now, self.rules.horizon);
        let Some(entry) = state.entries.get_mut(id) else { return (0, false) };
        entry.takes += 1;
        entry.take_in_flight = false;
        (entry.rest.broken, std::mem::take(&mut entry.ask_again))
    }

    /// A take was refused, or its fate is not known.
    pub(in crate::provider) fn not_taken(&self, id: &SandboxId) {
        self.with_entry(id, |entry| {
            entry.takes += 1;
            entry.take_in_flight = false;
            entry.ask_again = false;
        });
    }

    /// What a call about the lease of `id` that is sent now has to be judged by.
    pub(in crate::provider) fn snapshot(&self, id: &SandboxId) -> Option<Snapshot> {
        self.state.lock().entries.get(id).map(Entry::snapshot)
    }

    /// Tracks `info` as the instance of `id`, in the place of any other. `made` says that this provider made it just now,
    /// under the tenure it holds.
    pub(in crate::provider) fn track(&self, id: &SandboxId, info: SandboxInfo, made: bool, now: Moment) {
        let mut state = self.state.lock();
        let Some(entry) = state.entries.get_mut(id) else { return };
        match &entry.shared {
            // Handles that are in good standing stay as they are; with nobody holding one, what is known is brought up to
            // date, its endpoint say.
            Some(shared)
                if shared.info.instance == info.instance
                    && shared.is_lost().is_none()
                    && (!entry.holders.is_empty() || shared.info == info) =>
            {
                entry.condemned = info.condemned;
                return;
            }
            Some(_) => {
                let slot = std::mem::take(&mut entry.slot);
                state.untrack(id, LostReason::Replaced);
                if let Some(entry) = state.entries.get_mut(id) {
                    entry.slot = slot;
                }
            }
            None => {}
        }
        let Some(entry) = state.entries.get_mut(id) else { return };
        let counted = std::mem::replace(&mut entry.slot, true);
        entry.condemned = info.condemned;
        entry.rest.suspect = None;
        entry.rest.unowned_since = None;
        entry.rest.warm_since = now;
        entry.rest.made_under = if made { entry.fence() } else { None };
        entry.shared = Some(Shared::new(info, now));
        if !counted {
            state.slots += 1;
        }
    }

    /// The tracked instance is gone, condemned or another's: it is dropped and its holders are told.
    pub(in crate::provider) fn drop_instance(
        &self,
        id: &SandboxId,
        instance: &InstanceId,
        reason: LostReason,
    ) {
        let mut state = self.state.lock();
        let is_it = state
            .entries
            .get(id)
            .and_then(|entry| entry.shared.as_ref())
            .is_some_and(|shared| shared.info.instance == *instance);
        if is_it {
            state.untrack(id, reason);
            state.tidy(id);
        }
        drop(state);
        self.freed.notify_waiters();
    }

    /// Hands the instance out, in one step: only if since the look at it (`broken` as it was then) no Lost and no Lapsed
    /// came, time is left, nothing is reserved. Ends the acquire if it succeeds.
    pub(in crate::provider) fn hand_out(
        &self,
        id: &SandboxId,
        instance: &InstanceId,
        broken: u64,
        now: Moment,
    ) -> Result<(u64, Arc<Shared>), NoHandOut> {
        let mut state = self.state.lock();
        if state.closing {
            return Err(NoHandOut::Closing);
        }
        let number = state.number();
        let entry = state.entries.get_mut(id).ok_or(NoHandOut::Changed)?;
        if entry.reservation.is_some() {
            return Err(NoHandOut::Reserved);
        }
        let shared = match &entry.shared {
            Some(shared)
                if shared.info.instance == *instance
                    && (!entry.condemned || self.rules.guards.lack(Planted::CondemnedSeen)) =>
            {
                Arc::clone(shared)
            }
            _ => return Err(NoHandOut::Changed),
        };
        let epoch = !self.rules.guards.lack(Planted::Epoch);
        if epoch && (entry.rest.broken != broken || shared.is_lost().is_some()) {
            return Err(NoHandOut::Broken);
        }
        match &entry.lease {
            Some(held) if held.tenure.valid_until > now => {}
            _ if self.rules.guards.lack(Planted::TimeLeft) || !epoch => {}
            Some(_) => return Err(NoHandOut::Expired),
            None => return Err(NoHandOut::Broken),
        }
        shared.stamp(now);
        entry.holders.push(number);
        entry.doomed = false;
        state.acquire_ended(id);
        state.schedule(id, now, &self.rules);
        drop(state);
        self.calmer.notify_waiters();
        Ok((number, shared))
    }

    /// Ends an acquire that handed nothing out. A tenure with nothing to keep it for has to be released, by its fence.
    pub(in crate::provider) fn end_acquire(
        &self,
        id: &SandboxId,
        now: Moment,
        awake: Moment,
    ) -> Option<Fence> {
        let mut state = self.state.lock();
        if !state.entries.get(id).is_some_and(|entry| entry.acquiring) {
            return None;
        }
        if state.entries.get(id).is_some_and(|entry| entry.take_in_flight) {
            // Only a panic comes here with a take on its way, and it may have happened.
            state.owe(id, None, now + self.rules.horizon);
        }
        state.acquire_ended(id);
        let mut to_release = None;
        if let Some(entry) = state.entries.get(id)
            && entry.shared.is_none()
            && entry.rest.suspect.is_none()
            && entry.reservation.is_none()
        {
            // Nothing was made: the slot is free again.
            to_release = entry.fence();
            state.forget(id, LostReason::Forgotten);
        } else {
            state.parked_unowned(id, awake);
            state.schedule(id, now, &self.rules);
        }
        drop(state);
        self.calmer.notify_waiters();
        self.freed.notify_waiters();
        to_release
    }

    /// What was asked of the engine may have happened: the lease and the slot are kept until the reaper finds out.
    pub(in crate::provider) fn suspect(&self, id: &SandboxId, now: Moment) {
        let mut state = self.state.lock();
        if let Some(entry) = state.entries.get_mut(id) {
            entry.rest.suspect = Some(now);
            state.unsettled.insert(id.clone());
        }
    }

    /// A create is about to be asked for: until a definite answer it is a suspect. Says since when it was one before.
    pub(in crate::provider) fn create_begins(&self, id: &SandboxId, now: Moment) -> Option<Moment> {
        self.with_entry(id, |entry| entry.rest.suspect.replace(now)).flatten()
    }

    /// The create definitely did not happen; what an earlier one left in `doubt` is so still.
    pub(in crate::provider) fn not_created(&self, id: &SandboxId, doubt: Option<Moment>) {
        self.with_entry(id, |entry| entry.rest.suspect = doubt);
    }

    /// The acquire of `id` ends without having heard all its answers, in a panic: what it had asked for may still be on
    /// its way from now on.
    pub(in crate::provider) fn broken_off(&self, id: &SandboxId, now: Moment) {
        let mut state = self.state.lock();
        let Some(entry) = state.entries.get_mut(id) else { return };
        if let Some(since) = &mut entry.rest.suspect {
            *since = now;
            state.unsettled.insert(id.clone());
        }
    }

    /// It is to be disposed of as soon as that is allowed.
    pub(in crate::provider) fn doom(&self, id: &SandboxId, instance: &InstanceId) {
        self.with_entry(id, |entry| {
            if entry.shared.as_ref().is_some_and(|shared| shared.info.instance == *instance) {
                entry.doomed = true;
            }
        });
    }

    /// How many acquires are under way.
    pub(in crate::provider) fn acquires(&self) -> usize {
        self.state.lock().acquires
    }

    pub(super) fn with_entry<T>(&self, id: &SandboxId, change: impl FnOnce(&mut Entry) -> T) -> Option<T> {
        self.state.lock().entries.get_mut(id).map(change)
    }
}

impl State {
    fn acquire_ended(&mut self, id: &SandboxId) {
        if let Some(entry) = self.entries.get_mut(id)
            && std::mem::take(&mut entry.acquiring)
        {
            // Only a panic ends an acquire with a take on its way.
            if std::mem::take(&mut entry.take_in_flight) {
                entry.takes += 1;
            }
            self.acquires -= 1;
        }
    }
}
