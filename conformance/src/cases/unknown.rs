//! X: what can't be found out is an error, and nothing but an error.

use std::time::Duration;

use leasehold::{Deadline, DiscardOutcome, ErrorKind, Fence, Intent, StoreError};

use crate::case::{Check, Stop, must};
use crate::kit::{Kit, Store, absent, id, lease, take};
use crate::{Damage, Outage};

/// Every operation on one id, with its answer in words.
fn everything(store: &Store, text: &str) -> Vec<(&'static str, Result<String, StoreError>)> {
    let sbx = id(text);
    fn word<T: std::fmt::Debug>(answer: Result<T, StoreError>) -> Result<String, StoreError> {
        answer.map(|answer| format!("{answer:?}"))
    }
    vec![
        ("take", word(store.take(&sbx))),
        ("claim(Keep)", word(store.claim(&sbx, Intent::Keep))),
        ("claim(Destroy)", word(store.claim(&sbx, Intent::Destroy))),
        ("claim(DestroyTenure)", word(store.claim(&sbx, Intent::DestroyTenure(Fence::MIN)))),
        ("renew", word(store.renew(&sbx))),
        ("release", word(store.release(&sbx))),
        ("release_tenure", word(store.release_tenure(&sbx, Fence::MIN))),
        ("inspect", word(store.inspect(&sbx))),
        (
            "renew_many",
            store.renew_many(std::slice::from_ref(&sbx)).remove(0).map(|answer| format!("{answer:?}")),
        ),
    ]
}

/// As [`everything`], and a discard, which is an operator's way out and not an answer.
fn everything_and_discard(store: &Store, text: &str) -> Vec<(&'static str, Result<String, StoreError>)> {
    let discarded = store.discard(&id(text), false).map(|answer| format!("{answer:?}"));
    everything(store, text).into_iter().chain([("discard", discarded)]).collect()
}

fn outages(kit: &Kit<'_>) -> Result<&'static [Outage], Stop> {
    match kit.faults()?.outages() {
        [] => Err(Stop::not_applicable("the harness can't break its server")),
        some => Ok(some),
    }
}

pub(super) fn no_answer_is_an_error_by_the_deadline(kit: &Kit<'_>) -> Check {
    let faults = kit.faults()?;
    for &outage in outages(kit)? {
        let (text, me) = (format!("sbx-{outage:?}"), kit.open("me", Kit::SCENE)?);
        let _ = take(&me, &id(&text))?;
        faults.start_outage(outage)?;
        let checked = each_fails(kit, &me, outage, &text);
        faults.end_outage()?;
        checked?;
    }
    Ok(())
}

fn each_fails(kit: &Kit<'_>, me: &Store, outage: Outage, text: &str) -> Check {
    let allowed = kit.capabilities().deadline;
    let refused = |what: &str, answer: &Result<String, StoreError>| {
        let unknown = answer.as_ref().err().is_some_and(|e| e.kind() != ErrorKind::Closed);
        must(unknown, &format!("{what} is an error while the server is {outage:?}"), answer)
    };
    let started = Deadline::after(allowed);
    let answers = everything_and_discard(me, text);
    // Half a second each for a machine that has other things to do.
    let most = (allowed + Duration::from_millis(500)) * answers.len() as u32;
    must(
        started.elapsed() <= most,
        &format!("{} operations within {most:?}", answers.len()),
        started.elapsed(),
    )?;
    // Whoever holds the lock keeps writers out, and not always readers: a look that is answered has to be true.
    let true_look = |what: &str, answer: &Result<String, StoreError>| {
        let shown = answer.as_ref().is_ok_and(|shown| shown.contains("Held") && shown.contains("me"));
        outage == Outage::Hung && what == "inspect" && shown
    };
    let untrue = answers.iter().filter(|(what, answer)| !true_look(what, answer));
    untrue.into_iter().try_for_each(|(what, answer)| refused(what, answer))?;
    let listed = me.list().map(|listing| format!("{} leases", listing.leases.len()));
    if outage != Outage::Hung {
        refused("list", &listed)?;
    }
    Ok(())
}

pub(super) fn the_same_handle_works_again(kit: &Kit<'_>) -> Check {
    let faults = kit.faults()?;
    for &outage in outages(kit)? {
        let me = kit.open("me", Kit::SCENE)?;
        let sbx = id(&format!("sbx-{outage:?}"));
        let fence = take(&me, &sbx)?.fence;
        faults.start_outage(outage)?;
        let failed = me.renew(&sbx);
        faults.end_outage()?;
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
    for &outage in outages(kit)? {
        let (me, peer) = (kit.open("me", Kit::SCENE)?, kit.open("peer", Kit::SCENE)?);
        let sbx = id(&format!("sbx-{outage:?}"));
        faults.start_outage(outage)?;
        let failed = me.take(&sbx);
        faults.end_outage()?;
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

fn damages(kit: &Kit<'_>) -> Result<&'static [Damage], Stop> {
    match kit.faults()?.damages() {
        [] => Err(Stop::not_applicable("nothing can be damaged")),
        some => Ok(some),
    }
}

pub(super) fn damage_is_never_absence_and_never_overwritten(kit: &Kit<'_>) -> Check {
    let faults = kit.faults()?;
    for &how in damages(kit)? {
        let (me, peer) = (kit.open("me", Kit::SCENE)?, kit.open("peer", Kit::SCENE)?);
        let text = format!("sbx-{how:?}");
        let sbx = id(&text);
        let _ = take(&me, &sbx)?;
        let _ = me.renew(&sbx)?;
        faults.damage(&sbx, how)?;
        let before = faults.raw(&sbx)?;
        for store in [&me, &peer] {
            for (what, answer) in everything(store, &text) {
                let corrupt = matches!(&answer, Err(error) if error.kind() == ErrorKind::Corrupt);
                must(corrupt, &format!("{what} of a {how:?} record is Corrupt"), answer)?;
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
    let all = damages(kit)?;
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
    for &how in damages(kit)? {
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
    for (what, answer) in everything_and_discard(&me, "sbx-1") {
        let closed = matches!(&answer, Err(error) if error.kind() == ErrorKind::Closed);
        must(closed, &format!("{what} fails as Closed"), answer)?;
    }
    let listed = me.list();
    must(matches!(&listed, Err(e) if e.kind() == ErrorKind::Closed), "list fails as Closed", &listed)?;
    let seen = lease(&peer, &sbx)?;
    must(seen.fence == Some(tenure.fence), "the lease stays", seen)
}
