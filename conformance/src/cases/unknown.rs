//! X: what can't be found out is an error, and nothing but an error.

use std::time::Duration;

use leasehold::{DiscardOutcome, ErrorKind, SandboxId};

use super::op::Op;
use crate::Outage;
use crate::case::{Check, Stop, must};
use crate::kit::{Kit, Store, absent, id, in_time, lease, take};

pub(super) fn no_answer_is_an_error_by_the_deadline(kit: &Kit<'_>, outage: Outage) -> Check {
    let me = kit.open("me", Kit::LONG)?;
    let (held, nobodys) = (id("held"), id("nobodys"));
    let fence = take(&me, &held)?.fence;
    kit.faults()?.through(outage, || {
        for op in Op::ALL {
            an_error_by_the_deadline(kit, &me, op, &held, outage)?;
        }
        for op in [Op::Take, Op::Keep, Op::Destroy, Op::Inspect] {
            an_error_by_the_deadline(kit, &me, op, &nobodys, outage)?;
        }
        an_error_by_the_deadline(kit, &me, Op::List, &held, outage)
    })??;
    // Some of what failed may have happened, but nobody asked for the tenure of anybody else.
    match me.inspect(&held)? {
        Some(seen) => {
            must(seen.owner == *me.owner() && seen.fence >= Some(fence), "mine, if anybody's", seen)
        }
        None => Ok(()),
    }
}

fn an_error_by_the_deadline(kit: &Kit<'_>, me: &Store, op: Op, sbx: &SandboxId, outage: Outage) -> Check {
    let what = format!("{op:?} of {sbx} while the server is {outage:?}");
    let error = match in_time(kit, &what, || op.ask(me, sbx))? {
        Ok(said) if is_true_all_the_same(op, &said, sbx, outage) => return Ok(()),
        Ok(said) => return Err(Stop::failed(format!("{what} is an error"), said)),
        Err(error) => error,
    };
    let blames = !matches!(error.kind(), ErrorKind::Closed | ErrorKind::Corrupt | ErrorKind::Invalid);
    must(blames, &format!("{what} blames the server"), &error)?;
    let says = error.kind() != ErrorKind::Timeout || error.stage().is_some();
    must(says, &format!("{what} says where the time went"), &error)
}

/// Whoever holds a lock keeps writers out, and not always those who only look: what they are told then has to be true.
fn is_true_all_the_same(op: Op, said: &str, sbx: &SandboxId, outage: Outage) -> bool {
    let held = sbx.as_str() == "held";
    outage == Outage::Hung
        && match op {
            Op::Inspect if held => said.contains("Held") && said.contains("me"),
            Op::Inspect => said == "None",
            Op::List => said.contains("held"),
            _ => false,
        }
}

pub(super) fn the_same_handle_works_again(kit: &Kit<'_>) -> Check {
    let faults = kit.faults()?;
    for &outage in faults.outages() {
        let me = kit.open("me", Kit::LONG)?;
        let sbx = id(&format!("sbx-{outage:?}"));
        let fence = take(&me, &sbx)?.fence;
        let failed = faults.through(outage, || me.renew(&sbx))?;
        must(failed.is_err(), "an error meanwhile", failed)?;
        let seen = lease(&me, &sbx)?;
        must(
            seen.fence == Some(fence),
            &format!("the lease as it was before the server was {outage:?}"),
            seen,
        )?;
        let renewed = me.renew(&sbx)?;
        must(matches!(renewed, leasehold::RenewOutcome::Renewed(_)), "Renewed", renewed)?;
    }
    Ok(())
}

pub(super) fn trying_again_converges(kit: &Kit<'_>) -> Check {
    let faults = kit.faults()?;
    for &outage in faults.outages() {
        let (me, peer) = (kit.open("me", Kit::LONG)?, kit.open("peer", Kit::LONG)?);
        let sbx = id(&format!("sbx-{outage:?}"));
        let failed = faults.through(outage, || me.take(&sbx))?;
        must(failed.is_err(), "an error meanwhile", &failed)?;
        let again = take(&me, &sbx)?;
        must(lease(&peer, &sbx)?.fence == Some(again.fence), "the lease of the second try", "another")?;
        // The first try may not come about now that somebody else has it.
        let theirs = take(&peer, &sbx)?;
        let _ = me.inspect(&sbx)?;
        let _ = me.renew(&sbx)?;
        let seen = lease(&me, &sbx)?;
        must(seen.fence == Some(theirs.fence), "the peer's, and for good", seen)?;
    }
    Ok(())
}

