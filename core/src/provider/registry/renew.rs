//! What the answers of renewals and re-claims mean.

use std::time::Duration;

use super::entry::{Entry, Held, Snapshot};
use super::{Registry, State};
use crate::provider::planted::{Guards, Planted};
use crate::provider::sandbox::LostReason;
use crate::{ClaimOutcome, Fence, Moment, RenewOutcome, Replaced, SandboxId, StoreError, Tenure};

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

/// What a batch of answers comes to.
#[derive(Default)]
pub(in crate::provider) struct Heard {
    /// What the answers ask for, where they ask for anything.
    pub(in crate::provider) follows: Vec<(Asked, Follow)>,
    /// Those that got no answer.
    pub(in crate::provider) unknown: Vec<Asked>,
    /// Why the first of those got none.
    pub(in crate::provider) failure: Option<StoreError>,
}

impl Registry {
    /// The next `size` leases to renew, and from where to go on; begun with `usize::MAX`. A long row is gone through batch by
    /// batch, so that the lock is short, and from its end, so that nothing that moves meanwhile is left out. What comes in
    /// meanwhile has just been taken.
    pub(in crate::provider) fn renewals(&self, below: usize, size: usize) -> (Vec<Asked>, usize) {
        let state = self.state.lock();
        let mut place = below.min(state.entries.len());
        let mut batch = Vec::with_capacity(size.min(place));
        // Counting a clone up waits for its memory, one id after the other; reading all of it first lets the waits overlap,
        // which halves the time that 100,000 of them take.
        let near = state.entries.get_range(place.saturating_sub(size)..place);
        let read = |(id, entry): (&SandboxId, &Entry)| {
            let text = id.as_str().as_bytes().first().copied().unwrap_or_default();
            text ^ u8::from(entry.lease.is_some()) ^ u8::from(entry.take_in_flight)
        };
        std::hint::black_box(near.into_iter().flatten().fold(0, |all, one| all ^ read(one)));
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

    /// The same for a batch, under one hold of the lock.
    pub(in crate::provider) fn renewed_all(
        &self,
        asked: Vec<Asked>,
        answers: Vec<Result<RenewOutcome, StoreError>>,
        now: Moment,
        awake: Moment,
    ) -> Heard {
        let mut heard = Heard::default();
        let mut state = self.state.lock();
        for (asked, answer) in asked.into_iter().zip(answers) {
            match answer {
                Ok(outcome) => match state.answered(&asked, &outcome, now, awake, self.rules.horizon) {
                    Follow::Nothing => {}
                    follow => heard.follows.push((asked, follow)),
                },
                Err(error) => {
                    heard.failure.get_or_insert(error);
                    heard.unknown.push(asked);
                }
            }
        }
        heard
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
                if entry.renewed(asked.then, *tenure, now, horizon, guards) {
                    self.grant(&asked.id, *tenure, None, None, now, horizon);
                }
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
            // The very id that was cloned, as a rule: then its text need not be read, which is seldom near.
            Some((id, _)) if std::ptr::eq(id.as_str(), asked.id.as_str()) || *id == asked.id => asked.place,
            _ => self.entries.get_index_of(&asked.id)?,
        };
        self.entries.get_index_mut(place).map(|(_, entry)| entry)
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
            entry.rest.unowned_since.get_or_insert(awake);
            entry.doubt = false;
        }
        self.reschedule(id, None);
        self.tidy(id);
    }
}

