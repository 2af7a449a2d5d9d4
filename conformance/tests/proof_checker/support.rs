//! Short words for events. Time is counted in milliseconds, and every TTL is [`TTL`] of them.

use std::time::Duration;

use leasehold::{
    ClaimOutcome, DiscardOutcome, Fence, Intent, Lease, Moment, OwnerId, Phase, ReleaseOutcome, RenewOutcome,
    Replaced, TakeOutcome, Tenure,
};
use leasehold_conformance::checker::{Checked, Timing, check};
use leasehold_conformance::history::{Answer, Asked, Event, Stamp};

pub(crate) const TTL: u64 = 100;
const MILLI: u64 = 1_000_000;

pub(crate) fn stamp(millis: u64) -> Stamp {
    Stamp::at(moment(millis))
}

pub(crate) fn moment(millis: u64) -> Moment {
    Moment::from_nanos(millis * MILLI)
}

pub(crate) fn fence(number: u64) -> Fence {
    Fence::new(number).unwrap()
}

pub(crate) fn owner(name: &str) -> OwnerId {
    OwnerId::new(name).unwrap()
}

/// `name` asks from `from` on, and is answered by `until`.
pub(crate) fn event(name: &str, from: u64, until: u64, (asked, answer): (Asked, Answer)) -> Event {
    let answer = Some((stamp(until), answer));
    Event { answer, ..unanswered(name, from, asked) }
}

pub(crate) fn unanswered(name: &str, from: u64, asked: Asked) -> Event {
    Event {
        id: "sbx-1".parse().unwrap(),
        owner: owner(name),
        ttl: Duration::from_millis(TTL),
        asked,
        called: stamp(from),
        answer: None,
    }
}

fn tenure(number: u64, at: u64) -> Tenure {
    Tenure { fence: fence(number), valid_until: moment(at + TTL) }
}

pub(crate) fn peer(name: &str) -> Replaced {
    Replaced::Peer(owner(name))
}

pub(crate) fn mine(number: u64) -> Replaced {
    Replaced::Mine(fence(number))
}

/// Taken at the reading `at`.
pub(crate) fn taken(number: u64, at: u64, replaced: Replaced) -> (Asked, Answer) {
    (Asked::Take, Answer::Take(TakeOutcome::Taken { tenure: tenure(number, at), replaced }))
}

pub(crate) fn turned_away() -> (Asked, Answer) {
    (Asked::Take, Answer::Take(TakeOutcome::BeingDestroyed))
}

pub(crate) fn claimed(intent: Intent, number: u64, at: u64, replaced: Replaced) -> (Asked, Answer) {
    let outcome = ClaimOutcome::Claimed { tenure: tenure(number, at), replaced };
    (Asked::Claim(intent), Answer::Claim(outcome))
}

pub(crate) fn kept(number: u64, at: u64) -> (Asked, Answer) {
    claimed(Intent::Keep, number, at, Replaced::Nothing)
}

pub(crate) fn refused(intent: Intent) -> (Asked, Answer) {
    (Asked::Claim(intent), Answer::Claim(ClaimOutcome::Refused))
}

pub(crate) fn claim_lapsed(intent: Intent) -> (Asked, Answer) {
    (Asked::Claim(intent), Answer::Claim(ClaimOutcome::Lapsed))
}

pub(crate) fn decided(number: u64) -> Intent {
    Intent::DestroyTenure(fence(number))
}

pub(crate) fn renewed(number: u64, at: u64) -> (Asked, Answer) {
    (Asked::Renew, Answer::Renew(RenewOutcome::Renewed(tenure(number, at))))
}

pub(crate) fn lost() -> (Asked, Answer) {
    (Asked::Renew, Answer::Renew(RenewOutcome::Lost))
}

pub(crate) fn lapsed() -> (Asked, Answer) {
    (Asked::Renew, Answer::Renew(RenewOutcome::Lapsed))
}

pub(crate) fn released() -> (Asked, Answer) {
    (Asked::Release, Answer::Release(ReleaseOutcome::Released))
}

pub(crate) fn not_held() -> (Asked, Answer) {
    (Asked::Release, Answer::Release(ReleaseOutcome::NotHeld))
}

pub(crate) fn tenure_released(number: u64) -> (Asked, Answer) {
    (Asked::ReleaseTenure(fence(number)), Answer::Release(ReleaseOutcome::Released))
}

pub(crate) fn tenure_not_held(number: u64) -> (Asked, Answer) {
    (Asked::ReleaseTenure(fence(number)), Answer::Release(ReleaseOutcome::NotHeld))
}

/// Seen with its end at `end`, at the reading `at`.
pub(crate) fn seen(name: &str, phase: Phase, number: u64, end: u64, at: u64) -> (Asked, Answer) {
    let left = Duration::from_millis(end - at);
    let lease = Lease { owner: owner(name), phase, fence: Some(fence(number)), left };
    (Asked::Inspect, Answer::Look(Some(lease)))
}

pub(crate) fn nothing_seen() -> (Asked, Answer) {
    (Asked::Inspect, Answer::Look(None))
}

pub(crate) fn discarded(force: bool) -> (Asked, Answer) {
    (Asked::Discard { force }, Answer::Discard(DiscardOutcome::Discarded))
}

pub(crate) fn failed(asked: Asked) -> (Asked, Answer) {
    (asked, Answer::Failed("timed out".to_owned()))
}

pub(crate) fn checked(events: &[Event]) -> Checked {
    check(events.to_vec(), Timing::Ours)
}

#[track_caller]
pub(crate) fn accepted(events: &[Event]) {
    let checked = checked(events);
    assert!(checked.is_complete(), "{checked}");
}

/// Rejected, at the answer of the event with this index.
#[track_caller]
pub(crate) fn rejected(events: &[Event], at: usize) {
    let checked = checked(events);
    let found = checked.unexplained.first().unwrap_or_else(|| panic!("it was accepted: {checked}"));
    assert_eq!(found.event, events[at], "{checked}");
    assert!(found.window.contains(&found.event), "{checked}");
}

/// Numbers by chance, the same for the same seed.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % sides
    }
}
