//! O3 and O4: deadlines, callers who left, and tenures that nobody is left to receive.

use std::fmt::Debug;
use std::sync::Arc;

use leasehold::{
    AsyncOwnershipStore, ErrorKind, Fence, Intent, OffloadConfig, Phase, Replaced, Stage as Stretch,
    StoreError,
};

use super::scene::{ByHand, Scene, calm, claimed, play, taken};
use super::stage::Act;
use super::{Call, SHORT, TRIES};
use crate::case::{Check, Stop, must};
use crate::kit::Kit;

/// Past its deadline a call is a Timeout that says it had begun, and the store finishes what it was asked.
pub(crate) fn past_its_deadline_a_call_is_a_timeout_and_goes_on(kit: &Kit<'_>) -> Check {
    play(kit, OffloadConfig { workers: 1, deadline: SHORT, ..calm() }, |scene| async move {
        let mine = scene.id("mine");
        let fence = taken(&scene.mine, &mine).await?;
        scene.stage.set(&mine, Act::HoldBefore);
        let timeout = begun_and_timed_out(|| scene.ask(Call::Release, &mine, fence)).await?;
        must(timeout.may_have_happened(), "an error that says the release may still happen", timeout)?;
        scene.stage.until("the release is held", |seen| seen.held == 1).await?;
        scene.must_hold(&mine, fence, "nothing was released yet").await?;
        scene.stage.open();
        scene.stage.until("the release goes on to its end", |seen| seen.inside == 0).await?;
        scene.must_be_absent(&mine, "what ran went on: the lease is released").await
    })
}

/// Asks until a call had begun by its deadline, and brings its Timeout. One that had not is never called, so that nothing comes
/// of asking again.
async fn begun_and_timed_out<T: Debug>(
    ask: impl Fn() -> ByHand<Result<T, StoreError>>,
) -> Result<StoreError, Stop> {
    for _ in 0..TRIES {
        match ask().done().await {
            Err(e) if e.kind() == ErrorKind::Timeout && e.stage() == Some(Stretch::Reply) => return Ok(e),
            Err(e) if e.kind() == ErrorKind::Timeout && e.stage() == Some(Stretch::Pool) => {}
            other => return Err(Stop::failed("Timeout of a call that is held", other)),
        }
    }
    Err(Stop::failed(format!("a call that begins within {SHORT:?}, in {TRIES} tries"), "none"))
}

/// A tenure that comes after its caller's deadline is released again.
pub(crate) fn a_tenure_that_comes_too_late_is_released(kit: &Kit<'_>) -> Check {
    play(kit, OffloadConfig { workers: 1, deadline: SHORT, ..calm() }, |scene| async move {
        let late = scene.id("late");
        scene.stage.set(&late, Act::HoldAfter);
        begun_and_timed_out(|| scene.take("late")).await?;
        scene.stage.until("the effect is there and its answer is not", |seen| seen.held == 1).await?;
        must(scene.look(&late).await?.is_some(), "the effect of the take", "none")?;
        scene.stage.open();
        scene.stage.until("the orphan is settled", |seen| !seen.orphans.is_empty()).await?;
        scene.must_be_absent(&late, "no lease without a holder").await
    })
}

