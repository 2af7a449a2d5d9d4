//! The lease table once more, as a relation: which states an answer allows before it, and what it makes of them.
//!
//! The rules of the core go from a record and a reading to an answer. Here the answer is given and the reading is not, so
//! that they can't be called; the tests of the checker hold the two against each other instead.

use leasehold::{Intent, Phase};

use super::operation::{Operation, Over, Said};
use super::state::{Kept, Place, State};
use super::timing::Timing;
use crate::history::Asked;

/// The states that `op` may have made of `state`, two at most; none when it can't have taken effect there, or can't have
/// been given that answer.
pub(super) fn step(op: &Operation, state: State, timing: Timing) -> impl Iterator<Item = State> {
    let states = match (op.said, state.place) {
        // Where nothing is known an effect adds nothing.
        (Said::Unanswered(_), Place::Unknown) => [None, None],
        (Said::Unanswered(asked), place) => effects(op, asked, place, state, timing),
        (_, Place::Unknown) => [from_unknown(op, state, timing), None],
        _ => [answered(op, state, timing), None],
    };
    states.into_iter().flatten()
}

fn answered(op: &Operation, state: State, timing: Timing) -> Option<State> {
    let kept = match state.place {
        Place::There(kept) => Some(kept),
        Place::Absent | Place::Unknown => None,
    };
    let mine = |kept: &Kept| kept.owner == op.owner;
    let live = |kept: Kept| kept.live(op, timing);
    let stays = |kept: Kept| Some(state.with(Place::There(kept)));
    match op.said {
        Said::Begun { fence, .. } => {
            let after = begin(op, kept, state.mark, timing)?;
            Some(State { place: Place::There(after), mark: fence })
        }
        Said::Refreshed { phase, fence, valid } => {
            let kept = kept.filter(mine).filter(|kept| kept.phase == phase)?.known_as(fence, state.mark)?;
            let after = refresh(op, live(kept)?, valid, timing)?;
            Some(State { place: Place::There(after), mark: state.mark.max(fence) })
        }
        Said::TurnedAway => stays(live(kept.filter(|kept| kept.phase == Phase::Teardown)?)?),
        Said::Refused(intent) => stays(live(kept.filter(|kept| !mine(kept) || refuses(kept, intent))?)?),
        Said::Lost => stays(live(kept.filter(|kept| !mine(kept) || kept.phase == Phase::Teardown)?)?),
        Said::Nothing => match kept {
            None => Some(state),
            Some(kept) => stays(kept.dead(op, timing)?),
        },
        Said::Released(fence) => {
            let kept = live(kept.filter(mine)?)?;
            let mark = match fence {
                Some(fence) => kept.known_as(fence, state.mark).map(|_| state.mark.max(fence))?,
                None => state.mark,
            };
            Some(State { place: Place::Absent, mark })
        }
        Said::NotHeld(fence) => match kept {
            // Were it live it would have been released, unless its fence is another, or not known.
            Some(kept) if mine(&kept) && fence.is_none_or(|asked| kept.fence == Some(asked)) => {
                stays(kept.dead(op, timing)?)
            }
            _ => Some(state),
        },
        Said::Shown { owner, phase, fence, .. } => {
            let kept = kept.filter(|kept| kept.owner == owner && kept.phase == phase)?;
            let kept = show(op, live(kept.known_as(fence, state.mark)?)?, timing)?;
            Some(State { place: Place::There(kept), mark: state.mark.max(fence) })
        }
        Said::Discarded { force } => {
            let kept = kept?;
            // A record that ran out may still be in its place, and then may be said to have been discarded.
            let possible = force || kept.dead(op, timing).is_some();
            possible.then_some(state.with(Place::Absent))
        }
        Said::Unanswered(_) | Said::Never(_) => None,
    }
}

/// Whether a claim of one's own live lease is refused.
fn refuses(kept: &Kept, intent: Intent) -> bool {
    match intent {
        Intent::Keep => kept.phase == Phase::Teardown,
        Intent::Destroy => false,
        // A fence that is not known may be another.
        Intent::DestroyTenure(decided) => kept.fence != Some(decided.get()),
    }
}

