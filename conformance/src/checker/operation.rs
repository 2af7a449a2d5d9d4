use std::collections::HashMap;

use leasehold::{
    ClaimOutcome, DiscardOutcome, Intent, Lease, OwnerId, Phase, ReleaseOutcome, RenewOutcome, Replaced,
    TakeOutcome, Tenure,
};

use super::timing::nanos;
use crate::history::{Answer, Asked, Event};

/// An event in the form in which it is quick to judge: owners and times are numbers.
#[derive(Clone, Debug)]
pub(super) struct Operation {
    pub(super) owner: u32,
    pub(super) ttl: u64,
    /// The clock's reading before the call.
    pub(super) from: u64,
    /// The clock's reading after the answer; the end of time for one that may still take effect.
    pub(super) until: u64,
    pub(super) said: Said,
}

/// What was asked and what came of it, sorted by what it says about the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Said {
    /// A new tenure.
    Begun { phase: Phase, fence: u64, valid: u64, over: Over },
    /// The same tenure for longer.
    Refreshed { phase: Phase, fence: u64, valid: u64 },
    /// A take met a Teardown.
    TurnedAway,
    /// A claim met what it may not have.
    Refused(Intent),
    /// A renewal met a peer's lease or one's own Teardown.
    Lost,
    /// It found nothing: a renewal, a destroyer, a look or a discard.
    Nothing,
    /// A release, of this tenure alone if there is one.
    Released(Option<u64>),
    /// A release that found nothing of one's own.
    NotHeld(Option<u64>),
    /// A look at a lease.
    Shown { owner: u32, phase: Phase, fence: u64, left: u64 },
    /// A discard of whatever was there.
    Discarded { force: bool },
    /// No answer: it may have taken effect, or will.
    Unanswered(Asked),
    /// An answer that this operation never gives, whatever is there.
    Never(&'static str),
}

/// What a new tenure is said to have replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Over {
    Nothing,
    Mine(u64),
    Peer(u32),
}

/// The owners of a history, each with a number.
#[derive(Default)]
pub(super) struct Owners {
    numbers: HashMap<OwnerId, u32>,
    names: Vec<OwnerId>,
}

impl Owners {
    pub(super) fn number(&mut self, owner: &OwnerId) -> u32 {
        if let Some(number) = self.numbers.get(owner) {
            return *number;
        }
        let number = u32::try_from(self.names.len()).expect("fewer owners than fit into memory");
        self.numbers.insert(owner.clone(), number);
        self.names.push(owner.clone());
        number
    }

    pub(super) fn name(&self, number: u32) -> &OwnerId {
        &self.names[number as usize]
    }
}

impl Operation {
    pub(super) fn of(event: &Event, owners: &mut Owners) -> Self {
        let owner = owners.number(&event.owner);
        let from = event.called.clock.as_nanos();
        let (until, said) = match &event.answer {
            None | Some((_, Answer::Failed(_))) => (u64::MAX, Said::Unanswered(event.asked)),
            Some((answered, answer)) => (answered.clock.as_nanos(), said(event.asked, answer, owners)),
        };
        Self { owner, ttl: nanos(event.ttl), from, until, said }
    }

    /// The fence of the record that must be there when this takes effect.
    pub(super) fn mentions(&self) -> Option<u64> {
        match self.said {
            Said::Begun { over: Over::Mine(fence), .. }
            | Said::Refreshed { fence, .. }
            | Said::Shown { fence, .. }
            | Said::Released(Some(fence)) => Some(fence),
            _ => None,
        }
    }

    /// The fence of the tenure that this begins.
    pub(super) fn begins(&self) -> Option<u64> {
        match self.said {
            Said::Begun { fence, .. } => Some(fence),
            _ => None,
        }
    }

    /// Whether it can't have changed anything, and says nothing either.
    pub(super) fn is_mute(&self) -> bool {
        matches!(self.said, Said::Unanswered(Asked::Inspect | Asked::List | Asked::Discard { force: false }))
    }
}

