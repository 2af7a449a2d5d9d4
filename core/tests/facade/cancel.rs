//! O3, O4: deadlines, dropped futures, and tenures that nobody is left to receive.

use std::sync::Arc;
use std::time::Duration;

use leasehold::{
    AsyncOwnershipStore, ClaimOutcome, ErrorKind, Fence, Intent, OffloadConfig, Offloaded, Orphan,
    OrphanFate, OrphanHook, OwnershipStore, Phase, Replaced, Stage,
};
use parking_lot::Mutex;
use rstest::rstest;

use crate::support::{Act, Polled, block_on, config, eventually, id, scripted};

/// Orphans, and whether each was released.
type Seen = Arc<Mutex<Vec<(Orphan, bool)>>>;

/// A hook that remembers.
fn remember() -> (OrphanHook, Seen) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&seen);
    let told = move |orphan: &Orphan, fate: &OrphanFate| {
        sink.lock().push((orphan.clone(), matches!(fate, OrphanFate::Released)));
    };
    (OrphanHook::new(told), seen)
}

#[derive(Clone, Copy, Debug)]
enum Ask {
    Take,
    Keep,
    Destroy,
}

async fn ask(facade: &Offloaded, how: Ask) -> Result<Fence, leasehold::StoreError> {
    let a = id("a");
    let claimed = |outcome| match outcome {
        ClaimOutcome::Claimed { tenure, .. } => tenure.fence,
        other => panic!("{other:?}"),
    };
    Ok(match how {
        Ask::Take => match facade.take(&a).await? {
            leasehold::TakeOutcome::Taken { tenure, .. } => tenure.fence,
            other => panic!("{other:?}"),
        },
        Ask::Keep => claimed(facade.claim(&a, Intent::Keep).await?),
        Ask::Destroy => claimed(facade.claim(&a, Intent::Destroy).await?),
    })
}

#[rstest]
fn o4_dropped_at_every_poll_no_lease_without_a_holder_remains(
    #[values(Ask::Take, Ask::Keep, Ask::Destroy)] how: Ask,
    #[values(0, 1, 2)] polls: usize,
    #[values(Act::WaitBefore, Act::WaitAfter)] act: Act,
) {
    let (store, script, side) = scripted();
    let (hook, seen) = remember();
    let facade = Offloaded::new(store, OffloadConfig { on_orphan: Some(hook), ..config() }).unwrap();
    script.set(&id("a"), act);
    let mut call = Polled::new(ask(&facade, how));
    for _ in 0..polls {
        assert!(call.poll().is_pending());
        script.await_inside(1);
    }
    drop(call);
    script.open();
    if polls == 0 {
        assert_eq!(script.calls(), 0, "never polled, never asked");
        return;
    }
    eventually("the orphan is settled", || !seen.lock().is_empty());
    assert_eq!(side.inspect(&id("a")).unwrap(), None);
    let (orphan, released) = seen.lock()[0].clone();
    assert!(released && orphan.replaced == Replaced::Nothing && orphan.id == id("a"));
    let phase = if matches!(how, Ask::Destroy) { Phase::Teardown } else { Phase::Held };
    assert_eq!(orphan.phase, phase);
    assert!(block_on(ask(&facade, how)).is_ok(), "no worker is lost");
}

#[rstest]
fn o4_an_answer_that_came_and_was_never_looked_at_is_an_orphan_too(
    #[values(Ask::Take, Ask::Keep, Ask::Destroy)] how: Ask,
) {
    let (store, _script, side) = scripted();
    let facade = Offloaded::new(store, config()).unwrap();
    let mut call = Polled::new(ask(&facade, how));
    assert!(call.poll().is_pending());
    call.await_wake();
    assert!(side.inspect(&id("a")).unwrap().is_some());
    drop(call);
    eventually("it is released", || side.inspect(&id("a")).unwrap().is_none());
    assert_eq!(facade.stats().orphaned, 1);
}