/// The readings at which an operation may have judged, when it says until when its tenure is valid.
fn readings(op: &Operation, valid: u64, timing: Timing) -> Option<(u64, u64)> {
    match timing {
        Timing::Ours => {
            let reading = valid.checked_sub(op.ttl)?;
            (op.from <= reading && reading <= op.until).then_some((reading, reading))
        }
        // It was sent then, and judged afterwards.
        Timing::Servers { .. } => {
            let sent = valid.checked_sub(op.ttl)?;
            (op.from <= sent && sent <= op.until).then_some((sent, op.until))
        }
    }
}

fn begin(op: &Operation, before: Option<Kept>, mark: u64, timing: Timing) -> Option<Kept> {
    let Said::Begun { phase, fence, valid, over } = op.said else { return None };
    let (mut first, last) = readings(op, valid, timing)?;
    match (over, before) {
        (Over::Nothing, None) => {}
        (Over::Nothing, Some(gone)) => {
            // One and the same reading found it dead and began the next.
            first = first.max(gone.low.saturating_sub(timing.early()));
        }
        (Over::Mine(known), Some(kept)) => {
            let kept = kept.known_as(known, mark).filter(|kept| kept.owner == op.owner)?;
            held_at(kept, first, timing)?;
        }
        (Over::Peer(peer), Some(kept)) => {
            let kept = Some(kept).filter(|kept| kept.owner == peer && peer != op.owner)?;
            held_at(kept, first, timing)?;
        }
        (Over::Mine(_) | Over::Peer(_), None) => return None,
    }
    let above = match over {
        Over::Mine(known) => known.max(mark),
        Over::Nothing | Over::Peer(_) => mark,
    };
    let (low, high) = (first.saturating_add(op.ttl), last.saturating_add(op.ttl));
    (first <= last && fence > above).then_some(Kept { owner: op.owner, phase, fence: Some(fence), low, high })
}

/// Whether `kept` can be Held and live at the reading `first`.
fn held_at(kept: Kept, first: u64, timing: Timing) -> Option<()> {
    let live = first < kept.high.saturating_add(timing.late());
    (live && kept.phase == Phase::Held).then_some(())
}

/// A live lease, with the later of its expiry and a TTL from the reading.
fn refresh(op: &Operation, kept: Kept, valid: u64, timing: Timing) -> Option<Kept> {
    match timing {
        Timing::Ours => {
            // Either it had longer to run already, or it has a TTL from the reading.
            let longer = kept.low <= valid && valid <= kept.high && op.from.saturating_add(op.ttl) <= valid;
            let anew = readings(op, valid, timing)
                .is_some_and(|(reading, _)| kept.low <= valid && reading < kept.high);
            (longer || anew).then_some(Kept { low: valid, high: valid, ..kept })
        }
        Timing::Servers { .. } => {
            let (first, last) = readings(op, valid, timing)?;
            let last = last.min(kept.high.saturating_add(timing.late()));
            let low = kept.low.max(first.saturating_add(op.ttl));
            let high = kept.high.max(last.saturating_add(op.ttl));
            (first <= last).then_some(Kept { low, high, ..kept })
        }
    }
}

/// A live lease whose time left was seen.
fn show(op: &Operation, kept: Kept, timing: Timing) -> Option<Kept> {
    let Said::Shown { left, .. } = op.said else { return None };
    let grain = timing.early() + timing.late();
    let low = kept.low.max(op.from.saturating_add(left).saturating_sub(grain));
    let high = kept.high.min(op.until.saturating_add(left).saturating_add(grain));
    (low <= high).then_some(Kept { low, high, ..kept })
}