impl Entry {
    /// The store renewed `tenure`, as an answer to what was asked at `then`. Says whether it is to be granted as a new one.
    fn renewed(
        &mut self,
        then: Snapshot,
        tenure: Tenure,
        now: Moment,
        horizon: Duration,
        guards: Guards,
    ) -> bool {
        match &mut self.lease {
            Some(held) if held.tenure.fence == tenure.fence => {
                held.tenure.valid_until = held.tenure.valid_until.max(tenure.valid_until);
            }
            Some(held) if held.tenure.fence > tenure.fence => {}
            // A take whose reply was lost: the tenure is younger than what was known, and so is K9.
            Some(_) if guards.lack(Planted::FenceOfRenewal) => {}
            Some(held) if guards.lack(Planted::HorizonOfLostReply) => held.tenure = tenure,
            Some(_) => self.lease = Some(Held { tenure, reapable_from: now + horizon }),
            // A take whose reply was lost, of a sandbox whose lease was not known when this was asked.
            None if then.fence.is_none() => return true,
            // It ran out here and is held all the same: the answer is older than what made it run out.
            None => {}
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;
    use crate::provider::ProviderConfig;

    const NOW: Moment = Moment::from_nanos(1_000_000_000_000);

    fn registry() -> Registry {
        Registry::new(&ProviderConfig::new("town".parse().unwrap()), Guards::default())
    }

    fn id(text: &str) -> SandboxId {
        text.parse().unwrap()
    }

    fn tenure(fence: u64, valid_until: Moment) -> Tenure {
        Tenure { fence: Fence::new(fence).unwrap(), valid_until }
    }

    /// Ids under a lease each, with fences from one on, in that order.
    fn leased(texts: &[&str]) -> Registry {
        let registry = registry();
        for (text, fence) in texts.iter().zip(1..) {
            begin(&registry, text);
            registry.take_begins(&id(text));
            registry.taken(&id(text), tenure(fence, NOW), &Replaced::Nothing, NOW);
        }
        registry
    }

    fn begin(registry: &Registry, text: &str) {
        let identity = crate::Identity { namespace: "town".parse().unwrap(), session: None, policy: None };
        registry.begin(&id(text), &identity);
    }

    fn held(registry: &Registry, text: &str) -> Option<Tenure> {
        registry.with_entry(&id(text), |entry| entry.lease.map(|held| held.tenure)).flatten()
    }

    #[test]
    fn an_answer_is_for_the_id_that_was_asked_about_wherever_it_stands_by_then() {
        let registry = leased(&["a", "b", "c"]);
        let (asked, _) = registry.renewals(usize::MAX, 10);
        registry.end_acquire(&id("a"), NOW, NOW);
        // The last one stands where the first one stood.
        let later = NOW + Duration::from_secs(9);
        let answers = asked.iter().map(|asked| {
            let fence = if asked.id == id("a") { 9 } else { asked.then.fence.unwrap().get() };
            Ok(RenewOutcome::Renewed(tenure(fence, later)))
        });
        let answers = answers.collect();
        registry.renewed_all(asked, answers, NOW, NOW);
        assert_eq!(held(&registry, "a"), None);
        assert_eq!(held(&registry, "b"), Some(tenure(2, later)));
        assert_eq!(held(&registry, "c"), Some(tenure(3, later)));
    }

    #[test]
    fn n3_what_got_no_answer_is_kept_and_named_so_that_it_can_be_asked_again() {
        let registry = leased(&["a", "b", "c"]);
        let (asked, _) = registry.renewals(usize::MAX, 10);
        let no_answer = || StoreError::new(ErrorKind::Timeout, "no answer in time");
        let answers = asked.iter().map(|asked| match asked.then.fence {
            Some(fence) if fence.get() == 2 => Err(no_answer()),
            fence => Ok(RenewOutcome::Renewed(Tenure { fence: fence.unwrap(), valid_until: NOW })),
        });
        let answers = answers.collect();
        let heard = registry.renewed_all(asked, answers, NOW, NOW);
        assert_eq!(heard.unknown.iter().map(|asked| asked.id.as_str()).collect::<Vec<_>>(), ["b"]);
        assert_eq!(heard.failure.map(|error| error.kind()), Some(ErrorKind::Timeout));
        assert_eq!(held(&registry, "b"), Some(tenure(2, NOW)));
    }

    #[test]
    fn n7_a_tenure_that_a_renewal_finds_where_none_was_known_is_held_and_its_horizon_begins() {
        let registry = registry();
        begin(&registry, "a");
        let asked = Asked::new(&id("a"), registry.snapshot(&id("a")).unwrap());
        registry.renewed(&asked, &RenewOutcome::Renewed(tenure(4, NOW)), NOW, NOW);
        let held = registry.with_entry(&id("a"), |entry| entry.lease).flatten().unwrap();
        assert_eq!((held.tenure, held.reapable_from), (tenure(4, NOW), NOW + registry.rules.horizon));
    }

    #[test]
    fn n4_a_renewal_that_was_sent_before_a_lease_ran_out_does_not_bring_it_back() {
        let registry = leased(&["a"]);
        let (asked, _) = registry.renewals(usize::MAX, 10);
        registry.state.lock().ungrant(&id("a"));
        registry.renewed(&asked[0], &RenewOutcome::Renewed(tenure(1, NOW)), NOW, NOW);
        assert_eq!(held(&registry, "a"), None);
    }
}
