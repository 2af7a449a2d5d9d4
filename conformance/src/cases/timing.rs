//! E: when a lease ends, and what no clock can do to it.

use std::time::Duration;

use leasehold::{ErrorKind, Intent, Phase, RenewOutcome, Ttl};

use super::op::Op;
use crate::case::{Check, Stop, must};
use crate::kit::{Kit, Store, absent, claim, id, lease, take};

fn hold(store: &Store, text: &str, phase: Phase) -> Result<(), Stop> {
    match phase {
        Phase::Held => take(store, &id(text)).map(drop),
        Phase::Teardown => claim(store, &id(text), Intent::Destroy).map(drop),
    }
}

pub(super) fn live_before_its_ttl_and_absent_after(kit: &Kit<'_>, phase: Phase) -> Check {
    let ttl = kit.short();
    let (me, peer) = (kit.open("me", ttl)?, kit.open("peer", ttl)?);
    let sbx = id("sbx-1");
    if let Ok(clock) = kit.virtual_clock() {
        hold(&me, "sbx-1", phase)?;
        clock.advance(ttl - Duration::from_nanos(1));
        let left = lease(&peer, &sbx)?.left;
        must(left == Duration::from_nanos(1), "live to the last nanosecond", left)?;
        clock.advance(Duration::from_nanos(1) + me.quantum());
        absent(&peer, &sbx)?;
        return absent(&me, &sbx);
    }
    // On a slow machine the look may come too late to say anything: then once more, a few times.
    for round in 0..5 {
        let text = format!("sbx-{round}");
        let sent = kit.now();
        hold(&me, &text, phase)?;
        kit.pass(ttl / 4);
        let seen = peer.inspect(&id(&text))?;
        if kit.now().since(sent) < ttl {
            must(seen.is_some(), "live before its TTL", seen)?;
            kit.pass(ttl + me.quantum());
            return absent(&peer, &id(&text));
        }
    }
    Err(Stop::Harness("this machine is too slow for the harness' real_ttl; make it longer".to_owned()))
}

pub(super) fn renewals_carry_a_lease_on(kit: &Kit<'_>) -> Check {
    let ttl = kit.short();
    let me = kit.open("me", ttl)?;
    let sbx = id("sbx-1");
    'again: for _ in 0..5 {
        let fence = take(&me, &sbx)?.fence;
        for _ in 0..4 {
            let sent = kit.now();
            kit.pass(ttl / 2);
            let renewed = me.renew(&sbx)?;
            if kit.virtual_clock().is_err() && kit.now().since(sent) >= ttl {
                continue 'again;
            }
            must(matches!(renewed, RenewOutcome::Renewed(t) if t.fence == fence), "Renewed", renewed)?;
        }
        return lease(&me, &sbx).map(drop);
    }
    Err(Stop::Harness("this machine is too slow for the harness' real_ttl; make it longer".to_owned()))
}

pub(super) fn no_step_of_the_wall_clock_counts(kit: &Kit<'_>, micros: i64) -> Check {
    let (me, peer) = (kit.open("me", Kit::SCENE)?, kit.open("peer", Kit::SCENE)?);
    let (sbx, stop) = (id("held"), id("teardown"));
    let (tenure, teardown) = (take(&me, &sbx)?, claim(&me, &stop, Intent::Destroy)?);
    kit.step_wall(micros);
    // Handles that are opened now know no other time than the wrong one.
    let late = kit.open("late", Kit::SCENE)?;
    for store in [&peer, &late] {
        for (sbx, fence) in [(&sbx, tenure.fence), (&stop, teardown.fence)] {
            let seen = lease(store, sbx)?;
            let as_it_was = seen.fence == Some(fence) && kit.is_about(seen.left, Kit::SCENE);
            must(as_it_was, &format!("{sbx} as it was"), seen)?;
        }
    }
    let sent = kit.now();
    let renewed = me.renew(&sbx)?;
    let (low, high) = (sent + Kit::SCENE, kit.now() + Kit::SCENE);
    let whole =
        |t: leasehold::Tenure| t.fence == tenure.fence && t.valid_until >= low && t.valid_until <= high;
    must(matches!(renewed, RenewOutcome::Renewed(t) if whole(t)), "Renewed for one TTL", renewed)?;
    let next = take(&late, &sbx)?;
    must(next.fence > tenure.fence, "a larger fence", (tenure, next))?;
    let Ok(clock) = kit.virtual_clock() else { return Ok(()) };
    clock.advance(Kit::SCENE);
    absent(&me, &sbx)?;
    absent(&me, &stop)
}