fn said(asked: Asked, answer: &Answer, owners: &mut Owners) -> Said {
    match (asked, answer) {
        (Asked::Take, Answer::Take(TakeOutcome::Taken { tenure, replaced })) => {
            begun(Phase::Held, tenure, replaced, owners)
        }
        (Asked::Take, Answer::Take(TakeOutcome::BeingDestroyed)) => Said::TurnedAway,
        (Asked::Claim(intent), Answer::Claim(ClaimOutcome::Claimed { tenure, replaced })) => {
            claimed(intent, tenure, replaced, owners)
        }
        (Asked::Claim(intent), Answer::Claim(ClaimOutcome::Refused)) => Said::Refused(intent),
        (Asked::Claim(Intent::DestroyTenure(_)), Answer::Claim(ClaimOutcome::Lapsed)) => Said::Nothing,
        (Asked::Claim(_), Answer::Claim(ClaimOutcome::Lapsed)) => {
            Said::Never("only claim(DestroyTenure) is ever Lapsed")
        }
        (Asked::Renew | Asked::RenewMany, Answer::Renew(outcome)) => match outcome {
            RenewOutcome::Renewed(tenure) => Said::Refreshed {
                phase: Phase::Held,
                fence: tenure.fence.get(),
                valid: tenure.valid_until.as_nanos(),
            },
            RenewOutcome::Lapsed => Said::Nothing,
            RenewOutcome::Lost => Said::Lost,
        },
        (Asked::Release, Answer::Release(ReleaseOutcome::Released)) => Said::Released(None),
        (Asked::Release, Answer::Release(ReleaseOutcome::NotHeld)) => Said::NotHeld(None),
        (Asked::ReleaseTenure(f), Answer::Release(ReleaseOutcome::Released)) => Said::Released(Some(f.get())),
        (Asked::ReleaseTenure(f), Answer::Release(ReleaseOutcome::NotHeld)) => Said::NotHeld(Some(f.get())),
        (Asked::Inspect | Asked::List, Answer::Look(None)) => Said::Nothing,
        (Asked::Inspect | Asked::List, Answer::Look(Some(lease))) => shown(lease, owners),
        (Asked::Discard { force }, Answer::Discard(DiscardOutcome::Discarded)) => Said::Discarded { force },
        (Asked::Discard { .. }, Answer::Discard(DiscardOutcome::Absent)) => Said::Nothing,
        (Asked::Discard { force: false }, Answer::Discard(DiscardOutcome::Refused(lease))) => {
            shown(lease, owners)
        }
        (Asked::Discard { force: true }, Answer::Discard(DiscardOutcome::Refused(_))) => {
            Said::Never("a forced discard is never Refused")
        }
        _ => Said::Never("that is the answer to another operation"),
    }
}

fn begun(phase: Phase, tenure: &Tenure, replaced: &Replaced, owners: &mut Owners) -> Said {
    let over = match replaced {
        Replaced::Nothing => Over::Nothing,
        Replaced::Mine(fence) => Over::Mine(fence.get()),
        Replaced::Peer(peer) => Over::Peer(owners.number(peer)),
    };
    Said::Begun { phase, fence: tenure.fence.get(), valid: tenure.valid_until.as_nanos(), over }
}

fn claimed(intent: Intent, tenure: &Tenure, replaced: &Replaced, owners: &mut Owners) -> Said {
    let phase = if intent == Intent::Keep { Phase::Held } else { Phase::Teardown };
    let decided = match intent {
        Intent::DestroyTenure(fence) => Some(fence),
        Intent::Keep | Intent::Destroy => None,
    };
    match replaced {
        Replaced::Peer(_) => Said::Never("a claim never replaces a peer's lease"),
        Replaced::Nothing if decided.is_some() => {
            Said::Never("claim(DestroyTenure) plants nothing on absent")
        }
        Replaced::Mine(before) if decided.is_some_and(|decided| decided != *before) => {
            Said::Never("claim(DestroyTenure) replaces the tenure that it names alone")
        }
        Replaced::Mine(before) if *before == tenure.fence => {
            Said::Refreshed { phase, fence: before.get(), valid: tenure.valid_until.as_nanos() }
        }
        Replaced::Mine(_) if intent == Intent::Keep => Said::Never("claim(Keep) of mine keeps the fence"),
        Replaced::Nothing | Replaced::Mine(_) => begun(phase, tenure, replaced, owners),
    }
}

fn shown(lease: &Lease, owners: &mut Owners) -> Said {
    match lease.fence {
        _ if lease.left.is_zero() => Said::Never("a lease that is shown has time left"),
        // Foreign programs, which write leases without one, have no part in a recorded history.
        None => Said::Never("every lease of ours has a fence"),
        Some(fence) => Said::Shown {
            owner: owners.number(&lease.owner),
            phase: lease.phase,
            fence: fence.get(),
            left: nanos(lease.left),
        },
    }
}
