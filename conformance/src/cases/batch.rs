//! B: many renewals at once.

use leasehold::{ErrorKind, Intent, RenewOutcome, SandboxId};

use crate::case::{Check, Stop, must};
use crate::kit::{Kit, Store, claim, id, in_time, lease, take};

/// Ids of every kind, mixed, with what renewing each must say.
fn mixed(me: &Store, peer: &Store, count: usize) -> Result<Vec<(SandboxId, &'static str)>, Stop> {
    (0..count)
        .map(|n| {
            let sbx = id(&format!("{}-{n}", ["zz", "mm", "aa"][n % 3]));
            let says = match n % 5 {
                0 | 1 => take(me, &sbx).map(|_| "Renewed")?,
                2 => "Lapsed",
                3 => take(peer, &sbx).map(|_| "Lost")?,
                _ => claim(me, &sbx, Intent::Destroy).map(|_| "Lost")?,
            };
            Ok((sbx, says))
        })
        .collect()
}

fn word(outcome: &Result<RenewOutcome, leasehold::StoreError>) -> &'static str {
    match outcome {
        Ok(RenewOutcome::Renewed(_)) => "Renewed",
        Ok(RenewOutcome::Lapsed) => "Lapsed",
        Ok(RenewOutcome::Lost) => "Lost",
        Err(error) if error.kind() == ErrorKind::Corrupt => "Corrupt",
        Err(_) => "Err",
    }
}

pub(super) fn the_same_as_one_by_one_in_order(kit: &Kit<'_>) -> Check {
    let (scene, peer) = (kit.open("me", Kit::SCENE)?, kit.open("peer", Kit::SCENE)?);
    let me = kit.open("me", Kit::TESTED)?;
    let mixed = mixed(&scene, &peer, 700)?;
    kit.nudge();
    let ids: Vec<_> = mixed.iter().map(|(sbx, _)| sbx.clone()).collect();
    let outcomes = me.renew_many(&ids);
    must(outcomes.len() == ids.len(), &format!("{} outcomes", ids.len()), outcomes.len())?;
    for ((sbx, says), outcome) in mixed.iter().zip(&outcomes) {
        must(word(outcome) == *says, &format!("{says} of {sbx}"), outcome)?;
        if let Ok(RenewOutcome::Renewed(tenure)) = outcome {
            let seen = lease(&peer, sbx)?;
            must(seen.fence == Some(tenure.fence), &format!("the fence of {sbx}"), (tenure, &seen))?;
            must(kit.is_about(seen.left, Kit::TESTED), &format!("{sbx} refreshed"), seen)?;
        }
    }
    must(me.renew_many(&[]).is_empty(), "nothing for nothing", "something")
}

pub(super) fn the_same_id_twice_is_answered_twice(kit: &Kit<'_>) -> Check {
    let me = kit.open("me", Kit::SCENE)?;
    let (held, free) = (id("held"), id("free"));
    let fence = take(&me, &held)?.fence;
    let outcomes = me.renew_many(&[held.clone(), free, held]);
    let renewed = |outcome| matches!(outcome, &Ok(RenewOutcome::Renewed(t)) if t.fence == fence);
    let [first, second, third] = &outcomes[..] else { return Err(Stop::failed("three outcomes", outcomes)) };
    must(renewed(first) && word(second) == "Lapsed" && renewed(third), "Renewed, Lapsed, Renewed", &outcomes)
}

pub(super) fn one_damaged_id_fails_no_other(kit: &Kit<'_>) -> Check {
    let faults = kit.faults()?;
    for &how in faults.damages() {
        let me = kit.open("me", Kit::SCENE)?;
        let ids: Vec<_> = (0..9).map(|n| id(&format!("{how:?}-{n}"))).collect();
        for sbx in &ids {
            let _ = take(&me, sbx)?;
        }
        faults.damage(&ids[4], how)?;
        let outcomes = me.renew_many(&ids);
        must(outcomes.len() == ids.len(), "nine outcomes", outcomes.len())?;
        for (n, outcome) in outcomes.iter().enumerate() {
            let expected = if n == 4 { "Corrupt" } else { "Renewed" };
            must(word(outcome) == expected, &format!("{expected} of {}", ids[n]), outcome)?;
        }
    }
    Ok(())
}

pub(super) fn an_outage_is_an_error_of_each(kit: &Kit<'_>) -> Check {
    let faults = kit.faults()?;
    for &outage in faults.outages() {
        let me = kit.open("me", Kit::LONG)?;
        let ids: Vec<_> = (0..9).map(|n| id(&format!("{outage:?}-{n}"))).collect();
        let mut fences = Vec::new();
        for sbx in &ids {
            fences.push(take(&me, sbx)?.fence);
        }
        let outcomes = faults.through(outage, || {
            in_time(kit, &format!("renew_many while the server is {outage:?}"), || me.renew_many(&ids))
        })??;
        must(outcomes.len() == ids.len(), "nine outcomes", outcomes.len())?;
        let certain = outcomes.iter().position(Result::is_ok);
        must(certain.is_none(), &format!("no outcome while the server is {outage:?}"), &outcomes)?;
        for (sbx, fence) in ids.iter().zip(fences) {
            let seen = lease(&me, sbx)?;
            must(seen.fence == Some(fence), &format!("{sbx} as it was"), seen)?;
        }
    }
    Ok(())
}

pub(super) fn lost_and_lapsed_fail_no_other(kit: &Kit<'_>) -> Check {
    let (me, peer) = (kit.open("me", Kit::SCENE)?, kit.open("peer", Kit::SCENE)?);
    let mixed = mixed(&me, &peer, 25)?;
    let ids: Vec<_> = mixed.iter().rev().map(|(sbx, _)| sbx.clone()).collect();
    let outcomes = me.renew_many(&ids);
    for ((sbx, says), outcome) in mixed.iter().rev().zip(&outcomes) {
        must(word(outcome) == *says, &format!("{says} of {sbx}"), outcome)?;
    }
    Ok(())
}