/// What was dropped or timed out before it began is never called.
pub(crate) fn what_had_not_begun_is_never_called(kit: &Kit<'_>) -> Check {
    play(kit, OffloadConfig { workers: 1, ..calm() }, |scene| async move {
        drop(scene.take("never-polled"));
        scene.stage.set(&scene.id("first"), Act::HoldBefore);
        let mut first = scene.take("first");
        first.must_wait()?;
        scene.stage.until("the worker is held", |seen| seen.held == 1).await?;
        let mut dropped = scene.take("dropped");
        let mut next = scene.take("next");
        dropped.must_wait()?;
        next.must_wait()?;
        drop(dropped);
        scene.stage.open();
        let _ = first.done().await?;
        let _ = next.done().await?;
        let seen = scene.stage.seen();
        let called = |name: &str| seen.has(&scene.id(name));
        must(called("next"), "whoever still waits is served", &seen)?;
        must(!called("dropped") && !called("never-polled"), "whoever left is not asked for", &seen)
    })?;
    play(kit, OffloadConfig { workers: 1, max_stuck: 0, deadline: SHORT, ..calm() }, |scene| async move {
        scene.stage.set(&scene.id("first"), Act::HoldBefore);
        begun_and_timed_out(|| scene.take("first")).await?;
        scene.stage.until("the worker is held", |seen| seen.held == 1).await?;
        match scene.take("late").done().await {
            Err(e) if e.kind() == ErrorKind::Timeout && e.stage() == Some(Stretch::Pool) => {
                must(!e.may_have_happened(), "an error that says it never happened", e)?;
            }
            other => return Err(Stop::failed("Timeout, waiting for a worker", other)),
        }
        scene.stage.open();
        scene.stage.until("the worker is free again", |seen| seen.inside == 0).await?;
        must(
            !scene.stage.seen().has(&scene.id("late")),
            "what timed out before it began is never called",
            "called",
        )
    })
}

/// A tenure of mine that a lost call replaced or refreshed stays, and the hook is told.
pub(crate) fn what_replaced_mine_stays_and_is_told(kit: &Kit<'_>) -> Check {
    for call in [Call::Take, Call::Keep, Call::Destroy] {
        play(kit, calm(), move |scene| async move {
            let mine = scene.id(&format!("{call:?}").to_lowercase());
            let before = taken(&scene.mine, &mine).await?;
            scene.stage.set(&mine, Act::HoldAfter);
            let mut lost = scene.ask(call, &mine, before);
            lost.must_wait()?;
            scene.stage.until("the effect is there", |seen| seen.held == 1).await?;
            drop(lost);
            scene.stage.open();
            scene.stage.until("the hook is told", |seen| !seen.orphans.is_empty()).await?;
            let (orphan, released) = scene.stage.seen().orphans.swap_remove(0);
            let rightly = !released && orphan.replaced == Replaced::Mine(before) && orphan.id == mine;
            must(rightly, "an orphan that stays and replaced mine", &orphan)?;
            must(call != Call::Keep || orphan.tenure.fence == before, "a refresh keeps its fence", &orphan)?;
            let phase = if call == Call::Destroy { Phase::Teardown } else { Phase::Held };
            must(orphan.phase == phase, "the phase that was asked for", &orphan)?;
            scene.must_hold(&mine, orphan.tenure.fence, "what was mine before is not released").await
        })?;
    }
    Ok(())
}

/// Where a call stands when its future is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stand {
    /// It was never polled.
    Unasked,
    /// It waits for a worker.
    Waiting,
    /// The store has it, and nothing has happened yet.
    BeforeTheEffect,
    /// The effect is there, and the answer is not.
    AfterTheEffect,
    /// The answer is there, and nobody looked.
    Answered,
}

impl Stand {
    const ALL: [Self; 5] =
        [Self::Unasked, Self::Waiting, Self::BeforeTheEffect, Self::AfterTheEffect, Self::Answered];

    fn has_begun(self) -> bool {
        !matches!(self, Self::Unasked | Self::Waiting)
    }
}

/// Each operation dropped at each poll, wherever it stands by then: no lease without a holder remains, none that was held
/// before is lost, and no worker is.
pub(crate) fn dropped_at_every_poll(kit: &Kit<'_>) -> Check {
    let config = OffloadConfig { workers: 1, ..calm() };
    play(kit, config, |scene| async move {
        let mut n = 0;
        for call in Call::ALL.into_iter().filter(|call| *call != Call::Close) {
            for stand in Stand::ALL {
                // Polled once it is asked; every further poll finds it as it is, until the answer is there.
                let polls: &[usize] = if stand == Stand::Unasked { &[0] } else { &[1, 2, 3] };
                for &polls in polls {
                    if stand == Stand::Answered && polls > 1 {
                        continue;
                    }
                    n += 1;
                    let dropped = dropped_at(&scene, n, call, stand, polls).await;
                    dropped.map_err(|stop| told(stop, call, stand, polls))?;
                }
            }
        }
        Ok(())
    })
}