/// What an operation without an answer may have made of a state: by finding a live lease of its own, and by finding
/// something to begin a tenure on.
fn effects(op: &Operation, asked: Asked, place: Place, state: State, timing: Timing) -> [Option<State>; 2] {
    let kept = match place {
        Place::There(kept) => Some(kept),
        Place::Absent | Place::Unknown => None,
    };
    let mine = kept.filter(|kept| kept.owner == op.owner).and_then(|kept| kept.live(op, timing));
    let free = kept.is_none_or(|kept| kept.dead(op, timing).is_some());
    // The effect may come at any time after the call, and so may its reading.
    let until = u64::MAX;
    let from = op.from.saturating_add(op.ttl);
    let begun = |phase| {
        let kept = Kept { owner: op.owner, phase, fence: None, low: from, high: until };
        State { place: Place::There(kept), mark: state.mark + 1 }
    };
    let refreshed =
        |kept: Kept| state.with(Place::There(Kept { low: kept.low.max(from), high: until, ..kept }));
    let phase = mine.map(|kept| kept.phase);
    let named = |fence: u64| mine.filter(|kept| kept.fence.is_none_or(|known| known == fence));
    let gone = state.with(Place::Absent);
    let (on_mine, on_free) = match asked {
        Asked::Take => {
            let held = kept.is_some_and(|kept| kept.phase == Phase::Held);
            (None, (free || held).then(|| begun(Phase::Held)))
        }
        Asked::Claim(Intent::Keep) => {
            (mine.filter(|kept| kept.phase == Phase::Held).map(refreshed), free.then(|| begun(Phase::Held)))
        }
        Asked::Claim(Intent::Destroy) => (
            mine.map(|kept| if kept.phase == Phase::Held { begun(Phase::Teardown) } else { refreshed(kept) }),
            free.then(|| begun(Phase::Teardown)),
        ),
        Asked::Claim(Intent::DestroyTenure(fence)) => {
            let kept = named(fence.get());
            let held = phase == Some(Phase::Held);
            (kept.map(|kept| if held { begun(Phase::Teardown) } else { refreshed(kept) }), None)
        }
        Asked::Renew | Asked::RenewMany => {
            (mine.filter(|kept| kept.phase == Phase::Held).map(refreshed), None)
        }
        Asked::Release => (mine.map(|_| gone), None),
        Asked::ReleaseTenure(fence) => (named(fence.get()).map(|_| gone), None),
        Asked::Discard { force: true } => (kept.map(|_| gone), None),
        Asked::Discard { force: false } | Asked::Inspect | Asked::List => (None, None),
    };
    [on_mine, on_free]
}

/// Where nothing is known every answer is possible, and some tell what was there.
fn from_unknown(op: &Operation, state: State, timing: Timing) -> Option<State> {
    let known = |kept: Kept| {
        let fence = kept.fence.unwrap_or(0);
        (fence >= state.mark).then_some(State { place: Place::There(kept), mark: fence })
    };
    match op.said {
        Said::Begun { phase, fence, valid, over } => {
            let (first, last) = readings(op, valid, timing)?;
            let above = if let Over::Mine(known) = over { known.max(state.mark) } else { state.mark };
            let (low, high) = (first.saturating_add(op.ttl), last.saturating_add(op.ttl));
            let kept = Kept { owner: op.owner, phase, fence: Some(fence), low, high };
            (fence > above).then(|| known(kept))?
        }
        Said::Refreshed { phase, fence, valid } => {
            let exact = matches!(timing, Timing::Ours);
            let (low, high) = if exact { (valid, valid) } else { (op.from.saturating_add(op.ttl), u64::MAX) };
            known(Kept { owner: op.owner, phase, fence: Some(fence), low, high })
        }
        Said::Shown { owner, phase, fence, .. } => {
            let kept = Kept { owner, phase, fence: Some(fence), low: 0, high: u64::MAX };
            known(show(op, kept, timing)?)
        }
        Said::Released(_) | Said::Discarded { .. } => Some(state.with(Place::Absent)),
        // A record that ran out may still be there, so nothing is learnt.
        Said::Nothing | Said::TurnedAway | Said::Refused(_) | Said::Lost | Said::NotHeld(_) => Some(state),
        Said::Unanswered(_) | Said::Never(_) => None,
    }
}
