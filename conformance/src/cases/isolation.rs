//! S: ids and namespaces that share nothing, and storage that does not grow.

use leasehold::{Intent, ReleaseOutcome};

use crate::case::{Check, Stop, must};
use crate::kit::{Kit, Store, absent, claim, id, lease, take};

/// Holding `a` must say nothing about `b`.
fn apart(me: &Store, peer: &Store, a: &str, b: &str) -> Check {
    let (a, b) = (id(a), id(b));
    let tenure = take(me, &a)?;
    absent(peer, &b)?;
    let theirs = claim(peer, &b, Intent::Destroy)?;
    let seen = lease(peer, &a)?;
    must(
        seen.fence == Some(tenure.fence) && seen.owner == *me.owner(),
        &format!("{a} untouched by {b}"),
        seen,
    )?;
    must(peer.release_tenure(&b, theirs.fence)? == ReleaseOutcome::Released, "Released", "NotHeld")?;
    lease(peer, &a).map(drop)
}

pub(super) fn ids_are_apart(kit: &Kit<'_>) -> Check {
    let (me, peer) = (kit.open("me", Kit::SCENE)?, kit.open("peer", Kit::SCENE)?);
    let pairs = [
        ("sbx", "sbx-"),
        ("a.b", "a_b"),
        ("a-b", "a_b"),
        ("x", "x.lease"),
        ("sandbox-0001", "sandbox-0002"),
        ("fence-mark", "fence_mark"),
        ("0", "00"),
        ("a.", "a"),
    ];
    pairs.into_iter().try_for_each(|(a, b)| apart(&me, &peer, a, b))
}

pub(super) fn namespaces_are_apart(kit: &Kit<'_>) -> Check {
    let other = kit.fresh()?;
    let (here, there) = (kit.open("me", Kit::SCENE)?, kit.open_in(&*other, "peer", Kit::SCENE)?);
    let sbx = id("sbx-1");
    let tenure = take(&here, &sbx)?;
    absent(&there, &sbx)?;
    must(there.list()?.leases.is_empty(), "an empty list over there", "leases of another namespace")?;
    let _ = claim(&there, &sbx, Intent::Destroy)?;
    must(lease(&here, &sbx)?.fence == Some(tenure.fence), "untouched", "changed")
}

pub(super) fn letter_case_is_kept(kit: &Kit<'_>) -> Check {
    let (me, peer) = (kit.open("me", Kit::SCENE)?, kit.open("peer", Kit::SCENE)?);
    let pairs = [("sandbox", "Sandbox"), ("sBx-1", "sbX-1"), ("ABC", "abc"), ("Z", "z")];
    pairs.into_iter().try_for_each(|(a, b)| apart(&me, &peer, a, b))
}

pub(super) fn the_longest_ids_work(kit: &Kit<'_>) -> Check {
    let (me, peer) = (kit.open("me", Kit::SCENE)?, kit.open("peer", Kit::SCENE)?);
    let long = "X".repeat(128);
    let neighbour = format!("{}Y", "X".repeat(127));
    apart(&me, &peer, &long, &neighbour)?;
    apart(&me, &peer, &"Q".repeat(127), &"Q".repeat(128))?;
    let listed = me.list()?.leases.into_iter().any(|(sbx, _)| sbx == id(&long));
    must(listed, "the longest id in the list", listed)
}

pub(super) fn storage_does_not_grow_with_released_ids(kit: &Kit<'_>) -> Check {
    let me = kit.open("me", Kit::SCENE)?;
    let _ = take(&me, &id("stays"))?;
    let before = stored(kit)?;
    for n in 0..300 {
        let sbx = id(&format!("sbx-{n}"));
        let _ = take(&me, &sbx)?;
        let _ = me.release(&sbx)?;
    }
    let after = stored(kit)?;
    must(after <= before + 8, &format!("about the {before} records of before"), after)
}

pub(super) fn storage_does_not_grow_with_ids_that_ran_out(kit: &Kit<'_>) -> Check {
    let me = kit.open("me", kit.short())?;
    let _ = stored(kit)?;
    let rounds = if kit.virtual_clock().is_ok() { 16 } else { 8 };
    let mut most = 0;
    for round in 0..rounds {
        for n in 0..120 {
            let _ = take(&me, &id(&format!("sbx-{round}-{n}")))?;
        }
        most = most.max(stored(kit)?);
        kit.pass(kit.short() + me.quantum());
    }
    // Many small shards may each wait for a few records before they sweep; what may not be is growth round by round.
    let limit = 120 * 4 + 256;
    must(most <= limit, &format!("at most {limit} records for 120 live leases"), most)
}

fn stored(kit: &Kit<'_>) -> Result<u64, Stop> {
    kit.stored()?.ok_or_else(|| Stop::not_applicable("the harness can't count records"))
}
