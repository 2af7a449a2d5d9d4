use std::sync::mpsc;
use std::time::Duration;

use leasehold::{ErrorKind, Intent, Stage};

use crate::support::{Place, id, is_renewed, take};

#[test]
fn a_lock_that_is_held_makes_every_write_time_out_and_is_survived() {
    let place = Place::new();
    let store = place.open_with("gw-1", "?deadline_ms=60").unwrap();
    let sandbox = id("sbx-1");
    take(&*store, &sandbox);
    let other = place.sql();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let errors = [
        store.take(&sandbox).unwrap_err(),
        store.claim(&sandbox, Intent::Keep).unwrap_err(),
        store.renew(&sandbox).unwrap_err(),
        store.renew_many(std::slice::from_ref(&sandbox)).remove(0).unwrap_err(),
        store.release(&sandbox).unwrap_err(),
        store.discard(&sandbox, true).unwrap_err(),
    ];
    for error in errors {
        assert_eq!((error.kind(), error.stage()), (ErrorKind::Timeout, Some(Stage::Lock)), "{error}");
        assert!(!error.may_have_happened());
        assert!(error.to_string().contains(place.path().to_str().unwrap()), "{error}");
    }
    // A look needs no lock, and what it says is true: nobody can have changed it meanwhile.
    assert!(store.inspect(&sandbox).unwrap().is_some());
    assert_eq!(store.list().unwrap().leases.len(), 1);
    other.execute_batch("ROLLBACK").unwrap();
    assert!(is_renewed(&store.renew(&sandbox)));
}

#[test]
fn the_first_open_is_bounded_too() {
    let place = Place::new();
    let other = place.sql();
    other.execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; CREATE TABLE t (x)").unwrap();
    let error = place.open_with("gw-1", "?deadline_ms=60").err().unwrap();
    assert_eq!((error.kind(), error.stage()), (ErrorKind::Timeout, Some(Stage::Lock)), "{error}");
    drop(other);
    take(&*place.open("gw-1"), &id("sbx-1"));
}

#[test]
fn a_reader_that_stays_in_its_transaction_stops_no_writer() {
    let place = Place::new();
    let store = place.open_with("gw-1", "?deadline_ms=200").unwrap();
    let sandbox = id("sbx-1");
    take(&*store, &sandbox);
    let reader = place.sql();
    reader.execute_batch("BEGIN DEFERRED").unwrap();
    let seen: Vec<u8> = reader.query_row("SELECT record FROM lease", [], |row| row.get(0)).unwrap();
    // More than the log holds before it is moved into the database.
    for _ in 0..1_500 {
        take(&*store, &sandbox);
    }
    let still: Vec<u8> = reader.query_row("SELECT record FROM lease", [], |row| row.get(0)).unwrap();
    assert_eq!(seen, still, "the reader sees its own moment");
    // Nor does it see its moment later, when it wants to write and another wrote since: that is its own trouble.
    assert!(reader.execute("DELETE FROM lease", []).is_err());
    assert!(is_renewed(&store.renew(&sandbox)));
}

#[test]
fn threads_that_wait_for_a_held_lock_all_hear_in_time() {
    let place = Place::new();
    let store = place.open_with("gw-1", "?deadline_ms=100").unwrap();
    take(&*store, &id("sbx-1"));
    let other = place.sql();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let (sent, heard) = mpsc::channel();
    std::thread::scope(|scope| {
        for n in 0..8 {
            let (store, sent) = (&store, sent.clone());
            scope.spawn(move || sent.send(store.take(&id(&format!("sbx-{n}")))).unwrap());
        }
        for _ in 0..8 {
            let error = heard.recv_timeout(Duration::from_secs(30)).unwrap().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
            assert!(matches!(error.stage(), Some(Stage::Lock | Stage::Pool)), "{error}");
        }
    });
}

#[test]
fn a_closed_store_says_so_and_closing_twice_is_harmless() {
    let place = Place::new();
    let store = place.open("gw-1");
    take(&*store, &id("sbx-1"));
    store.close().unwrap();
    store.close().unwrap();
    assert_eq!(store.inspect(&id("sbx-1")).unwrap_err().kind(), ErrorKind::Closed);
    assert!(!place.file("-wal").exists(), "the last to close leaves one file");
    assert!(place.open("gw-2").inspect(&id("sbx-1")).unwrap().is_some());
}
