//! Take, renew, release, inspect and list beyond single cells of the table.

use std::collections::BTreeMap;
use std::time::Duration;

use leasehold::{Intent, Phase, ReleaseOutcome, RenewOutcome, Replaced, TakeOutcome};

use crate::case::{Check, Stop, must};
use crate::kit::{Kit, absent, claim, id, lease, take};

pub(super) fn the_peer_it_was_taken_from_has_lost_it(kit: &Kit<'_>) -> Check {
    let (me, peer) = (kit.open("me", Kit::SCENE)?, kit.open("peer", Kit::SCENE)?);
    let sbx = id("sbx-1");
    let theirs = take(&peer, &sbx)?;
    let mine = take(&me, &sbx)?;
    let renewed = peer.renew(&sbx)?;
    must(renewed == RenewOutcome::Lost, "Lost", renewed)?;
    let after = lease(&peer, &sbx)?;
    must(after.fence == Some(mine.fence) && after.owner == *me.owner(), "still mine", after)?;
    let late = peer.release_tenure(&sbx, theirs.fence)?;
    must(late == ReleaseOutcome::NotHeld, "NotHeld", late)
}

pub(super) fn what_it_replaced_is_said(kit: &Kit<'_>) -> Check {
    let (me, peer) = (kit.open("me", Kit::SCENE)?, kit.open("peer", kit.short())?);
    let sbx = id("sbx-1");
    let replaced = |expected: Replaced| match me.take(&sbx)? {
        TakeOutcome::Taken { replaced, .. } => must(replaced == expected, &format!("{expected:?}"), replaced),
        other => Err(Stop::failed("Taken", other)),
    };
    replaced(Replaced::Nothing)?;
    let fence = take(&me, &sbx)?.fence;
    replaced(Replaced::Mine(fence))?;
    let _ = take(&peer, &sbx)?;
    replaced(Replaced::Peer(peer.owner().clone()))?;
    let _ = take(&peer, &sbx)?;
    kit.pass(kit.short() + peer.quantum());
    replaced(Replaced::Nothing)
}

pub(super) fn renewing_never_shortens(kit: &Kit<'_>, again: Intent) -> Check {
    let (long, short) = (kit.open("me", Kit::TESTED)?, kit.open("me", Kit::SCENE)?);
    let sbx = id("sbx-1");
    let tenure = match again {
        Intent::Keep => take(&long, &sbx)?,
        _ => claim(&long, &sbx, Intent::Destroy)?,
    };
    let nudged = kit.nudge();
    if again == Intent::Keep {
        let renewed = short.renew(&sbx)?;
        must(matches!(renewed, RenewOutcome::Renewed(t) if t.fence == tenure.fence), "Renewed", renewed)?;
    }
    let claimed = claim(&short, &sbx, again)?;
    must(claimed.fence == tenure.fence, "the same fence", claimed)?;
    let left = lease(&short, &sbx)?.left;
    must(kit.is_about(left, Kit::TESTED - nudged), "the longer time stays", left)
}

pub(super) fn renewed_returns_the_tenure(kit: &Kit<'_>) -> Check {
    let me = kit.open("me", Kit::SCENE)?;
    let sbx = id("sbx-1");
    let tenure = take(&me, &sbx)?;
    for _ in 0..3 {
        kit.nudge();
        let sent = kit.now();
        let renewed = me.renew(&sbx)?;
        let RenewOutcome::Renewed(now) = renewed else { return Err(Stop::failed("Renewed", renewed)) };
        must(now.fence == tenure.fence, "the fence of the take", now)?;
        let (low, high) = (sent + Kit::SCENE, kit.now() + Kit::SCENE);
        must(now.valid_until >= low && now.valid_until <= high, "valid for one TTL from now", now)?;
        let left = lease(&me, &sbx)?.left;
        must(kit.is_about(left, Kit::SCENE), "a whole TTL left", left)?;
    }
    Ok(())
}

pub(super) fn released_is_absent_for_everyone_at_once(kit: &Kit<'_>) -> Check {
    let (me, peer) = (kit.open("me", Kit::SCENE)?, kit.open("peer", Kit::SCENE)?);
    let sbx = id("sbx-1");
    let _ = take(&me, &sbx)?;
    must(me.release(&sbx)? == ReleaseOutcome::Released, "Released", "NotHeld")?;
    absent(&me, &sbx)?;
    absent(&peer, &sbx)?;
    let _ = claim(&peer, &sbx, Intent::Keep)?;
    must(me.release(&sbx)? == ReleaseOutcome::NotHeld, "NotHeld once it is a peer's", "Released")?;
    must(lease(&me, &sbx)?.owner == *peer.owner(), "the peer's", "not")
}

pub(super) fn looking_changes_nothing(kit: &Kit<'_>) -> Check {
    let (me, peer) = (kit.open("me", Kit::SCENE)?, kit.open("peer", Kit::TESTED)?);
    let (sbx, nobodys) = (id("sbx-1"), id("nobodys"));
    let tenure = take(&me, &sbx)?;
    let stored = kit.stored()?;
    let mut passed = Duration::ZERO;
    for store in [&me, &peer, &me] {
        passed += kit.nudge();
        absent(store, &nobodys)?;
        let seen = lease(store, &sbx)?;
        must(seen.fence == Some(tenure.fence), "the fence of the take", &seen)?;
        must(kit.is_about(seen.left, Kit::SCENE - passed), "the time goes on running", seen)?;
        let _ = store.list()?;
    }
    let now = kit.stored()?;
    must(now == stored, &format!("as many records as before: {stored:?}"), now)
}

