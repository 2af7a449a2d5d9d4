//! The lease table with one cell of it wrong.

use leasehold::rules::{self, Asker};
use leasehold::{
    ClaimOutcome, Fence, FenceExhausted, Intent, Moment, Phase, Reading, Record, ReleaseOutcome,
    RenewOutcome, Replaced, Step, TakeOutcome, Tenure, Write,
};
use std::time::Duration;

use super::Fault;

/// A step of an operation that begins a tenure.
type Begun<T> = Step<Result<T, FenceExhausted>>;

/// The record as the asker sees it, where it is live.
fn live(before: Option<&Record>, reading: Reading) -> Option<&Record> {
    before.filter(|record| record.is_live(reading.now))
}

fn is_mine(record: &Record, asker: Asker<'_>) -> bool {
    record.owner == *asker.owner
}

fn nothing<T>(answer: T) -> Step<T> {
    Step { write: Write::Nothing, answer }
}

/// The same step with another fence in what it writes; the answer's is changed by the caller.
fn with_fence<T>(mut step: Step<T>, fence: Option<Fence>) -> Step<T> {
    if let Write::Put(record) = &mut step.write {
        record.fence = fence;
    }
    step
}

pub(super) fn take(
    fault: Fault,
    before: Option<&Record>,
    asker: Asker<'_>,
    reading: Reading,
) -> Begun<TakeOutcome> {
    let honest = || rules::take(before, asker, reading);
    let seen = live(before, reading);
    let mine = seen.is_some_and(|record| is_mine(record, asker));
    match (fault, seen) {
        (Fault::TakeTurnsAbsentAway, None) => nothing(Ok(TakeOutcome::BeingDestroyed)),
        (Fault::TakeOfMineKeepsTheFence, Some(record)) if mine && record.phase == Phase::Held => {
            refence_take(with_fence(honest(), record.fence), record.fence)
        }
        (Fault::TakeOfMineKeepsTheExpiry, Some(record)) if mine && record.phase == Phase::Held => {
            let mut step = honest();
            if let Write::Put(new) = &mut step.write {
                new.expires = record.expires;
            }
            step
        }
        (Fault::TakeIsTurnedAwayByAPeer, Some(_)) if !mine => nothing(Ok(TakeOutcome::BeingDestroyed)),
        (Fault::TakeOverwritesAPeersTeardown, Some(record)) if !mine => {
            as_held(record, |held| rules::take(Some(held), asker, reading))
        }
        (Fault::TakeOverwritesMyTeardown, Some(record)) if mine => {
            as_held(record, |held| rules::take(Some(held), asker, reading))
        }
        (Fault::TakeTurnedAwayExtends, Some(record)) if record.phase == Phase::Teardown => {
            Step { write: Write::Extend(record.expires + Duration::from_secs(1)), ..honest() }
        }
        (Fault::DeadTeardownKeepsTakesOut, None)
            if before.is_some_and(|dead| dead.phase == Phase::Teardown) =>
        {
            nothing(Ok(TakeOutcome::BeingDestroyed))
        }
        (Fault::TakeNeverSaysWhatItReplaced, _) => honest().map(|answer| {
            answer.map(|outcome| match outcome {
                TakeOutcome::Taken { tenure, .. } => {
                    TakeOutcome::Taken { tenure, replaced: Replaced::Nothing }
                }
                other => other,
            })
        }),
        (Fault::TakeNamesADeadPeer, None) => {
            let dead = before.map(|record| record.owner.clone());
            honest().map(|answer| {
                answer.map(|outcome| match (outcome, dead) {
                    (TakeOutcome::Taken { tenure, .. }, Some(owner)) => {
                        TakeOutcome::Taken { tenure, replaced: Replaced::Peer(owner) }
                    }
                    (outcome, _) => outcome,
                })
            })
        }
        (Fault::FenceOfAnothersTenure, Some(record)) if !mine && record.phase == Phase::Held => {
            refence_take(with_fence(honest(), record.fence), record.fence)
        }
        _ => honest(),
    }
}

fn refence_take(step: Begun<TakeOutcome>, fence: Option<Fence>) -> Begun<TakeOutcome> {
    step.map(|answer| {
        answer.map(|outcome| match (outcome, fence) {
            (TakeOutcome::Taken { tenure, replaced }, Some(fence)) => {
                TakeOutcome::Taken { tenure: Tenure { fence, ..tenure }, replaced }
            }
            (outcome, _) => outcome,
        })
    })
}

fn as_held<T>(record: &Record, ask: impl FnOnce(&Record) -> T) -> T {
    ask(&Record { phase: Phase::Held, ..record.clone() })
}

