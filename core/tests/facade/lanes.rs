//! O1, O2, O5, O9: who runs what, in which order, and what a panic costs.

use std::sync::atomic::Ordering;

use leasehold::{AsyncOwnershipStore, ErrorKind, Intent, OffloadConfig, Offloaded, RenewOutcome, Stage};

use crate::support::{Act, Polled, block_on, config, id, scripted};

#[test]
fn o1_no_operation_runs_on_the_thread_that_polls() {
    let (store, script, _side) = scripted();
    let facade = Offloaded::new(store, config()).unwrap();
    block_on(async {
        let a = id("a");
        let _ = facade.take(&a).await.unwrap();
        let _ = facade.claim(&a, Intent::Keep).await.unwrap();
        let _ = facade.renew(&a).await.unwrap();
        let _ = facade.renew_many(vec![a.clone(), id("b")]).await;
        let _ = facade.inspect(&a).await.unwrap();
        let _ = facade.list().await.unwrap();
        let _ = facade.release(&a).await.unwrap();
        let _ = facade.discard(&a, true).await.unwrap();
    });
    let threads = script.threads.lock().clone();
    assert_eq!(threads.len(), 9, "every operation reached the store, the batch one by one");
    assert!(!threads.contains(&std::thread::current().id()));
}

#[test]
fn o2_no_more_than_the_workers_run_at_once_and_those_who_wait_are_served_in_order() {
    let (store, script, _side) = scripted();
    let facade = Offloaded::new(store, OffloadConfig { workers: 1, ..config() }).unwrap();
    script.set(&id("first"), Act::WaitBefore);
    let mut first = Polled::new(facade.take_owned("first"));
    assert!(first.poll().is_pending());
    script.await_inside(1);
    let mut waiting: Vec<_> = (0..100).map(|n| Polled::new(facade.take_owned(format!("w-{n}")))).collect();
    waiting.iter_mut().for_each(|call| assert!(call.poll().is_pending()));
    assert_eq!((facade.stats().running, facade.stats().waiting, script.calls()), (1, 100, 1));
    script.open();
    assert!(first.run());
    assert!(waiting.into_iter().all(Polled::run));
    let order: Vec<_> = script.order.lock().iter().map(ToString::to_string).collect();
    let expected: Vec<_> =
        ["first".to_owned()].into_iter().chain((0..100).map(|n| format!("w-{n}"))).collect();
    assert_eq!(order, expected);
}

#[test]
fn o2_a_full_queue_refuses_at_once_and_callers_that_left_take_up_no_room() {
    let (store, script, _side) = scripted();
    let config = OffloadConfig { workers: 1, max_waiting: 2, ..config() };
    let facade = Offloaded::new(store, config).unwrap();
    script.set(&id("first"), Act::WaitBefore);
    let mut first = Polled::new(facade.take_owned("first"));
    assert!(first.poll().is_pending());
    script.await_inside(1);
    let mut waiting: Vec<_> = (0..2).map(|n| Polled::new(facade.take_owned(format!("w-{n}")))).collect();
    waiting.iter_mut().for_each(|call| assert!(call.poll().is_pending()));

    let c = id("c");
    let error = block_on(facade.take(&c)).unwrap_err();
    assert_eq!((error.kind(), error.stage()), (ErrorKind::Unavailable, Some(Stage::Pool)));
    assert!(!error.may_have_happened());

    drop(waiting.pop());
    let mut third = Polled::new(facade.take_owned("w-2"));
    assert!(third.poll().is_pending(), "the room of the one who left is free");
    script.open();
    assert!(first.run() && third.run());
    assert!(!script.order.lock().contains(&id("w-1")), "whoever left before it began is never called");
}

#[test]
fn o5_a_panic_is_an_error_of_that_call_alone() {
    let (store, script, _side) = scripted();
    let facade = Offloaded::new(store, OffloadConfig { workers: 1, ..config() }).unwrap();
    script.set(&id("bad"), Act::Panic);
    let bad = id("bad");
    for _ in 0..3 {
        let error = block_on(facade.take(&bad)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Panicked);
        assert!(error.to_string().contains("as told") && error.id() == Some(&bad), "{error}");
    }
    assert!(block_on(facade.take_owned("good")));
    assert_eq!(facade.stats().panicked, 3);
    let outcomes = block_on(facade.renew_many(vec![id("good"), bad]));
    assert!(outcomes.iter().all(|o| o.as_ref().unwrap_err().kind() == ErrorKind::Panicked));
    assert!(matches!(block_on(facade.renew(&id("good"))), Ok(RenewOutcome::Renewed(_))));
}

#[test]
fn o9_renewals_are_not_behind_anything_else() {
    let (store, script, _side) = scripted();
    let facade = Offloaded::new(store, config()).unwrap();
    let tenure = match block_on(facade.claim(&id("mine"), Intent::Destroy)).unwrap() {
        leasehold::ClaimOutcome::Claimed { tenure, .. } => tenure,
        other => panic!("{other:?}"),
    };
    script.set(&id("slow"), Act::WaitBefore);
    let mut slow: Vec<_> = (0..50).map(|_| Polled::new(facade.take_owned("slow"))).collect();
    slow.iter_mut().for_each(|call| assert!(call.poll().is_pending()));
    script.await_inside(2);
    // Every ordinary worker is busy and 48 calls wait, and yet these are answered.
    assert_eq!(block_on(facade.renew(&id("nobodys"))).unwrap(), RenewOutcome::Lapsed);
    let beat = block_on(facade.heartbeat(&id("mine"), tenure.fence)).unwrap();
    assert!(matches!(beat, leasehold::ClaimOutcome::Claimed { .. }));
    assert_eq!(script.calls.load(Ordering::SeqCst), 1 + 2 + 2);
    script.open();
    assert!(slow.into_iter().all(Polled::run));
}

/// A take with an id of its own, so that many can be kept in one list.
pub(crate) trait TakeOwned {
    fn take_owned(&self, id: impl Into<String> + Send) -> impl Future<Output = bool> + Send;
}

impl TakeOwned for Offloaded {
    fn take_owned(&self, text: impl Into<String> + Send) -> impl Future<Output = bool> + Send {
        let id = id(&text.into());
        async move { matches!(self.take(&id).await, Ok(leasehold::TakeOutcome::Taken { .. })) }
    }
}
