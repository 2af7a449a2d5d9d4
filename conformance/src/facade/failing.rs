//! O5, O6 and O7: panics, stores that hang for ever, and the end.

use std::sync::Arc;

use leasehold::{AsyncOwnershipStore, ErrorKind, OffloadConfig, RenewOutcome};

use super::scene::{calm, play, taken};
use super::stage::Act;
use super::{PATIENCE, SHORT, TRIES};
use crate::case::{Check, Stop, must};
use crate::kit::Kit;

/// A store that panics costs that call, and neither a worker nor anybody else's answer.
pub(crate) fn a_panic_costs_that_call_alone(kit: &Kit<'_>) -> Check {
    play(kit, OffloadConfig { workers: 1, ..calm() }, |scene| async move {
        let (bad, good) = (scene.id("bad"), scene.id("good"));
        scene.stage.set(&bad, Act::Panic);
        for _ in 0..2 {
            match scene.facade.take(&bad).await {
                Err(e) if e.kind() == ErrorKind::Panicked && e.id() == Some(&bad) => {}
                other => return Err(Stop::failed("Panicked, naming the sandbox", other)),
            }
            let renewal = scene.facade.renew(&bad).await;
            let panicked = matches!(&renewal, Err(e) if e.kind() == ErrorKind::Panicked);
            must(panicked, "Panicked in the lane of the renewals too", renewal)?;
        }
        let many = scene.facade.renew_many(vec![bad.clone(), good.clone()]).await;
        let all = many.iter().all(|one| matches!(one, Err(e) if e.kind() == ErrorKind::Panicked));
        must(all && many.len() == 2, "an error for each id of the batch", many)?;
        let fence = taken(&scene.facade, &good).await?;
        let renewed = scene.facade.renew(&good).await?;
        must(matches!(renewed, RenewOutcome::Renewed(_)), "others are answered", renewed)?;
        must(scene.facade.stats().panicked == 5, "five panics, counted", scene.facade.stats())?;
        scene.must_be_absent(&bad, "what panicked before its effect has none").await?;
        scene.must_hold(&good, fence, "others hold what they were told").await
    })
}

/// With every worker of a facade inside a store that says nothing, its callers wait without a thread, the runtime goes on
/// and another facade answers.
pub(crate) fn a_hung_store_stalls_nobody_else(kit: &Kit<'_>) -> Check {
    const CALLERS: usize = 200;
    play(kit, OffloadConfig { deadline: SHORT, ..calm() }, |scene| async move {
        scene.stage.set_all(Act::HoldBefore);
        // Until both workers and the spare hang, and nobody is left to serve this facade.
        for n in 0..TRIES {
            if scene.stage.seen().held == 3 {
                break;
            }
            let answer = scene.take(&format!("lost-{n}")).done().await;
            let timed_out = matches!(&answer, Err(e) if e.kind() == ErrorKind::Timeout);
            must(timed_out, "a call that hangs is a Timeout", answer)?;
        }
        scene.stage.until("every worker hangs", |seen| seen.held == 3).await?;
        let hung = Arc::new(scene.id("hung"));
        let callers: Vec<_> = (0..CALLERS)
            .map(|_| {
                let (facade, hung) = (Arc::clone(&scene.facade), Arc::clone(&hung));
                tokio::spawn(async move { facade.take(&hung).await })
            })
            .collect();
        // These have nothing to do with the deadline of those who wait: the store goes on hanging all the while.
        for n in 0..20 {
            taken(&scene.side, &scene.id(&format!("other-{n}"))).await?;
            tokio::spawn(tokio::task::yield_now())
                .await
                .map_err(|e| Stop::failed("a runtime that goes on", e))?;
        }
        must(scene.stage.seen().held == 3, "a store that hangs all the while", scene.stage.seen())?;
        for caller in callers {
            match caller.await {
                Ok(Err(e)) if e.kind() == ErrorKind::Timeout => {}
                other => return Err(Stop::failed("Timeout for everyone behind the hung store", other)),
            }
        }
        taken(&scene.side, &scene.id("last")).await.map(drop)
    })
}

/// Close waits for what runs and for what waits, refuses what comes, and may be asked again.
pub(crate) fn close_waits_and_refuses(kit: &Kit<'_>) -> Check {
    play(kit, OffloadConfig { workers: 1, ..calm() }, |scene| async move {
        let slow = scene.id("slow");
        scene.stage.set(&slow, Act::HoldBefore);
        let (mut running, mut waiting) = (scene.take("slow"), scene.take("next"));
        running.must_wait()?;
        waiting.must_wait()?;
        scene.stage.until("one runs", |seen| seen.held == 1).await?;
        let mut closing = scene.close(PATIENCE);
        closing.must_wait()?;
        let late = scene.facade.take(&scene.id("late")).await;
        let refused = matches!(&late, Err(e) if e.kind() == ErrorKind::Closed);
        must(refused, "Closed for whoever comes after", late)?;
        scene.stage.open();
        let report = closing.done().await;
        must(report.is_clean(), "a clean end", report)?;
        let _ = running.done().await?;
        let _ = waiting.done().await?;
        let seen = scene.stage.seen();
        let last = seen.calls.last().map(|call| call.operation);
        must(last == Some("close"), "the store is closed after everything else", last)?;
        must(scene.look(&slow).await?.is_some(), "leases stay", "none")?;
        let again = scene.facade.close(PATIENCE).await;
        must(again.is_clean(), "the same report when asked again", again)?;
        let closes = scene.stage.seen().calls.iter().filter(|call| call.operation == "close").count();
        must(closes == 1, "one close of the store", closes)
    })
}

/// Close gives up at its deadline and says how many it left inside and how many it refused.
pub(crate) fn close_reports_what_it_abandons(kit: &Kit<'_>) -> Check {
    play(kit, OffloadConfig { workers: 1, ..calm() }, |scene| async move {
        scene.stage.set(&scene.id("hung"), Act::HoldBefore);
        let (mut running, mut waiting) = (scene.take("hung"), scene.take("next"));
        running.must_wait()?;
        waiting.must_wait()?;
        scene.stage.until("one runs", |seen| seen.held == 1).await?;
        let report = scene.facade.close(SHORT).await;
        must((report.running, report.waiting) == (1, 1), "one abandoned, one refused", &report)?;
        must(!report.is_clean(), "an end that is not clean", &report)?;
        let refused = waiting.done().await;
        must(refused.is_err(), "an error for the one that waited", refused)?;
        must(!scene.stage.seen().has(&scene.id("next")), "what was refused is never called", "called")?;
        scene.stage.open();
        // What ran went on, and whoever still listens is told.
        running.done().await.map(drop).map_err(Stop::from)
    })
}
