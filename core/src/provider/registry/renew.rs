//! What the answers of renewals and re-claims mean.

use std::time::Duration;

use super::entry::{Entry, Held, Snapshot};
use super::{Registry, State};
use crate::provider::planted::Planted;
use crate::provider::sandbox::LostReason;
use crate::{ClaimOutcome, Fence, Moment, RenewOutcome, Replaced, SandboxId, Tenure};

/// One id of a batch of renewals, with what its answer has to be judged by.
#[derive(Clone, Debug)]
pub(in crate::provider) struct Asked {
    pub(in crate::provider) id: SandboxId,
    pub(in crate::provider) then: Snapshot,
    /// Where it stood in the row; it may have moved since.
    place: usize,
}

impl Asked {
    pub(in crate::provider) fn new(id: &SandboxId, then: Snapshot) -> Self {
        Self { id: id.clone(), then, place: usize::MAX }
    }
}

/// What an answer about a lease asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::provider) enum Follow {
    /// Nothing.
    Nothing,
    /// It ran out while it was in use or being created: claim it again, now.
    Reclaim,
    /// A peer has it; the holders were told.
    Lost,
    /// It ran out while it was warm: nobody's, until the grace is over.
    Unowned,
    /// The answer overlapped a take or a change of tenure and says nothing.
    AskAgain,
    /// It was granted after what it was for had gone: release it, by this fence.
    Undo(Fence),
}

impl Registry {
    /// The next `size` leases to renew, and from where to go on; begun with `usize::MAX`. A long row is gone through batch by
    /// batch, so that the lock is short, and from its end, so that nothing that moves meanwhile is left out. What comes in
    /// meanwhile has just been taken.
    pub(in crate::provider) fn renewals(&self, below: usize, size: usize) -> (Vec<Asked>, usize) {
        let state = self.state.lock();
        let mut place = below.min(state.entries.len());
        let mut batch = Vec::with_capacity(size.min(place));
        // Counting a clone up waits for its memory one id after the other; reading it first lets the waits overlap, which
        // halves the time that 100,000 of them take.
        let near = place.saturating_sub(size)..place;
        let text = |place| state.entries.get_index(place).and_then(|(id, _)| id.as_str().as_bytes().first());
        std::hint::black_box(near.filter_map(text).fold(0_u8, |sum, byte| sum.wrapping_add(*byte)));
        while place > 0 && batch.len() < size {
            place -= 1;
            // A stop under way has a heartbeat of its own.
            if let Some((id, entry)) = state.entries.get_index(place)
                && entry.lease.is_some()
                && entry.reservation.is_none()
            {
                batch.push(Asked { id: id.clone(), then: entry.snapshot(), place });
            }
        }
        (batch, place)
    }

    /// Those in use whose lease ran out and could not be claimed again yet.
    pub(in crate::provider) fn unleased_in_use(&self) -> Vec<Asked> {
        let mut state = self.state.lock();
        state
            .unsettled()
            .filter(|(_, entry)| {
                !self.rules.guards.lack(Planted::UseReclaimed)
                    && entry.lease.is_none()
                    && !entry.holders.is_empty()
                    && !entry.acquiring
                    && entry.reservation.is_none()
                    && !entry.condemned
                    && !entry.is_lost()
            })
            .map(|(id, entry)| Asked::new(id, entry.snapshot()))
            .collect()
    }

    /// A renewal of `asked` was answered at `now`; `awake` is the same moment in awake time.
    pub(in crate::provider) fn renewed(
        &self,
        asked: &Asked,
        outcome: &RenewOutcome,
        now: Moment,
        awake: Moment,
    ) -> Follow {
        self.state.lock().answered(asked, outcome, now, awake, self.rules.horizon)
    }

    /// The same for a batch, under one hold of the lock: what the answers ask for, where they ask for anything.
    pub(in crate::provider) fn renewed_all(
        &self,
        answers: Vec<(Asked, RenewOutcome)>,
        now: Moment,
        awake: Moment,
    ) -> Vec<(Asked, Follow)> {
        let mut state = self.state.lock();
        answers
            .into_iter()
            .filter_map(|(asked, outcome)| {
                let follow = state.answered(&asked, &outcome, now, awake, self.rules.horizon);
                (follow != Follow::Nothing).then_some((asked, follow))
            })
            .collect()
    }

