use std::fs;
use std::os::unix::fs::symlink;

use leasehold::{BootClock, ErrorKind, StoreError};
use rusqlite::Connection;

use crate::support::{Place, id, not_run, take};

fn refused(place: &Place) -> StoreError {
    let error = place.open_with("gw-1", "").err().expect("it must be refused");
    assert!(error.to_string().contains("leases.db"), "{error}");
    error
}

#[test]
fn a_file_that_is_no_database_is_refused_and_left_alone() {
    for bytes in [b"not a database, but long enough to be looked at as one".repeat(100), b"short".to_vec()] {
        let place = Place::new();
        fs::write(place.path(), &bytes).unwrap();
        let error = refused(&place);
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        assert_eq!(fs::read(place.path()).unwrap(), bytes);
        assert_eq!(fs::read_dir(place.directory()).unwrap().count(), 1);
    }
}

#[test]
fn another_programs_database_is_refused_and_left_alone() {
    let foreign = [
        "CREATE TABLE users (name TEXT)",
        "CREATE TABLE lease (id TEXT PRIMARY KEY, record BLOB); CREATE TABLE mark (fence INTEGER)",
        "PRAGMA application_id = 7",
        "PRAGMA user_version = 1",
        "PRAGMA journal_mode = WAL; CREATE TABLE users (name TEXT)",
    ];
    for sql in foreign {
        let place = Place::new();
        let other = Connection::open(place.path()).unwrap();
        other.execute_batch(sql).unwrap();
        other.close().unwrap();
        let before = fs::read(place.path()).unwrap();
        let error = refused(&place);
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        assert_eq!(fs::read(place.path()).unwrap(), before, "{sql}");
        assert_eq!(fs::read_dir(place.directory()).unwrap().count(), 1, "{sql}");
    }
}

#[test]
fn a_newer_version_asks_for_an_upgrade_and_is_left_alone() {
    let place = Place::new();
    take(&*place.open("gw-1"), &id("sbx-1"));
    place.sql().execute_batch("PRAGMA user_version = 2").unwrap();
    let error = refused(&place);
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    assert!(error.to_string().contains("upgrade"), "{error}");
    place.sql().execute_batch("PRAGMA user_version = 1").unwrap();
    assert!(place.open("gw-1").inspect(&id("sbx-1")).unwrap().is_some());
}

#[test]
fn a_database_of_ours_without_its_tables_is_corrupt() {
    let place = Place::new();
    take(&*place.open("gw-1"), &id("sbx-1"));
    place.sql().execute_batch("DROP TABLE mark").unwrap();
    let error = refused(&place);
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
}

#[test]
fn paths_that_can_not_be_right_are_refused() {
    let place = Place::new();
    fs::create_dir(place.path()).unwrap();
    assert_eq!(refused(&place).kind(), ErrorKind::Invalid);
    let clock = || std::sync::Arc::new(BootClock::new().unwrap());
    let missing = format!("sqlite:{}/none/leases.db", place.directory().display());
    for url in [missing.as_str(), "sqlite:/", "sqlite:leases.db", "sqlite:/tmp/..", "sqlite:/dev/null"] {
        let error = crate::support::open(url, "gw-1", clock()).err().expect("it must be refused");
        assert!(matches!(error.kind(), ErrorKind::Invalid | ErrorKind::Denied), "{url}: {error}");
    }
    let error = place.open_with("gw-1", "?network=perhaps").err().unwrap();
    assert!(error.to_string().contains("allow"), "{error}");
}

#[test]
fn a_link_to_nothing_makes_nothing() {
    let place = Place::new();
    symlink(place.directory().join("elsewhere.db"), place.path()).unwrap();
    assert_eq!(refused(&place).kind(), ErrorKind::Invalid);
    assert!(!place.directory().join("elsewhere.db").exists());
}

#[test]
fn a_link_to_a_database_of_ones_own_is_followed_once() {
    let place = Place::new();
    let real = Place::new();
    take(&*real.open("gw-1"), &id("sbx-1"));
    symlink(real.path(), place.path()).unwrap();
    let linked = place.open("gw-2");
    assert!(linked.inspect(&id("sbx-1")).unwrap().is_some());
    take(&*linked, &id("sbx-2"));
    assert!(real.open("gw-1").inspect(&id("sbx-2")).unwrap().is_some());
}

#[test]
fn other_users_files_and_directories_are_refused() {
    const NOBODY: u32 = 65_534;
    let place = Place::new();
    fs::write(place.path(), "").unwrap();
    if std::os::unix::fs::chown(place.path(), Some(NOBODY), None).is_err() {
        return not_run("root", "only root can give a file to another user");
    }
    let error = refused(&place);
    assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
    let theirs = place.directory().join("theirs");
    fs::create_dir(&theirs).unwrap();
    std::os::unix::fs::chown(&theirs, Some(NOBODY), None).unwrap();
    fs::remove_file(place.path()).unwrap();
    let linked = place.directory().join("linked");
    symlink(&theirs, &linked).unwrap();
    let clock = std::sync::Arc::new(BootClock::new().unwrap());
    let url = format!("sqlite:{}/leases.db", linked.display());
    let error = crate::support::open(&url, "gw-1", clock).err().expect("it must be refused");
    assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
    assert_eq!(fs::read_dir(&theirs).unwrap().count(), 0);
}