fn told(stop: Stop, call: Call, stand: Stand, polls: usize) -> Stop {
    match stop {
        Stop::Failed { expected, seen } => {
            let which = format!("{call} dropped {stand:?} after {polls} polls");
            Stop::Failed { expected: format!("{which}: {expected}"), seen }
        }
        other => other,
    }
}

async fn dropped_at(scene: &Arc<Scene>, n: usize, call: Call, stand: Stand, polls: usize) -> Check {
    let id = scene.id(&format!("drop-{n}"));
    // What is there before: nothing where the call may begin a tenure, mine where it is about one.
    let before = match call {
        Call::Take | Call::Keep | Call::Destroy => None,
        Call::Heartbeat => Some(claimed(&scene.mine, &id, Intent::Destroy).await?),
        _ => Some(taken(&scene.mine, &id).await?),
    };
    let stage = &scene.stage;
    stage.shut();
    let blocker = scene.id(&format!("blocker-{n}"));
    let known = scene.stage.seen().orphans.len();
    let mut held = None;
    if stand == Stand::Waiting {
        stage.set(&blocker, Act::HoldBefore);
        let kind = if call.is_renewal() { Call::Renew } else { Call::Inspect };
        let blocking = held.insert(scene.ask(kind, &blocker, Fence::MIN));
        blocking.must_wait()?;
        stage.until("the worker is held", |seen| seen.held == 1).await?;
    }
    let act = match stand {
        Stand::BeforeTheEffect => Some(Act::HoldBefore),
        Stand::AfterTheEffect => Some(Act::HoldAfter),
        Stand::Unasked | Stand::Waiting | Stand::Answered => None,
    };
    // A list is about no id, so whatever is asked now is meant.
    match act {
        Some(act) if call == Call::List => stage.set_all(act),
        Some(act) => stage.set(&id, act),
        None => {}
    }
    let mut lost = scene.ask(call, &id, before.unwrap_or(Fence::MIN));
    for _ in 0..polls {
        lost.must_wait()?;
        if act.is_some() {
            stage.until("the call is inside", |seen| seen.held == 1).await?;
        }
    }
    if stand == Stand::Answered {
        lost.woken().await?;
    }
    drop(lost);
    stage.open();
    if let Some(blocking) = held {
        blocking.done().await?;
    }
    stage.set_none();
    stage.until("nothing is inside", |seen| seen.inside == 0).await?;

    // No worker is lost: each lane answers. What was asked before them in their lane is over by then.
    let probe = scene.id(&format!("probe-{n}"));
    scene.facade.inspect(&probe).await?;
    let _ = scene.facade.renew(&probe).await?;
    match (call, stand.has_begun()) {
        (Call::Take | Call::Keep | Call::Destroy, true) => {
            stage.until("the orphan is settled", |seen| seen.orphans.len() > known).await?;
            let (orphan, released) = stage.seen().orphans.pop().expect("one was just seen");
            let rightly = released && orphan.replaced == Replaced::Nothing && orphan.id == id;
            must(rightly, "an orphan that replaced nothing and is released", (&orphan, released))?;
            scene.must_be_absent(&id, "no lease without a holder remains").await
        }
        (Call::Take | Call::Keep | Call::Destroy, false) => {
            scene.must_be_absent(&id, "what had not begun leaves nothing").await
        }
        (Call::Release | Call::ReleaseTenure | Call::Discard, true) => {
            scene.must_be_absent(&id, "what was begun is done").await
        }
        _ => scene.must_hold(&id, before.unwrap_or(Fence::MIN), "what was held before is not lost").await,
    }
}
