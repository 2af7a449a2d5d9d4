//! O2, O3, O6: a store that hangs for ever.

use std::sync::Arc;
use std::time::Duration;

use leasehold::{AsyncOwnershipStore, Deadline, ErrorKind, OffloadConfig, Offloaded};

use crate::lanes::TakeOwned;
use crate::support::{Act, Polled, block_on, config, eventually, id, scripted};

#[test]
fn o2_a_worker_lost_to_a_hung_call_is_replaced_and_comes_back_to_a_taken_place() {
    let (store, script, _side) = scripted();
    let deadline = Duration::from_millis(30);
    let config = OffloadConfig { workers: 1, max_stuck: 1, deadline, ..config() };
    let most = config.max_threads();
    let facade = Offloaded::new(store, config).unwrap();
    script.set(&id("hung"), Act::WaitBefore);
    assert!(!block_on(facade.take_owned("hung")), "it times out");
    eventually("a spare serves the lane", || block_on(facade.take_owned("next")));
    assert_eq!((facade.stats().stuck, facade.stats().replaced), (1, 1));
    assert!(!block_on(facade.take_owned("hung")), "the spare hangs too");
    assert!(!block_on(facade.take_owned("next")), "and no further one is allowed");
    assert!(facade.stats().threads <= most);
    script.open();
    eventually("both come back", || facade.stats().stuck == 0 && facade.stats().running == 0);
    assert!(block_on(facade.take_owned("next")));
    eventually("the surplus one has left", || facade.stats().threads == 3);
}

#[test]
fn o6_ten_thousand_callers_behind_a_hung_store_all_get_their_timeout_and_nobody_else_notices() {
    let (hung, script, _side) = scripted();
    let (healthy, _, _) = scripted();
    let deadline = Duration::from_millis(300);
    let config = OffloadConfig { workers: 4, max_stuck: 2, deadline, ..config() };
    let most = config.max_threads();
    let hung = Arc::new(Offloaded::new(hung, config).unwrap());
    let healthy = Offloaded::new(healthy, OffloadConfig::default()).unwrap();
    script.set(&id("hung"), Act::WaitBefore);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        let callers: Vec<_> = (0..10_000)
            .map(|_| {
                let store = Arc::clone(&hung);
                tokio::spawn(async move {
                    let asked = Deadline::after(Duration::ZERO);
                    let error = store.take(&id("hung")).await.unwrap_err();
                    (error.kind(), asked.elapsed())
                })
            })
            .collect();
        // While they wait, the other facade and the renewals of this one answer.
        let mut answered = 0;
        while !callers.iter().all(tokio::task::JoinHandle::is_finished) {
            assert!(healthy.take_owned("x").await);
            assert!(hung.renew(&id("r")).await.is_ok());
            assert!(hung.stats().threads <= most, "{:?}", hung.stats());
            answered += 1;
            tokio::task::yield_now().await;
        }
        assert!(answered > 100, "they answered {answered} times in a third of a second");
        for caller in callers {
            let (kind, waited) = caller.await.unwrap();
            assert_eq!(kind, ErrorKind::Timeout);
            assert!(waited >= deadline, "nobody is told before time");
        }
    });
    script.open();
    drop(hung);
}

#[test]
fn a_call_polled_by_nobody_is_still_ended_by_the_watcher() {
    let (store, script, _side) = scripted();
    let config = OffloadConfig { workers: 1, deadline: Duration::from_millis(20), ..config() };
    let facade = Offloaded::new(store, config).unwrap();
    script.set(&id("hung"), Act::WaitBefore);
    let mut call = Polled::new(facade.take_owned("hung"));
    assert!(call.poll().is_pending());
    call.await_wake();
    assert_eq!(facade.stats().timed_out, 1);
    script.open();
}
