//! The directory does not grow with ids that are gone.

use std::fs;
use std::sync::Barrier;
use std::time::Duration;

use leasehold::{Intent, OwnershipStore, RenewOutcome};

use crate::support::{LONG, Place, id, take};

#[test]
fn what_ran_out_is_swept_up_by_those_who_come() {
    let place = Place::new();
    let (store, stays) = (place.store_of("gw-1", 1_000, &place.clock), id("stays"));
    let keeper = place.store("keeper");
    take(&keeper, &stays);
    for round in 0..60 {
        for n in 0..20 {
            take(&store, &id(&format!("sbx-{round}-{n}")));
        }
        place.clock.advance(Duration::from_millis(1_000));
        assert!(place.records() <= 2 * 20 + 20, "round {round}: {} files", place.records());
    }
    assert!(matches!(keeper.renew(&stays).unwrap(), RenewOutcome::Renewed(_)), "a live lease was swept up");
}

#[test]
fn threads_that_come_at_once_sweep_as_much_as_one() {
    let place = Place::new();
    let store = place.store_of("gw-1", 1_000, &place.clock);
    let barrier = Barrier::new(4);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (place, store, barrier) = (&place, &store, &barrier);
            scope.spawn(move || {
                for round in 0..40 {
                    for n in 0..10 {
                        take(store, &id(&format!("sbx-{thread}-{round}-{n}")));
                    }
                    if barrier.wait().is_leader() {
                        place.clock.advance(Duration::from_millis(1_000));
                    }
                    barrier.wait();
                }
            });
        }
    });
    assert!(place.records() <= 4 * 40, "{} files of 40 live ones", place.records());
}

#[test]
fn leftovers_of_killed_processes_and_of_earlier_boots_go_and_damage_stays() {
    let place = Place::new();
    let store = place.store("gw-1");
    for n in 0..5 {
        take(&store, &id(&format!("old-{n}")));
    }
    place.clock.advance(Duration::from_secs(1));
    place.clock.reboot();
    for n in 0..5 {
        fs::write(place.record(&id(&format!("empty-{n}"))), "").unwrap();
    }
    fs::write(place.record(&id("torn")), "LHLD").unwrap();
    fs::write(place.dir().join("no id.lease"), "").unwrap();
    let after = place.store("gw-2");
    for n in 0..20 {
        take(&after, &id(&format!("new-{n}")));
    }
    assert_eq!(place.records(), 20 + 2);
    assert!(place.record(&id("torn")).exists());
}

#[test]
fn an_operation_that_writes_nothing_leaves_no_file() {
    let place = Place::new();
    let (store, sandbox) = (place.store("gw-1"), id("sbx"));
    let _ = store.renew(&sandbox).unwrap();
    let _ = store.release(&sandbox).unwrap();
    let _ = store.inspect(&sandbox).unwrap();
    let _ = store.discard(&sandbox, true).unwrap();
    let _ = store.claim(&sandbox, Intent::DestroyTenure(leasehold::Fence::MIN)).unwrap();
    assert_eq!(place.records(), 0);
    take(&store, &sandbox);
    assert_eq!(place.records(), 1);
    let _ = store.release(&sandbox).unwrap();
    assert_eq!(place.records(), 0);
}

#[test]
fn files_are_for_their_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    take(&place.store("gw-1"), &id("sbx"));
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&place.dir()), 0o700);
    assert_eq!(mode(&place.record(&id("sbx"))), 0o600);
    assert_eq!(mode(&place.mark()), 0o600);
}

#[test]
fn a_closed_store_holds_no_file_open() {
    let place = Place::new();
    let store = place.store_of("gw-1", LONG, &place.clock);
    take(&store, &id("sbx"));
    let held = || crate::waits::opened_beneath(&place.dir());
    assert!(held() <= 1, "more than the place in the directory is held open");
    store.close().unwrap();
    assert_eq!(held(), 0);
}
