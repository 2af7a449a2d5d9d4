//! O2 and O9: how many run at once, in which order, and what waits for what.

use leasehold::{
    AsyncOwnershipStore, ErrorKind, Fence, Intent, OffloadConfig, RenewOutcome, Stage as Stretch,
};

use super::scene::{calm, claimed, eventually, play, taken};
use super::stage::Act;
use super::{Call, SHORT, TRIES};
use crate::case::{Check, Stop, must};
use crate::kit::Kit;

/// Callers who wait cost no thread: as many as there are workers run, and never more.
pub(crate) fn no_more_than_its_workers_run_at_once(kit: &Kit<'_>) -> Check {
    const CALLERS: usize = 50;
    let config = OffloadConfig { workers: 3, ..calm() };
    let threads = config.max_threads();
    play(kit, config, move |scene| async move {
        scene.stage.set_all(Act::HoldBefore);
        let mut calls: Vec<_> = (0..CALLERS).map(|n| scene.take(&format!("w-{n}"))).collect();
        calls.iter_mut().try_for_each(|call| call.must_wait())?;
        scene.stage.until("every worker is at work", |seen| seen.held == 3).await?;
        let stats = scene.facade.stats();
        must((stats.running, stats.waiting) == (3, CALLERS - 3), "three run and the others wait", stats)?;
        must(stats.threads <= threads, &format!("at most {threads} threads"), stats)?;
        scene.stage.open();
        for call in calls {
            let _ = call.done().await?;
        }
        let seen = scene.stage.seen();
        must(seen.most <= 3, "never more than three at once", seen.most)?;
        must(seen.calls.len() == CALLERS, "every caller was served once", seen.calls.len())
    })
}

/// A worker lost to a hung call is replaced, as often as `max_stuck` says and no more.
pub(crate) fn a_lost_worker_is_replaced_so_often_and_no_more(kit: &Kit<'_>) -> Check {
    let config = OffloadConfig { workers: 2, max_stuck: 1, deadline: SHORT, ..OffloadConfig::default() };
    let threads = config.max_threads();
    play(kit, config, move |scene| async move {
        scene.stage.set_all(Act::HoldBefore);
        // One after the other, each until its deadline; a machine that is slow to seat the spare needs one more.
        for n in 0..TRIES {
            if scene.stage.seen().held == 3 {
                break;
            }
            let answer = scene.take(&format!("hung-{n}")).done().await;
            must(is_timeout(&answer), "a call that hangs is a Timeout", answer)?;
        }
        scene.stage.until("two workers and the one spare are lost", |seen| seen.held == 3).await?;
        let answer = scene.take("too-many").done().await;
        let waited = matches!(&answer, Err(e) if e.stage() == Some(Stretch::Pool) && !e.may_have_happened());
        must(is_timeout(&answer) && waited, "a further call waits in vain and is never made", answer)?;
        let (seen, stats) = (scene.stage.seen(), scene.facade.stats());
        must(seen.most == 3 && !seen.has(&scene.id("too-many")), "three at once, and no more", seen)?;
        must((stats.stuck, stats.replaced) == (3, 1), "three are stuck, one was replaced", stats)?;
        must(stats.threads <= threads, &format!("at most {threads} threads"), stats)?;
        scene.stage.open();
        eventually("those that hung come back", || scene.facade.stats().stuck == 0).await?;
        // Two workers, one for the renewals, and the watcher.
        eventually("the surplus worker leaves", || scene.facade.stats().threads <= 4).await
    })
}

fn is_timeout<T>(answer: &Result<T, leasehold::StoreError>) -> bool {
    matches!(answer, Err(e) if e.kind() == ErrorKind::Timeout)
}

/// First come, first served.
pub(crate) fn those_who_wait_are_served_in_order(kit: &Kit<'_>) -> Check {
    const WAITING: usize = 30;
    play(kit, OffloadConfig { workers: 1, ..calm() }, |scene| async move {
        scene.stage.set(&scene.id("first"), Act::HoldBefore);
        let mut first = scene.take("first");
        first.must_wait()?;
        scene.stage.until("the first is inside", |seen| seen.held == 1).await?;
        let names: Vec<_> = (0..WAITING).map(|n| format!("w-{n}")).collect();
        let mut calls: Vec<_> = names.iter().map(|name| scene.take(name)).collect();
        calls.iter_mut().try_for_each(|call| call.must_wait())?;
        scene.stage.open();
        let _ = first.done().await?;
        for call in calls {
            let _ = call.done().await?;
        }
        let order: Vec<_> = scene.stage.seen().calls.into_iter().filter_map(|call| call.id).collect();
        let expected: Vec<_> = ["first".to_owned()].iter().chain(&names).map(|name| scene.id(name)).collect();
        must(order == expected, "the order in which they asked", order)
    })
}

/// While every worker is held and the queue is long, renewals and heartbeats are answered.
pub(crate) fn renewals_wait_for_nothing_else(kit: &Kit<'_>) -> Check {
    const WAITING: usize = 20;
    play(kit, calm(), |scene| async move {
        let (mine, stopped) = (scene.id("mine"), scene.id("stopped"));
        let held = taken(&scene.mine, &mine).await?;
        let destroying = claimed(&scene.mine, &stopped, Intent::Destroy).await?;
        let slow = scene.id("slow");
        scene.stage.set(&slow, Act::HoldBefore);
        let mut calls: Vec<_> = (0..WAITING).map(|_| scene.take("slow")).collect();
        calls.iter_mut().try_for_each(|call| call.must_wait())?;
        scene.stage.until("every worker is held", |seen| seen.held == 2).await?;

        match scene.facade.renew(&mine).await? {
            RenewOutcome::Renewed(tenure) if tenure.fence == held => {}
            other => return Err(Stop::failed("Renewed, while everything else waits", other)),
        }
        let many = scene.facade.renew_many(vec![mine.clone(), scene.id("nobodys")]).await;
        let answered = matches!(&many[..], [Ok(RenewOutcome::Renewed(_)), Ok(RenewOutcome::Lapsed)]);
        must(answered, "Renewed and Lapsed, while everything else waits", many)?;
        let beat = Call::Heartbeat.ask(&*scene.facade, &stopped, destroying).await?;
        must(beat == destroying, "a heartbeat of the same tenure, while everything else waits", beat)?;
        let stats = scene.facade.stats();
        must(stats.waiting == WAITING - 2, "the others wait all the while", stats)?;

        // The other way round: a renewal that is held delays nothing but renewals.
        scene.stage.open();
        for call in calls {
            let _ = call.done().await?;
        }
        Ok(())
    })?;
    play(kit, calm(), |scene| async move {
        let mine = scene.id("mine");
        scene.stage.set(&mine, Act::HoldBefore);
        let mut renewal = scene.ask(Call::Renew, &mine, Fence::MIN);
        renewal.must_wait()?;
        scene.stage.until("the renewal is held", |seen| seen.held == 1).await?;
        taken(&scene.facade, &scene.id("other")).await?;
        scene.stage.open();
        renewal.done().await.map(drop).map_err(Stop::from)
    })
}
