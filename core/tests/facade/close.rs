//! O7: the end.

use std::sync::Arc;
use std::time::Duration;

use leasehold::{AsyncOwnershipStore, ErrorKind, OffloadConfig, Offloaded};

use crate::lanes::TakeOwned;
use crate::support::{Act, PATIENCE, Polled, block_on, config, eventually, id, scripted};

#[test]
fn o7_close_waits_for_what_runs_and_waits_and_refuses_what_comes() {
    let (store, script, side) = scripted();
    let facade = Offloaded::new(store, OffloadConfig { workers: 1, ..config() }).unwrap();
    script.set(&id("slow"), Act::WaitBefore);
    let mut slow = Polled::new(facade.take_owned("slow"));
    let mut next = Polled::new(facade.take_owned("next"));
    assert!(slow.poll().is_pending() && next.poll().is_pending());
    script.await_inside(1);
    let mut closing = Polled::new(facade.close(PATIENCE));
    assert!(closing.poll().is_pending());
    let late = id("late");
    assert_eq!(block_on(facade.take(&late)).unwrap_err().kind(), ErrorKind::Closed);
    script.open();
    assert!(closing.run().is_clean());
    assert!(slow.run() && next.run());
    assert_eq!(script.order.lock().last(), Some(&id("close")), "the store is closed after everything else");
    assert!(leasehold::OwnershipStore::inspect(&side, &id("slow")).unwrap().is_some(), "leases stay");
    assert!(block_on(facade.close(Duration::ZERO)).is_clean(), "closing again says the same");
}

#[test]
fn o7_close_gives_up_at_its_deadline_and_says_what_it_abandoned() {
    let (store, script, _side) = scripted();
    let facade = Offloaded::new(store, OffloadConfig { workers: 1, ..config() }).unwrap();
    script.set(&id("hung"), Act::WaitBefore);
    let mut hung = Polled::new(facade.take_owned("hung"));
    let mut next = Polled::new(facade.take_owned("next"));
    assert!(hung.poll().is_pending() && next.poll().is_pending());
    script.await_inside(1);
    let report = block_on(facade.close(Duration::from_millis(30)));
    assert_eq!((report.running, report.waiting), (1, 1));
    assert!(!report.is_clean());
    assert!(!next.run(), "it was refused");
    script.open();
    assert!(hung.run());
}

#[test]
fn o7_a_store_that_hangs_in_its_own_close_is_reported() {
    let (store, script, _side) = scripted();
    let facade = Offloaded::new(store, config()).unwrap();
    script.set(&id("close"), Act::WaitBefore);
    let report = block_on(facade.close(Duration::from_millis(30)));
    assert_eq!(report.error.unwrap().kind(), ErrorKind::Timeout);
    script.open();
}

#[test]
fn a_store_that_panics_in_its_own_close_is_reported() {
    let (store, script, _side) = scripted();
    let facade = Offloaded::new(store, config()).unwrap();
    script.set(&id("close"), Act::Panic);
    let report = block_on(facade.close(PATIENCE));
    assert_eq!(report.error.unwrap().kind(), ErrorKind::Panicked);
}

#[test]
fn dropping_the_facade_ends_its_threads_and_drops_the_store_on_one_of_them() {
    let (store, script, _side) = scripted();
    let facade = Offloaded::new(store, config()).unwrap();
    assert!(block_on(facade.take_owned("a")));
    assert!(Arc::strong_count(&script) > 1);
    drop(facade);
    eventually("the store is gone", || Arc::strong_count(&script) == 1);
}

#[test]
fn settings_out_of_range_are_refused_by_name() {
    for (config, name) in [
        (OffloadConfig { workers: 0, ..config() }, "workers 0"),
        (OffloadConfig { deadline: Duration::ZERO, ..config() }, "deadline 0 ms"),
        (OffloadConfig { max_waiting: 0, ..config() }, "max_waiting 0"),
        (OffloadConfig { spin: Duration::from_secs(1), ..config() }, "spin 1000000 µs"),
    ] {
        let (store, ..) = scripted();
        let error = Offloaded::new(store, config).unwrap_err();
        assert!(error.kind() == ErrorKind::Invalid && error.to_string().contains(name), "{error}");
    }
}
