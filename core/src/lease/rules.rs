//! The lease table: for each operation one pure function from what is there to what to write and what to answer.
//!
//! This is the one statement of the rules. The memory, file and SQLite stores are cells around these functions, the
//! kit's model and its exhaustive checks call them too; only the Redis store states them a second time, in Lua, and
//! the kit compares it with these on random histories.
//!
//! ```
//! use leasehold::rules::{self, Asker};
//! use leasehold::{Moment, OwnerId, Reading, TakeOutcome, Ttl};
//!
//! let me = OwnerId::new("gw-1")?;
//! let asker = Asker { owner: &me, ttl: Ttl::from_millis(500)? };
//! let reading = Reading { now: Moment::from_nanos(0), fence_floor: 7 };
//! let step = rules::take(None, asker, reading);
//! assert!(matches!(step.answer, Ok(TakeOutcome::Taken { tenure, .. }) if tenure.fence.get() == 7));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::{
    ClaimOutcome, Fence, FenceExhausted, Intent, Lease, Phase, Reading, Record, ReleaseOutcome, RenewOutcome,
    Replaced, Step, TakeOutcome, Tenure, Write,
};
use crate::{OwnerId, Ttl};

/// Who asks, and for how long they want it.
#[derive(Clone, Copy, Debug)]
pub struct Asker<'a> {
    /// The asking owner.
    pub owner: &'a OwnerId,
    /// The time a lease gets from now.
    pub ttl: Ttl,
}

/// To be responsible from now on, whoever is: moves a sandbox from a live peer, and waits only for a stop under way.
pub fn take(
    before: Option<&Record>,
    asker: Asker<'_>,
    reading: Reading,
) -> Step<Result<TakeOutcome, FenceExhausted>> {
    let replaced = match Seen::of(before, asker.owner, reading) {
        Seen::Absent => Replaced::Nothing,
        Seen::Mine(record, fence) if record.phase == Phase::Held => Replaced::Mine(fence),
        Seen::Peers(record) if record.phase == Phase::Held => Replaced::Peer(record.owner.clone()),
        Seen::Mine(..) | Seen::Peers(_) => return nothing(Ok(TakeOutcome::BeingDestroyed)),
    };
    begin(before, Phase::Held, asker, reading, |tenure| TakeOutcome::Taken { tenure, replaced })
}

/// To be responsible only if nobody else is: for adopting, keeping and stopping. Never moves a live peer's lease.
pub fn claim(
    before: Option<&Record>,
    intent: Intent,
    asker: Asker<'_>,
    reading: Reading,
) -> Step<Result<ClaimOutcome, FenceExhausted>> {
    let phase = if intent == Intent::Keep { Phase::Held } else { Phase::Teardown };
    let begin =
        |replaced| begin(before, phase, asker, reading, |tenure| ClaimOutcome::Claimed { tenure, replaced });
    match Seen::of(before, asker.owner, reading) {
        Seen::Absent => match intent {
            Intent::Keep | Intent::Destroy => begin(Replaced::Nothing),
            Intent::DestroyTenure(_) => nothing(Ok(ClaimOutcome::Lapsed)),
        },
        Seen::Peers(_) => nothing(Ok(ClaimOutcome::Refused)),
        Seen::Mine(_, fence) if matches!(intent, Intent::DestroyTenure(decided) if decided != fence) => {
            nothing(Ok(ClaimOutcome::Refused))
        }
        Seen::Mine(record, fence) if record.phase == phase => refresh(record, fence, asker, reading)
            .map(|tenure| Ok(ClaimOutcome::Claimed { tenure, replaced: Replaced::Mine(fence) })),
        Seen::Mine(record, fence) => match record.phase {
            Phase::Held => begin(Replaced::Mine(fence)),
            Phase::Teardown => nothing(Ok(ClaimOutcome::Refused)),
        },
    }
}

/// To go on being responsible. Never begins a tenure: what lapsed or was lost stays so.
pub fn renew(before: Option<&Record>, asker: Asker<'_>, reading: Reading) -> Step<RenewOutcome> {
    match Seen::of(before, asker.owner, reading) {
        Seen::Absent => nothing(RenewOutcome::Lapsed),
        Seen::Mine(record, fence) if record.phase == Phase::Held => {
            refresh(record, fence, asker, reading).map(RenewOutcome::Renewed)
        }
        Seen::Mine(..) | Seen::Peers(_) => nothing(RenewOutcome::Lost),
    }
}

/// To be responsible no longer; `tenure` restricts that to the tenure with this fence.
pub fn release(
    before: Option<&Record>,
    tenure: Option<Fence>,
    asker: Asker<'_>,
    reading: Reading,
) -> Step<ReleaseOutcome> {
    match Seen::of(before, asker.owner, reading) {
        Seen::Mine(_, fence) if tenure.is_none_or(|asked| asked == fence) => {
            Step { write: Write::Remove, answer: ReleaseOutcome::Released }
        }
        _ => nothing(ReleaseOutcome::NotHeld),
    }
}

/// Only looks.
#[must_use]
pub fn inspect(before: Option<&Record>, reading: Reading) -> Option<Lease> {
    before.and_then(|record| record.lease_at(reading.now))
}

/// What an owner finds in the place of a record.
enum Seen<'a> {
    Absent,
    Mine(&'a Record, Fence),
    Peers(&'a Record),
}

impl<'a> Seen<'a> {
    fn of(before: Option<&'a Record>, owner: &OwnerId, reading: Reading) -> Self {
        match before {
            Some(record) if record.is_live(reading.now) => match record.fence {
                Some(fence) if record.owner == *owner => Self::Mine(record, fence),
                // Every record of ours has a fence: one without it was written by somebody else, whatever it says.
                _ => Self::Peers(record),
            },
            _ => Self::Absent,
        }
    }
}

/// A new tenure, with a fence larger than that of whatever was there, dead or alive.
fn begin<T>(
    before: Option<&Record>,
    phase: Phase,
    asker: Asker<'_>,
    reading: Reading,
    answer: impl FnOnce(Tenure) -> T,
) -> Step<Result<T, FenceExhausted>> {
    let fence = match Fence::following(before.and_then(|record| record.fence), reading.fence_floor) {
        Ok(fence) => fence,
        Err(exhausted) => return nothing(Err(exhausted)),
    };
    let expires = reading.now + asker.ttl.as_duration();
    let record = Record { owner: asker.owner.clone(), phase, fence: Some(fence), expires };
    Step { write: Write::Put(record), answer: Ok(answer(Tenure { fence, valid_until: expires })) }
}

/// The same tenure for longer, and never for shorter.
fn refresh(record: &Record, fence: Fence, asker: Asker<'_>, reading: Reading) -> Step<Tenure> {
    let expires = record.expires.max(reading.now + asker.ttl.as_duration());
    let write = if expires == record.expires { Write::Nothing } else { Write::Extend(expires) };
    Step { write, answer: Tenure { fence, valid_until: expires } }
}

fn nothing<T>(answer: T) -> Step<T> {
    Step { write: Write::Nothing, answer }
}

impl<T> Step<T> {
    /// The same change with the answer put in other words.
    pub fn map<U>(self, words: impl FnOnce(T) -> U) -> Step<U> {
        Step { write: self.write, answer: words(self.answer) }
    }
}