pub(super) fn a_reboot_voids_what_was_written_before(kit: &Kit<'_>) -> Check {
    let clock = kit.virtual_clock()?;
    let me = kit.open("me", Kit::TESTED)?;
    let (held, torn_down) = (id("held"), id("torn-down"));
    let before = take(&me, &held)?;
    let _ = claim(&me, &torn_down, Intent::Destroy)?;
    clock.advance(Duration::from_secs(5));
    clock.reboot();
    clock.advance(Duration::from_secs(1));
    let next = kit.open("next", Kit::SCENE)?;
    absent(&next, &held)?;
    absent(&next, &torn_down)?;
    must(next.list()?.leases.is_empty(), "an empty list", "leases of the last boot")?;
    let renewed = me.renew(&held)?;
    must(renewed == RenewOutcome::Lapsed, "Lapsed", renewed)?;
    let after = claim(&next, &held, Intent::Keep)?;
    must(after.fence > before.fence, "a larger fence than in the last boot", (before, after))
}

pub(super) fn another_live_kernels_record_is_unsafe(kit: &Kit<'_>) -> Check {
    let clock = kit.virtual_clock()?;
    let me = kit.open("me", Kit::TESTED)?;
    let sbx = id("sbx-1");
    let foreign = clock.foreign_kernel();
    let owner = leasehold::OwnerId::new("elsewhere").map_err(|e| Stop::Harness(e.to_string()))?;
    let ttl = Ttl::new(Kit::SCENE).map_err(|e| Stop::Harness(e.to_string()))?;
    let elsewhere = kit.namespace().open(owner, ttl, std::sync::Arc::new(foreign.clone()))?;
    let tenure = take(&elsewhere, &sbx)?;
    clock.advance(Duration::from_secs(600));
    for op in Op::ALL.into_iter().filter(|op| *op != Op::Discard) {
        let answer = op.ask(&me, &sbx);
        let refused = matches!(&answer, Err(error) if error.kind() == ErrorKind::Unsafe);
        must(refused, &format!("{op:?} is refused as unsafe"), answer)?;
    }
    match me.list() {
        Ok(listing) => {
            must(listing.leases.is_empty(), "no such lease in the list", &listing.leases)?;
            let said = listing.damaged.iter().any(|d| d.error.kind() == ErrorKind::Unsafe);
            must(said, "the list says what it could not judge", &listing)?;
        }
        Err(error) => must(error.kind() == ErrorKind::Unsafe, "unsafe", error)?,
    }
    let seen = lease(&elsewhere, &sbx)?;
    must(seen.fence == Some(tenure.fence) && seen.left == Kit::SCENE, "untouched where it was written", seen)
}

pub(super) fn ttls_round_trip(kit: &Kit<'_>) -> Check {
    for millis in [1, 2, 999, 1_001, 59_999, 3_600_001, Ttl::MAX.as_millis()] {
        let ttl = Duration::from_millis(millis);
        let me = kit.open("me", ttl)?;
        must(me.ttl().as_duration() == ttl, &format!("a TTL of {ttl:?}"), me.ttl())?;
        let sbx = id(&format!("sbx-{millis}"));
        let _ = take(&me, &sbx)?;
        match me.inspect(&sbx)? {
            Some(seen) => must(kit.is_about(seen.left, ttl), &format!("{ttl:?} left"), seen)?,
            None => must(kit.virtual_clock().is_err() && millis < 1_000, &format!("{ttl:?} left"), "absent")?,
        }
    }
    Ok(())
}

pub(super) fn what_is_no_ttl_is_refused_by_name(kit: &Kit<'_>) -> Check {
    for seconds in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e12, 0.0001] {
        let refused = kit.ttl(seconds)?;
        let named = refused.as_ref().err().is_some_and(|e| e.to_string().contains(&format!("{seconds}")));
        must(named, &format!("{seconds} s is refused by name"), refused)?;
    }
    Ok(())
}