pub(super) fn a_look_says_owner_phase_fence_and_time(kit: &Kit<'_>, phase: Phase) -> Check {
    let (me, peer) = (kit.open("me", Kit::SCENE)?, kit.open("peer", Kit::SCENE)?);
    let sbx = id("sbx-1");
    let tenure = match phase {
        Phase::Held => take(&me, &sbx)?,
        Phase::Teardown => claim(&me, &sbx, Intent::Destroy)?,
    };
    for store in [&me, &peer] {
        let seen = lease(store, &sbx)?;
        must(seen.owner == *me.owner() && seen.phase == phase, &format!("mine, {phase}"), &seen)?;
        must(seen.fence == Some(tenure.fence), "the fence of the tenure", &seen)?;
        must(!seen.left.is_zero() && kit.is_about(seen.left, Kit::SCENE), "at most one TTL left", seen)?;
    }
    Ok(())
}

pub(super) fn a_foreign_lease_without_a_fence_is_a_peers(kit: &Kit<'_>) -> Check {
    let faults = kit.faults()?;
    let me = kit.open("me", Kit::TESTED)?;
    for phase in [Phase::Held, Phase::Teardown] {
        let sbx = id(&format!("sbx-{phase}"));
        faults.plant_foreign(&sbx, "somebody:else", phase, Kit::SCENE)?;
        let seen = lease(&me, &sbx)?;
        must(seen.fence.is_none() && seen.phase == phase, "no fence", &seen)?;
        must(seen.owner.as_str() == "somebody:else", "the foreign owner", &seen)?;
        let refused = me.claim(&sbx, Intent::Keep)?;
        must(refused == leasehold::ClaimOutcome::Refused, "Refused", refused)?;
        let renewed = me.renew(&sbx)?;
        must(renewed == RenewOutcome::Lost, "Lost", renewed)?;
        let taken = me.take(&sbx)?;
        let moved = matches!(taken, TakeOutcome::Taken { replaced: Replaced::Peer(_), .. });
        must(moved == (phase == Phase::Held), "taken if it was Held", taken)?;
    }
    Ok(())
}

pub(super) fn absent_is_none(kit: &Kit<'_>) -> Check {
    let me = kit.open("me", kit.short())?;
    let [never, released, ran_out] = ["never", "released", "ran-out"].map(id);
    absent(&me, &never)?;
    let _ = take(&me, &released)?;
    let _ = me.release(&released)?;
    absent(&me, &released)?;
    let _ = take(&me, &ran_out)?;
    kit.pass(kit.short() + me.quantum());
    absent(&me, &ran_out)
}

pub(super) fn list_has_every_live_lease_once(kit: &Kit<'_>) -> Check {
    let (me, peer) = (kit.open("me", Kit::SCENE)?, kit.open("peer", Kit::SCENE)?);
    let dying = kit.open("me", kit.short().min(Duration::from_secs(30)))?;
    let mut expected = BTreeMap::new();
    for n in 0..60 {
        let sbx = id(&format!("sbx-{n}"));
        let (store, phase) =
            (if n % 2 == 0 { &me } else { &peer }, if n % 3 == 0 { "held" } else { "teardown" });
        let tenure = if phase == "held" { take(store, &sbx)? } else { claim(store, &sbx, Intent::Destroy)? };
        expected.insert(sbx, (store.owner().clone(), phase.to_owned(), tenure.fence));
    }
    for n in 0..10 {
        let gone = id(&format!("gone-{n}"));
        let _ = take(&me, &gone)?;
        let _ = me.release(&gone)?;
        let _ = take(&dying, &id(&format!("dying-{n}")))?;
    }
    kit.pass(kit.short().min(Duration::from_secs(30)) + me.quantum());
    let listing = me.list()?;
    must(listing.damaged.is_empty(), "nothing damaged", &listing.damaged)?;
    let listed = listing.leases.len();
    let mut seen = BTreeMap::new();
    for (sbx, lease) in listing.leases {
        must(!lease.left.is_zero() && lease.left <= Kit::SCENE, "time left within the TTL", &lease)?;
        seen.insert(sbx, (lease.owner.clone(), lease.phase.to_string(), crate::kit::fence(&lease)?));
    }
    must(listed == seen.len(), "every lease once", listed)?;
    must(seen == expected, &format!("the {} live leases", expected.len()), seen)
}

pub(super) fn declared_reach_is_what_the_store_says(kit: &Kit<'_>) -> Check {
    let me = kit.open("me", Kit::SCENE)?;
    let declared = kit.capabilities().reach;
    must(me.reach() == declared, &format!("reach {declared}"), me.reach())?;
    let sbx = id("sbx-1");
    let tenure = take(&me, &sbx)?;
    let address = kit.address()?;
    if declared == leasehold::Reach::Process {
        return must(address.is_none(), "no address beyond the process", address);
    }
    let Some(address) = address else {
        return Err(Stop::Harness(format!("reach {declared} needs an address")));
    };
    let elsewhere = kit.at(&address)?;
    let peer = kit.open_in(&*elsewhere, "peer", Kit::SCENE)?;
    let seen = lease(&peer, &sbx)?;
    must(seen.fence == Some(tenure.fence), "the lease, as it is seen from its address", seen)
}