pub(super) fn claim(
    fault: Fault,
    before: Option<&Record>,
    intent: Intent,
    asker: Asker<'_>,
    reading: Reading,
) -> Begun<ClaimOutcome> {
    let honest = || rules::claim(before, intent, asker, reading);
    let seen = live(before, reading);
    let mine = seen.is_some_and(|record| is_mine(record, asker));
    let phase = if intent == Intent::Keep { Phase::Held } else { Phase::Teardown };
    let refreshes = mine && seen.is_some_and(|record| record.phase == phase);
    let refused = || nothing(Ok(ClaimOutcome::Refused));
    match (fault, intent, seen) {
        (Fault::KeepTurnsAbsentAway, Intent::Keep, None) => refused(),
        (Fault::DestroyTurnsAbsentAway, Intent::Destroy, None) => refused(),
        (Fault::KeepOfMineBeginsATenure, Intent::Keep, Some(record))
        | (Fault::DestroyAgainBeginsATenure, Intent::Destroy, Some(record))
            if refreshes =>
        {
            anew(record, phase, asker, reading)
        }
        (Fault::KeepOfMineIsNoRefresh, Intent::Keep, _)
        | (Fault::DestroyAgainIsNoRefresh, Intent::Destroy, _)
            if refreshes =>
        {
            Step { write: Write::Nothing, ..honest() }
        }
        (Fault::ClaimStealsHeld, _, Some(record)) if !mine && record.phase == Phase::Held => {
            rules::claim(None, intent, asker, above(record, reading))
        }
        (Fault::ClaimStealsTeardown, _, Some(record)) if !mine && record.phase == Phase::Teardown => {
            rules::claim(None, intent, asker, above(record, reading))
        }
        (Fault::DestroyTenureStealsHeld, Intent::DestroyTenure(_), Some(record))
            if !mine && record.phase == Phase::Held =>
        {
            rules::claim(None, Intent::Destroy, asker, above(record, reading))
        }
        (Fault::DestroyTenureStealsTeardown, Intent::DestroyTenure(_), Some(record))
            if !mine && record.phase == Phase::Teardown =>
        {
            rules::claim(None, Intent::Destroy, asker, above(record, reading))
        }
        (Fault::RefusalRefreshes, _, Some(record)) if !mine => Step {
            write: Write::Extend(record.expires.max(reading.now + asker.ttl.as_duration())),
            answer: Ok(ClaimOutcome::Refused),
        },
        (Fault::RefusalErases, _, Some(_)) if !mine => {
            Step { write: Write::Remove, answer: Ok(ClaimOutcome::Refused) }
        }
        (Fault::DestroyLeavesItHeld, Intent::Destroy | Intent::DestroyTenure(_), _) => {
            let mut step = honest();
            if let Write::Put(record) = &mut step.write {
                record.phase = Phase::Held;
            }
            step
        }
        (Fault::KeepUnwindsTeardown, Intent::Keep, Some(record))
            if mine && record.phase == Phase::Teardown =>
        {
            anew(record, Phase::Held, asker, reading)
        }
        (Fault::TheDecidedTenureIsRefused, Intent::DestroyTenure(asked), Some(record))
            if mine && record.phase == Phase::Held && record.fence == Some(asked) =>
        {
            refused()
        }
        (Fault::HeartbeatIsNoRefresh, Intent::DestroyTenure(asked), Some(record))
            if refreshes && record.fence == Some(asked) =>
        {
            Step { write: Write::Nothing, ..honest() }
        }
        (Fault::DestroyTenurePlants, Intent::DestroyTenure(_), None) => {
            rules::claim(before, Intent::Destroy, asker, reading)
        }
        (Fault::DestroyTenureIgnoresTheFence, Intent::DestroyTenure(_), Some(record))
            if mine && record.phase == Phase::Held =>
        {
            rules::claim(before, Intent::Destroy, asker, reading)
        }
        (Fault::DestroyTenureOfAnyTeardown, Intent::DestroyTenure(_), Some(record))
            if mine && record.phase == Phase::Teardown =>
        {
            rules::claim(before, Intent::Destroy, asker, reading)
        }
        (Fault::DestroyTenureLoosely, Intent::DestroyTenure(asked), Some(record))
            if mine && record.fence.is_some_and(|fence| asked <= fence) =>
        {
            rules::claim(before, Intent::Destroy, asker, reading)
        }
        (Fault::DestroyTenureOfTheNext, Intent::DestroyTenure(asked), Some(record))
            if mine && record.fence.is_some_and(|fence| asked >= fence) =>
        {
            rules::claim(before, Intent::Destroy, asker, reading)
        }
        (Fault::LapsedLeavesATrace, Intent::DestroyTenure(_), None) => {
            let (owner, fence) = (asker.owner.clone(), Fence::new(reading.fence_floor));
            let empty = Record { owner, phase: Phase::Teardown, fence, expires: Moment::from_nanos(1) };
            Step { write: Write::Put(empty), ..honest() }
        }
        (Fault::KeepShortens, Intent::Keep, Some(record))
        | (Fault::TeardownShortens, Intent::Destroy, Some(record))
            if refreshes =>
        {
            shorten(record, asker, reading, |tenure| {
                Ok(ClaimOutcome::Claimed { tenure, replaced: Replaced::Mine(tenure.fence) })
            })
        }
        (Fault::TeardownKeepsTheFence, _, Some(record))
            if mine && record.phase == Phase::Held && !refreshes =>
        {
            let step = with_fence(honest(), record.fence);
            step.map(|answer| {
                answer.map(|outcome| match (outcome, record.fence) {
                    (ClaimOutcome::Claimed { tenure, replaced }, Some(fence)) => {
                        ClaimOutcome::Claimed { tenure: Tenure { fence, ..tenure }, replaced }
                    }
                    (outcome, _) => outcome,
                })
            })
        }
        _ => honest(),
    }
}

