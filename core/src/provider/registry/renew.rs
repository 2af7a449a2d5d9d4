//! What the answers of renewals and re-claims mean.

use std::ops::Bound;

use super::entry::{Entry, Held, Snapshot};
use super::{Registry, State};
use crate::provider::sandbox::LostReason;
use crate::{ClaimOutcome, Fence, Moment, RenewOutcome, Replaced, SandboxId, Tenure};

/// One id of a batch of renewals, with what its answer has to be judged by.
#[derive(Clone, Debug)]
pub(in crate::provider) struct Asked {
    pub(in crate::provider) id: SandboxId,
    pub(in crate::provider) then: Snapshot,
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
    /// The next `size` leases to renew, after `last`, in order. The rest of a long list is asked for batch by batch, so
    /// that the lock is short.
    pub(in crate::provider) fn renewals(&self, last: Option<&SandboxId>, size: usize) -> Vec<Asked> {
        let state = self.state.lock();
        let from = last.map_or(Bound::Unbounded, Bound::Excluded);
        state
            .leased
            .range::<SandboxId, _>((from, Bound::Unbounded))
            .filter_map(|id| state.entries.get(id).map(|entry| (id, entry)))
            // A stop under way has a heartbeat of its own.
            .filter(|(_, entry)| entry.reservation.is_none())
            .take(size)
            .map(|(id, entry)| Asked { id: id.clone(), then: entry.snapshot() })
            .collect()
    }

    /// Those in use whose lease ran out and could not be claimed again yet.
    pub(in crate::provider) fn unleased_in_use(&self) -> Vec<Asked> {
        let state = self.state.lock();
        state
            .entries
            .iter()
            .filter(|(_, entry)| {
                entry.lease.is_none()
                    && !entry.holders.is_empty()
                    && !entry.acquiring
                    && entry.reservation.is_none()
                    && !entry.condemned
                    && !entry.is_lost()
            })
            .map(|(id, entry)| Asked { id: id.clone(), then: entry.snapshot() })
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
        let mut state = self.state.lock();
        let Some(entry) = state.entries.get_mut(&asked.id) else { return Follow::Nothing };
        if entry.reservation.is_some() {
            return Follow::Nothing;
        }
        match outcome {
            RenewOutcome::Renewed(tenure) => {
                state.renewed(asked, *tenure, now, self.rules.horizon);
                Follow::Nothing
            }
            RenewOutcome::Lapsed | RenewOutcome::Lost if !entry.still(asked.then) => {
                entry.ask_again = true;
                Follow::AskAgain
            }
            RenewOutcome::Lapsed => {
                let needed = entry.acquiring || !entry.holders.is_empty();
                state.ungrant(&asked.id);
                if needed {
                    return Follow::Reclaim;
                }
                state.unowned(&asked.id, awake);
                Follow::Unowned
            }
            RenewOutcome::Lost => state.lost(&asked.id, awake),
        }
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
                let wanted = state.entries.get(&asked.id).is_some_and(|entry| {
                    entry.reservation.is_none()
                        && !entry.condemned
                        && (entry.acquiring || !entry.holders.is_empty() && !entry.is_lost())
                });
                if !wanted {
                    // A refresh is left alone: whatever it refreshed has somebody who looks after it.
                    return match replaced {
                        Replaced::Nothing | Replaced::Peer(_) => Follow::Undo(tenure.fence),
                        Replaced::Mine(_) => Follow::Nothing,
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
    fn renewed(&mut self, asked: &Asked, tenure: Tenure, now: Moment, horizon: std::time::Duration) {
        let Some(entry) = self.entries.get_mut(&asked.id) else { return };
        match &mut entry.lease {
            Some(held) if held.tenure.fence == tenure.fence => {
                held.tenure.valid_until = held.tenure.valid_until.max(tenure.valid_until);
            }
            Some(held) if held.tenure.fence > tenure.fence => {}
            // A take whose reply was lost: the tenure is younger than what was known, and so is K9.
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
            shared.tell_lost(LostReason::Taken);
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