#[test]
fn o4_what_replaced_mine_or_refreshed_it_stays_and_goes_to_the_hook() {
    for how in [Ask::Take, Ask::Keep] {
        let (store, script, side) = scripted();
        let (hook, seen) = remember();
        let facade = Offloaded::new(store, OffloadConfig { on_orphan: Some(hook), ..config() }).unwrap();
        let before = block_on(ask(&facade, Ask::Take)).unwrap();
        script.set(&id("a"), Act::WaitAfter);
        let mut call = Polled::new(ask(&facade, how));
        assert!(call.poll().is_pending());
        script.await_inside(1);
        drop(call);
        script.open();
        eventually("the hook is told", || !seen.lock().is_empty());
        let (orphan, released) = seen.lock()[0].clone();
        assert!(!released);
        assert_eq!(orphan.replaced, Replaced::Mine(before));
        assert_eq!(side.inspect(&id("a")).unwrap().unwrap().fence, Some(orphan.tenure.fence));
    }
}

#[test]
fn o4_an_orphan_that_another_call_may_rely_on_stays() {
    let (store, script, side) = scripted();
    let (hook, seen) = remember();
    let facade = Offloaded::new(store, OffloadConfig { on_orphan: Some(hook), ..config() }).unwrap();
    script.set(&id("a"), Act::WaitAfter);
    let mut dropped = Polled::new(ask(&facade, Ask::Keep));
    assert!(dropped.poll().is_pending());
    script.await_inside(1);
    drop(dropped);
    // The effect is there and its answer on the way; a second call refreshes that very tenure and is told it holds.
    script.clear(&id("a"));
    let fence = block_on(ask(&facade, Ask::Keep)).unwrap();
    script.open();
    eventually("the hook is told", || !seen.lock().is_empty());
    assert_eq!(seen.lock()[0].0.tenure.fence, fence);
    assert_eq!(
        side.inspect(&id("a")).unwrap().unwrap().fence,
        Some(fence),
        "the second caller still holds it"
    );
}

#[test]
fn o3_past_the_deadline_the_caller_is_told_where_the_time_went_and_the_effect_is_an_orphan() {
    let (store, script, side) = scripted();
    let (hook, seen) = remember();
    let deadline = Duration::from_millis(30);
    let config = OffloadConfig { workers: 1, max_stuck: 0, deadline, on_orphan: Some(hook), ..config() };
    let facade = Offloaded::new(store, config).unwrap();
    script.set(&id("a"), Act::WaitBefore);
    let mut running = Polled::new(ask(&facade, Ask::Take));
    assert!(running.poll().is_pending());
    script.await_inside(1);
    let b = id("b");
    let waiting = block_on(facade.take(&b)).unwrap_err();
    assert_eq!((waiting.kind(), waiting.stage()), (ErrorKind::Timeout, Some(Stage::Pool)));
    assert!(!waiting.may_have_happened());
    let running = running.run().unwrap_err();
    assert_eq!((running.kind(), running.stage()), (ErrorKind::Timeout, Some(Stage::Reply)));
    assert!(running.may_have_happened());
    script.open();
    eventually("the orphan is settled", || !seen.lock().is_empty());
    assert_eq!(side.inspect(&id("a")).unwrap(), None);
    assert_eq!(side.inspect(&b).unwrap(), None, "what timed out before it began is never called");
    assert_eq!(facade.stats().timed_out, 2);
}

#[test]
fn dropped_releases_and_looks_leave_nothing_behind() {
    let (store, script, side) = scripted();
    let facade = Offloaded::new(store, config()).unwrap();
    block_on(ask(&facade, Ask::Take)).unwrap();
    script.set(&id("a"), Act::WaitBefore);
    let a = id("a");
    let mut looks = Polled::new(facade.inspect(&a));
    assert!(looks.poll().is_pending());
    let mut renews = Polled::new(facade.renew(&a));
    assert!(renews.poll().is_pending());
    script.await_inside(2);
    drop((looks, renews));
    script.open();
    assert!(block_on(facade.renew(&a)).is_ok());
    assert!(side.inspect(&a).unwrap().is_some(), "what was held before is not lost");
}