pub(super) fn damage_is_never_absence_and_never_overwritten(kit: &Kit<'_>) -> Check {
    let faults = kit.faults()?;
    for &how in faults.damages() {
        let (me, peer) = (kit.open("me", Kit::SCENE)?, kit.open("peer", Kit::SCENE)?);
        let sbx = id(&format!("sbx-{how:?}"));
        let _ = take(&me, &sbx)?;
        let _ = me.renew(&sbx)?;
        faults.damage(&sbx, how)?;
        let before = faults.raw(&sbx)?;
        for store in [&me, &peer] {
            for op in Op::ALL.into_iter().filter(|op| *op != Op::Discard) {
                let answer = op.ask(store, &sbx);
                let corrupt = matches!(&answer, Err(error) if error.kind() == ErrorKind::Corrupt);
                must(corrupt, &format!("{op:?} of a {how:?} record is Corrupt"), answer)?;
            }
        }
        must(faults.raw(&sbx)? == before, &format!("the {how:?} bytes as they were"), "changed")?;
    }
    Ok(())
}

pub(super) fn damage_is_listed_and_hides_nothing(kit: &Kit<'_>) -> Check {
    let faults = kit.faults()?;
    let me = kit.open("me", Kit::SCENE)?;
    let healthy = ["before", "zz-after"].map(id);
    for sbx in &healthy {
        let _ = take(&me, sbx)?;
    }
    let all = faults.damages();
    for &how in all {
        let sbx = id(&format!("sbx-{how:?}"));
        let _ = take(&me, &sbx)?;
        faults.damage(&sbx, how)?;
    }
    let listing = me.list()?;
    for sbx in &healthy {
        let there = listing.leases.iter().any(|(listed, _)| listed == sbx);
        must(there, &format!("{sbx} in the list"), &listing)?;
    }
    for &how in all {
        let sbx = id(&format!("sbx-{how:?}"));
        let damaged = listing.damaged.iter().any(|damaged| damaged.id.as_ref() == Some(&sbx));
        must(damaged, &format!("the {how:?} record among the damaged"), &listing.damaged)?;
        let live = listing.leases.iter().any(|(listed, _)| *listed == sbx);
        must(!live, &format!("the {how:?} record not among the leases"), &listing)?;
    }
    Ok(())
}

pub(super) fn discard_is_the_way_out_of_damage(kit: &Kit<'_>) -> Check {
    let faults = kit.faults()?;
    for &how in faults.damages() {
        let me = kit.open("me", Kit::SCENE)?;
        let sbx = id(&format!("sbx-{how:?}"));
        let before = take(&me, &sbx)?.fence;
        faults.damage(&sbx, how)?;
        // What can't be read can't be exceeded but by the clock that seeds fences, so that has to go on.
        kit.pass(Duration::from_millis(1));
        let discarded = me.discard(&sbx, false)?;
        must(discarded == DiscardOutcome::Discarded, &format!("the {how:?} record is discarded"), discarded)?;
        absent(&me, &sbx)?;
        let after = take(&me, &sbx)?.fence;
        must(after > before, &format!("above {before}"), after)?;
    }
    Ok(())
}

pub(super) fn discard_refuses_a_readable_lease(kit: &Kit<'_>) -> Check {
    let (me, peer) = (kit.open("me", Kit::SCENE)?, kit.open("peer", Kit::SCENE)?);
    let sbx = id("sbx-1");
    let nothing = me.discard(&sbx, true)?;
    must(nothing == DiscardOutcome::Absent, "Absent", nothing)?;
    let tenure = take(&peer, &sbx)?;
    for store in [&me, &peer] {
        let refused = store.discard(&sbx, false)?;
        let says = matches!(&refused, DiscardOutcome::Refused(lease) if lease.fence == Some(tenure.fence));
        must(says, "Refused, with the lease", &refused)?;
    }
    must(lease(&me, &sbx)?.fence == Some(tenure.fence), "the lease as it was", "changed")?;
    let forced = me.discard(&sbx, true)?;
    must(forced == DiscardOutcome::Discarded, "Discarded", forced)?;
    absent(&peer, &sbx)
}

pub(super) fn closed_is_closed(kit: &Kit<'_>) -> Check {
    let (me, peer) = (kit.open("me", Kit::SCENE)?, kit.open("peer", Kit::SCENE)?);
    let sbx = id("sbx-1");
    let tenure = take(&me, &sbx)?;
    me.close()?;
    me.close()?;
    for op in Op::ALL.into_iter().chain([Op::List]) {
        let answer = op.ask(&me, &sbx);
        let closed = matches!(&answer, Err(error) if error.kind() == ErrorKind::Closed);
        must(closed, &format!("{op:?} fails as Closed"), answer)?;
    }
    let seen = lease(&peer, &sbx)?;
    must(seen.fence == Some(tenure.fence), "the lease stays", seen)
}