/// A new tenure where a refresh (or a refusal) was due.
fn anew(record: &Record, phase: Phase, asker: Asker<'_>, reading: Reading) -> Begun<ClaimOutcome> {
    let intent = if phase == Phase::Held { Intent::Keep } else { Intent::Destroy };
    let step = rules::claim(None, intent, asker, above(record, reading));
    let was = record.fence;
    step.map(|answer| {
        answer.map(|outcome| match (outcome, was) {
            (ClaimOutcome::Claimed { tenure, .. }, Some(was)) => {
                ClaimOutcome::Claimed { tenure, replaced: Replaced::Mine(was) }
            }
            (outcome, _) => outcome,
        })
    })
}

/// The reading with a floor above the record's fence, for rules that are shown no record.
fn above(record: &Record, reading: Reading) -> Reading {
    let fence = record.fence.map_or(0, Fence::get);
    Reading { fence_floor: reading.fence_floor.max(fence + 1), ..reading }
}

/// Now plus the TTL, even where that is sooner than what was there.
fn shorten<T>(
    record: &Record,
    asker: Asker<'_>,
    reading: Reading,
    answer: impl FnOnce(Tenure) -> T,
) -> Step<T> {
    let expires = reading.now + asker.ttl.as_duration();
    let fence = record.fence.unwrap_or(Fence::MIN);
    let record = Record { expires, ..record.clone() };
    Step { write: Write::Put(record), answer: answer(Tenure { fence, valid_until: expires }) }
}

pub(super) fn renew(
    fault: Fault,
    before: Option<&Record>,
    asker: Asker<'_>,
    reading: Reading,
) -> Step<RenewOutcome> {
    let honest = || rules::renew(before, asker, reading);
    let seen = live(before, reading);
    let mine = seen.is_some_and(|record| is_mine(record, asker));
    let begun = |before: Option<&Record>, reading| match rules::take(before, asker, reading) {
        Step { write, answer: Ok(TakeOutcome::Taken { tenure, .. }) } => {
            Step { write, answer: RenewOutcome::Renewed(tenure) }
        }
        _ => nothing(RenewOutcome::Lost),
    };
    match (fault, seen) {
        (Fault::RenewRecreates, None) => begun(before, reading),
        (Fault::LapsedSaidAsLost, None) => nothing(RenewOutcome::Lost),
        (Fault::LostSaidAsLapsed, Some(_)) if !mine => nothing(RenewOutcome::Lapsed),
        (Fault::RenewSteals | Fault::TakeLeavesThePeerRenewing, Some(record)) if !mine => {
            if record.phase == Phase::Held { begun(before, reading) } else { honest() }
        }
        (_, Some(record)) if mine && record.phase == Phase::Teardown => match fault {
            Fault::RenewExtendsTeardown => Step {
                write: Write::Extend(record.expires.max(reading.now + asker.ttl.as_duration())),
                answer: RenewOutcome::Lost,
            },
            Fault::TeardownRenewed => {
                let fence = record.fence.unwrap_or(Fence::MIN);
                nothing(RenewOutcome::Renewed(Tenure { fence, valid_until: record.expires }))
            }
            _ => honest(),
        },
        (_, Some(record)) if mine => match fault {
            Fault::RenewIsNoRefresh => Step { write: Write::Nothing, ..honest() },
            Fault::RenewIsLost => nothing(RenewOutcome::Lost),
            Fault::RenewShortens => shorten(record, asker, reading, RenewOutcome::Renewed),
            Fault::RenewBeginsATenure => begun(before, reading),
            Fault::RenewedWithAnotherFence => honest().map(|outcome| match outcome {
                RenewOutcome::Renewed(tenure) => RenewOutcome::Renewed(Tenure {
                    fence: Fence::following(Some(tenure.fence), 0).unwrap_or(tenure.fence),
                    ..tenure
                }),
                other => other,
            }),
            Fault::RenewedValidTooLong => honest().map(|outcome| match outcome {
                RenewOutcome::Renewed(tenure) => RenewOutcome::Renewed(Tenure {
                    valid_until: tenure.valid_until + asker.ttl.as_duration(),
                    ..tenure
                }),
                other => other,
            }),
            _ => honest(),
        },
        _ => honest(),
    }
}