    /// A `claim(Keep)` of `asked`, sent since its lease had run out, was answered at `now`.
    pub(in crate::provider) fn reclaimed(
        &self,
        asked: &Asked,
        outcome: &ClaimOutcome,
        now: Moment,
        awake: Moment,
    ) -> Follow {
        let mut state = self.state.lock();
        match outcome {
            ClaimOutcome::Claimed { tenure, replaced } => {
                let undo = !self.rules.guards.lack(Planted::ReclaimUndone);
                let wanted = state.entries.get(&asked.id).is_some_and(|entry| {
                    entry.reservation.is_none()
                        && !entry.condemned
                        && (entry.acquiring || !entry.holders.is_empty() && !entry.is_lost())
                });
                if !wanted {
                    // A refresh is left alone: whatever it refreshed has somebody who looks after it.
                    return match replaced {
                        Replaced::Nothing | Replaced::Peer(_) if undo => Follow::Undo(tenure.fence),
                        _ => Follow::Nothing,
                    };
                }
                let known = state.entries.get(&asked.id).and_then(Entry::fence);
                if known.is_none_or(|known| known <= tenure.fence) {
                    let horizon = self.rules.horizon;
                    state.grant(&asked.id, *tenure, Some(replaced), known, now, horizon);
                }
                Follow::Nothing
            }
            ClaimOutcome::Refused => {
                let Some(entry) = state.entries.get_mut(&asked.id) else { return Follow::Nothing };
                if !entry.still(asked.then) {
                    entry.ask_again = true;
                    return Follow::AskAgain;
                }
                state.lost(&asked.id, awake)
            }
            ClaimOutcome::Lapsed => Follow::Nothing,
        }
    }
}

impl State {
    fn answered(
        &mut self,
        asked: &Asked,
        outcome: &RenewOutcome,
        now: Moment,
        awake: Moment,
        horizon: Duration,
    ) -> Follow {
        let guards = self.guards;
        let Some(entry) = self.asked_about(asked) else { return Follow::Nothing };
        if entry.reservation.is_some() && !guards.lack(Planted::OwnTeardown) {
            return Follow::Nothing;
        }
        match outcome {
            RenewOutcome::Renewed(tenure) => {
                self.renewed(asked, *tenure, now, horizon);
                Follow::Nothing
            }
            RenewOutcome::Lapsed | RenewOutcome::Lost
                if !entry.still(asked.then) && !guards.lack(Planted::LostBesideTake) =>
            {
                entry.ask_again = true;
                Follow::AskAgain
            }
            RenewOutcome::Lapsed => {
                let needed = (entry.acquiring || !entry.holders.is_empty())
                    && !guards.lack(Planted::UseReclaimed)
                    || guards.lack(Planted::WarmUnowned);
                self.ungrant(&asked.id);
                if needed {
                    return Follow::Reclaim;
                }
                self.unowned(&asked.id, awake);
                Follow::Unowned
            }
            RenewOutcome::Lost => self.lost(&asked.id, awake),
        }
    }

    /// The entry that was asked about, by its place if it still stands there.
    fn asked_about(&mut self, asked: &Asked) -> Option<&mut Entry> {
        let place = match self.entries.get_index(asked.place) {
            Some((id, _)) if *id == asked.id => asked.place,
            _ => self.entries.get_index_of(&asked.id)?,
        };
        self.entries.get_index_mut(place).map(|(_, entry)| entry)
    }

    fn renewed(&mut self, asked: &Asked, tenure: Tenure, now: Moment, horizon: Duration) {
        let guards = self.guards;
        let Some(entry) = self.asked_about(asked) else { return };
        match &mut entry.lease {
            Some(held) if held.tenure.fence == tenure.fence => {
                held.tenure.valid_until = held.tenure.valid_until.max(tenure.valid_until);
            }
            Some(held) if held.tenure.fence > tenure.fence => {}
            // A take whose reply was lost: the tenure is younger than what was known, and so is K9.
            Some(_) if guards.lack(Planted::FenceOfRenewal) => {}
            Some(held) if guards.lack(Planted::HorizonOfLostReply) => held.tenure = tenure,
            Some(_) => entry.lease = Some(Held { tenure, reapable_from: now + horizon }),
            // A take whose reply was lost, of a sandbox whose lease was not known when this was asked.
            None if asked.then.fence.is_none() => {
                self.grant(&asked.id, tenure, None, None, now, horizon);
            }
            // It ran out here and is held all the same: the answer is older than what made it run out.
            None => {}
        }
    }

    /// A peer has it, or a stop of this owner.
    fn lost(&mut self, id: &SandboxId, awake: Moment) -> Follow {
        self.ungrant(id);
        let Some(entry) = self.entries.get(id) else { return Follow::Nothing };
        if let Some(shared) = &entry.shared
            && !entry.holders.is_empty()
        {
            if !self.guards.lack(Planted::LossTold) {
                shared.tell_lost(LostReason::Taken);
            }
            return Follow::Lost;
        }
        if entry.acquiring {
            return Follow::Lost;
        }
        if entry.doubt {
            // It may be our own marker, of a stop whose claim got no answer.
            self.unowned(id, awake);
            return Follow::Unowned;
        }
        self.forget(id, LostReason::Taken);
        Follow::Lost
    }

    pub(super) fn unowned(&mut self, id: &SandboxId, awake: Moment) {
        if let Some(entry) = self.entries.get_mut(id) {
            entry.unowned_since.get_or_insert(awake);
            entry.doubt = false;
        }
        self.reschedule(id, None);
        self.tidy(id);
    }
}
