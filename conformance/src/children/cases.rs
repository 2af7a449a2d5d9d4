//! P: what other processes see, and what is left of those that were killed.

use std::sync::Arc;
use std::time::Duration;

use leasehold::{
    BootClock, ClaimOutcome, Clock, Intent, Moment, OwnerId, Reach, RenewOutcome, SandboxId, TakeOutcome, Ttl,
};

use super::Child;
use crate::case::{Check, Stop, must};
use crate::history::{Answer, Asked, Event};
use crate::kit::{Kit, Store, absent, claim, id, lease, take};

/// A child with a store on the namespace of the case, and a store of one's own beside it, both in real time.
fn beside(kit: &Kit<'_>, ttl: Duration) -> Result<(Store, Child), Stop> {
    if kit.capabilities().reach == Reach::Process {
        return Err(Stop::not_applicable("the store is declared to be seen by its own process alone"));
    }
    let again = kit.again()?;
    let address = kit.namespace().address();
    let address =
        address.ok_or_else(|| Stop::Harness("a reach beyond the process needs an address".to_owned()))?;
    let mut child = Child::start(again, kit.harness())?;
    child.open(&address, "child", ttl)?;
    let harness = |e: &dyn std::fmt::Display| Stop::Harness(e.to_string());
    let owner = OwnerId::new("parent").map_err(|e| harness(&e))?;
    let store = kit.namespace().open(owner, Ttl::new(ttl).map_err(|e| harness(&e))?, Arc::new(clock()?))?;
    Ok((store, child))
}

fn clock() -> Result<BootClock, Stop> {
    BootClock::new().map_err(|e| Stop::Harness(e.to_string()))
}

pub(crate) fn another_process_sees_it(kit: &Kit<'_>) -> Check {
    let (parent, mut child) = beside(kit, Kit::SCENE)?;
    let (ours, theirs) = (id("ours"), id("theirs"));
    let mine = take(&parent, &ours)?;
    let seen = answer(child.ask(&ours, Asked::Inspect)?)?;
    let same = matches!(&seen, Answer::Look(Some(lease)) if lease.owner == *parent.owner()
        && lease.fence == Some(mine.fence) && lease.left <= Kit::SCENE);
    must(same, "the child sees the parent's lease", seen)?;
    let refused = answer(child.ask(&ours, Asked::Claim(Intent::Keep))?)?;
    must(refused == Answer::Claim(ClaimOutcome::Refused), "Refused to the child", refused)?;
    let moved = answer(child.ask(&ours, Asked::Take)?)?;
    must(moved.fence() > Some(mine.fence), "Taken by the child, with a larger fence", moved)?;
    must(parent.renew(&ours)? == RenewOutcome::Lost, "Lost to the parent", "something else")?;
    let stopping = answer(child.ask(&theirs, Asked::Claim(Intent::Destroy))?)?;
    let kept_out = parent.take(&theirs)?;
    must(kept_out == TakeOutcome::BeingDestroyed, "kept out by the child's stop", (stopping, kept_out))?;
    let _ = answer(child.ask(&theirs, Asked::Release)?)?;
    claim(&parent, &theirs, Intent::Keep).map(drop)
}

pub(crate) fn a_killed_process_leaves_its_leases(kit: &Kit<'_>) -> Check {
    // On a busy machine a TTL may be over before the leases were looked at; a longer one then tells.
    for ttl in [1, 4, 16].map(Duration::from_secs) {
        let (parent, mut child) = beside(kit, ttl)?;
        let (held, stopping) = (id("held"), id("stopping"));
        let taken = child.ask(&held, Asked::Take)?;
        let stopped = child.ask(&stopping, Asked::Claim(Intent::Destroy))?;
        child.kill()?;
        if still_there(&parent, &held, &taken)? && still_there(&parent, &stopping, &stopped)? {
            return gone_in_time(&parent, [(&held, &taken), (&stopping, &stopped)]);
        }
        wait_until(latest_end(&parent, &stopped))?;
    }
    Err(Stop::Harness("the machine is too slow to look at a lease within 16 s".to_owned()))
}

/// Whether the lease that `began` was looked at before its time was over; then it must have been there.
fn still_there(parent: &Store, sbx: &SandboxId, began: &Event) -> Result<bool, Stop> {
    let fence = match &began.answer {
        Some((_, answer)) => answer.fence().ok_or_else(|| Stop::failed("a tenure", answer))?,
        None => return Err(Stop::failed("an answer", began)),
    };
    let seen = parent.inspect(sbx)?;
    let kept_out = parent.claim(sbx, Intent::Keep)?;
    // It was sent no earlier than this, so it lasts at least until a TTL later.
    if clock()?.now() >= began.called.clock + began.ttl {
        let _ = parent.release(sbx)?;
        return Ok(false);
    }
    let there = seen.as_ref().is_some_and(|lease| lease.fence == Some(fence) && lease.left <= began.ttl);
    must(there, "the killed process' lease, with its fence and at most its TTL left", seen)?;
    must(kept_out == ClaimOutcome::Refused, "Refused while it lasts", kept_out)?;
    Ok(true)
}

fn gone_in_time(parent: &Store, leases: [(&SandboxId, &Event); 2]) -> Check {
    for (sbx, began) in leases {
        wait_until(latest_end(parent, began))?;
        absent(parent, sbx)?;
        claim(parent, sbx, Intent::Keep)?;
        must(lease(parent, sbx)?.owner == *parent.owner(), "free for the next", sbx)?;
    }
    Ok(())
}

/// When the lease is over at the latest, by this host's clock.
fn latest_end(parent: &Store, began: &Event) -> Moment {
    let answered = began.answer.as_ref().map_or(began.called, |(answered, _)| *answered);
    answered.clock + began.ttl + parent.quantum() + Duration::from_millis(1)
}

fn answer(event: Event) -> Result<Answer, Stop> {
    match event.answer {
        Some((_, Answer::Failed(why))) => Err(Stop::failed("an answer", why)),
        Some((_, answer)) => Ok(answer),
        None => Err(Stop::failed("an answer", "none")),
    }
}

/// Waits for real time to pass, which nobody can move for another process.
#[expect(clippy::disallowed_methods, reason = "a lease of a process that is gone can only be waited for")]
fn wait_until(moment: Moment) -> Check {
    let clock = clock()?;
    loop {
        let left = moment.since(clock.now());
        if left.is_zero() {
            return Ok(());
        }
        std::thread::sleep(left);
    }
}