pub(super) fn release(
    fault: Fault,
    before: Option<&Record>,
    tenure: Option<Fence>,
    asker: Asker<'_>,
    reading: Reading,
) -> Step<ReleaseOutcome> {
    let honest = || rules::release(before, tenure, asker, reading);
    let seen = live(before, reading);
    let mine = seen.is_some_and(|record| is_mine(record, asker));
    match (fault, seen) {
        (Fault::ReleaseKeepsTheLease, _) => Step { write: Write::Nothing, ..honest() },
        (Fault::ReleaseLeavesATeardown, Some(record)) if mine && record.phase == Phase::Teardown => {
            nothing(ReleaseOutcome::NotHeld)
        }
        (Fault::ReleaseOfHeldIsNotHeld, Some(record))
            if mine && record.phase == Phase::Held && tenure.is_none() =>
        {
            Step { answer: ReleaseOutcome::NotHeld, ..honest() }
        }
        (Fault::ReleaseFreesAPeersTeardown, Some(record))
            if !mine && record.phase == Phase::Teardown && tenure.is_none() =>
        {
            Step { write: Write::Remove, answer: ReleaseOutcome::Released }
        }
        (Fault::ReleaseTenureFreesATeardown, Some(record))
            if !mine && record.phase == Phase::Teardown && tenure.is_some() && tenure == record.fence =>
        {
            Step { write: Write::Remove, answer: ReleaseOutcome::Released }
        }
        (Fault::ReleaseTenureKeepsHeld, Some(record))
            if mine && record.phase == Phase::Held && tenure.is_some() =>
        {
            nothing(ReleaseOutcome::NotHeld)
        }
        (Fault::ReleaseTenureKeepsTeardown, Some(record))
            if mine && record.phase == Phase::Teardown && tenure.is_some() =>
        {
            nothing(ReleaseOutcome::NotHeld)
        }
        (Fault::ReleaseTenureOfAbsentIsReleased, None) if tenure.is_some() => {
            nothing(ReleaseOutcome::Released)
        }
        (Fault::ReleaseFreesAPeers, Some(_)) if !mine && tenure.is_none() => {
            Step { write: Write::Remove, answer: ReleaseOutcome::Released }
        }
        (Fault::ReleaseTenureFreesAPeers, Some(record)) if tenure.is_some() && tenure == record.fence => {
            Step { write: Write::Remove, answer: ReleaseOutcome::Released }
        }
        (Fault::ReleaseTenureOfTheNext, Some(record)) if mine && tenure >= record.fence => {
            rules::release(before, None, asker, reading)
        }
        (Fault::ReleaseOfAbsentIsReleased, None) => nothing(ReleaseOutcome::Released),
        (Fault::ReleaseTenureIgnoresTheFence, Some(_)) if mine => {
            rules::release(before, None, asker, reading)
        }
        _ => honest(),
    }
}

/// The record as a store with a fault of timing sees it.
pub(super) fn as_timed(fault: Fault, record: Record, ttl: Duration) -> Record {
    let nanos = record.expires.as_nanos();
    let expires = match fault {
        Fault::ExpiresEarly => Moment::from_nanos(nanos.saturating_sub(ttl.as_nanos() as u64 / 2)),
        Fault::ExpiresANanosecondEarly => Moment::from_nanos(nanos.saturating_sub(1)),
        Fault::ExpiresLate => record.expires + ttl,
        Fault::LiveAtItsExpiry => record.expires + Duration::from_nanos(1),
        Fault::TeardownForEver if record.phase == Phase::Teardown => Moment::from_nanos(u64::MAX),
        _ => record.expires,
    };
    Record { expires, ..record }
}
