//! A: operations at the same time. Two threads meet at a barrier, and whatever the order, only some ends are allowed.

use std::collections::BTreeSet;
use std::sync::Barrier;
use std::thread;

use leasehold::{ClaimOutcome, Intent, RenewOutcome, SandboxId, StoreError, TakeOutcome};

use crate::case::{Check, Stop, must};
use crate::kit::{Kit, Store, id, lease, take};

/// How often each race is run.
const ROUNDS: usize = 60;

pub(super) fn one_claim_of_many_wins(kit: &Kit<'_>) -> Check {
    let stores = handles(kit, 8)?;
    for round in 0..ROUNDS {
        let sbx = id(&format!("sbx-{round}"));
        let outcomes = at_once(&stores, |store| store.claim(&sbx, Intent::Keep))?;
        let won = outcomes.iter().filter(|o| matches!(o, ClaimOutcome::Claimed { .. })).count();
        must(won == 1, "one of eight claims of an absent id wins", &outcomes)?;
    }
    Ok(())
}

pub(super) fn takes_follow_one_another(kit: &Kit<'_>) -> Check {
    let stores = handles(kit, 6)?;
    let sbx = id("sbx-1");
    let mut all = BTreeSet::new();
    for _ in 0..ROUNDS {
        let outcomes = at_once(&stores, |store| store.take(&sbx))?;
        let mut last = None;
        for (store, outcome) in stores.iter().zip(&outcomes) {
            let TakeOutcome::Taken { tenure, .. } = outcome else {
                return Err(Stop::failed("Taken", outcome));
            };
            must(all.insert(tenure.fence), "a fence of its own for every take", &outcomes)?;
            last = last.max(Some((tenure.fence, store.owner().clone())));
        }
        let seen = lease(&stores[0], &sbx)?;
        let newest = last.map(|(fence, owner)| (Some(fence), owner));
        must(newest == Some((seen.fence, seen.owner.clone())), "the lease of the newest take", seen)?;
    }
    Ok(())
}

/// What races a take, and what its answer may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Against {
    Keep,
    Release,
    ReleaseTenure,
    Renew,
    DestroyTenure,
    Discard,
}

pub(super) fn a_take_against(kit: &Kit<'_>, what: Against) -> Check {
    let (me, peer) = (kit.open("me", Kit::SCENE)?, kit.open("peer", Kit::SCENE)?);
    for round in 0..ROUNDS * 3 {
        let sbx = id(&format!("sbx-{round}"));
        let tenure = if what == Against::Keep { None } else { Some(take(&me, &sbx)?) };
        let fence = tenure.map_or(leasehold::Fence::MIN, |tenure| tenure.fence);
        let barrier = Barrier::new(2);
        let (mine, theirs) = thread::scope(|scope| {
            let mine = scope.spawn(|| {
                barrier.wait();
                run(&me, &sbx, what, fence)
            });
            barrier.wait();
            let theirs = peer.take(&sbx);
            (mine.join(), theirs)
        });
        let mine = mine.map_err(|_| Stop::failed("an answer", "a panic"))??;
        let theirs = theirs?;
        let seen = peer.inspect(&sbx)?;
        let context = format!("{what:?} → {mine} beside take → {theirs:?}");
        match &theirs {
            TakeOutcome::Taken { tenure, .. } => {
                let refused = !(what == Against::DestroyTenure && mine == "Claimed");
                must(refused, "not both Taken and Claimed for a stop", &context)?;
                let discarded = what == Against::Discard && mine == "Discarded" && seen.is_none();
                let held = seen
                    .as_ref()
                    .is_some_and(|lease| lease.fence == Some(tenure.fence) && lease.owner == *peer.owner());
                must(held || discarded, "what was taken is there", (context, seen))?;
            }
            TakeOutcome::BeingDestroyed => {
                let destroyed = what == Against::DestroyTenure && mine == "Claimed";
                must(destroyed, "turned away by a stop that was claimed", &context)?;
                must(seen.is_some_and(|lease| lease.owner == *me.owner()), "the stop's marker", context)?;
            }
        }
    }
    Ok(())
}

fn run(me: &Store, sbx: &SandboxId, what: Against, fence: leasehold::Fence) -> Result<String, StoreError> {
    let word = |answer: String| answer.split([' ', '(']).next().unwrap_or_default().to_owned();
    Ok(word(match what {
        Against::Keep => format!("{:?}", me.claim(sbx, Intent::Keep)?),
        Against::Release => format!("{:?}", me.release(sbx)?),
        Against::ReleaseTenure => format!("{:?}", me.release_tenure(sbx, fence)?),
        Against::Renew => format!("{:?}", me.renew(sbx)?),
        Against::DestroyTenure => format!("{:?}", me.claim(sbx, Intent::DestroyTenure(fence))?),
        Against::Discard => format!("{:?}", me.discard(sbx, true)?),
    }))
}

pub(super) fn batches_beside_takes_answer_truly(kit: &Kit<'_>) -> Check {
    let (me, peer) = (kit.open("me", Kit::SCENE)?, kit.open("peer", Kit::SCENE)?);
    let ids: Vec<_> = (0..40).map(|n| id(&format!("sbx-{n}"))).collect();
    for _ in 0..10 {
        let mut fences = Vec::new();
        for sbx in &ids {
            fences.push(take(&me, sbx)?.fence);
        }
        let barrier = Barrier::new(2);
        let outcomes = thread::scope(|scope| {
            let renewing = scope.spawn(|| {
                barrier.wait();
                me.renew_many(&ids)
            });
            barrier.wait();
            for sbx in ids.iter().step_by(2) {
                let _ = take(&peer, sbx)?;
            }
            renewing.join().map_err(|_| Stop::failed("an answer", "a panic"))
        })?;
        for (n, outcome) in outcomes.into_iter().enumerate() {
            let answer = outcome?;
            let renewed = matches!(answer, RenewOutcome::Renewed(t) if t.fence == fences[n]);
            let lost = answer == RenewOutcome::Lost && n % 2 == 0;
            must(renewed || lost, "Renewed with its own fence, or Lost to the peer", (n, answer))?;
        }
        for sbx in ids.iter().step_by(2) {
            must(lease(&me, sbx)?.owner == *peer.owner(), "what was taken is the peer's", sbx)?;
        }
    }
    Ok(())
}

fn handles(kit: &Kit<'_>, count: usize) -> Result<Vec<Store>, Stop> {
    (0..count).map(|n| kit.open(&format!("owner-{n}"), Kit::SCENE)).collect()
}

fn at_once<T: Send>(
    stores: &[Store],
    ask: impl Fn(&Store) -> Result<T, StoreError> + Sync,
) -> Result<Vec<T>, Stop> {
    let barrier = Barrier::new(stores.len());
    thread::scope(|scope| {
        let racing: Vec<_> = stores
            .iter()
            .map(|store| {
                scope.spawn(|| {
                    barrier.wait();
                    ask(store)
                })
            })
            .collect();
        racing
            .into_iter()
            .map(|one| one.join().map_err(|_| Stop::failed("an answer", "a panic"))?.map_err(Stop::from))
            .collect()
    })
}
