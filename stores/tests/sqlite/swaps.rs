use std::fs;

use leasehold::{ErrorKind, OwnershipStore};

use crate::support::{Place, fence_of, id, is_renewed, not_run, take};

/// The first call after a swap says so; the next is about what is there now.
fn noticed(store: &dyn OwnershipStore, kind: ErrorKind) {
    let error = store.renew(&id("sbx-1")).unwrap_err();
    assert_eq!(error.kind(), kind, "{error}");
    assert!(!error.may_have_happened(), "{error}");
}

#[test]
fn a_database_that_is_replaced_is_noticed_by_writes_and_looks() {
    // On a network file system no change is told, so the names are looked up every time.
    for (by_looking, settings) in
        [(false, ""), (true, ""), (false, "?network=allow"), (true, "?network=allow")]
    {
        let (place, other) = (Place::new(), Place::new());
        let store = place.open_with("gw-1", settings).unwrap();
        take(&*store, &id("sbx-1"));
        take(&*other.open("gw-2"), &id("sbx-2"));
        fs::rename(other.path(), place.path()).unwrap();
        for suffix in ["-wal", "-shm"] {
            fs::remove_file(place.file(suffix)).unwrap();
        }
        if by_looking {
            assert_eq!(store.inspect(&id("sbx-1")).unwrap_err().kind(), ErrorKind::Unavailable);
        } else {
            noticed(&*store, ErrorKind::Unavailable);
        }
        assert!(store.inspect(&id("sbx-1")).unwrap().is_none());
        assert!(store.inspect(&id("sbx-2")).unwrap().is_some());
        take(&*store, &id("sbx-1"));
        assert_eq!(place.open("gw-3").list().unwrap().leases.len(), 2);
    }
}

#[test]
fn a_database_that_is_gone_is_an_error_until_it_is_back() {
    let place = Place::new();
    let store = place.open("gw-1");
    take(&*store, &id("sbx-1"));
    let away = place.directory().join("away.db");
    fs::rename(place.path(), &away).unwrap();
    for _ in 0..3 {
        noticed(&*store, ErrorKind::Unavailable);
        assert_eq!(store.inspect(&id("sbx-1")).unwrap_err().kind(), ErrorKind::Unavailable);
        assert_eq!(store.list().unwrap_err().kind(), ErrorKind::Unavailable);
    }
    assert!(!place.path().exists(), "nobody makes a new one in passing");
    fs::rename(&away, place.path()).unwrap();
    assert!(is_renewed(&store.renew(&id("sbx-1"))));
}

#[test]
fn after_a_database_was_deleted_the_next_to_open_makes_one_for_all() {
    let place = Place::new();
    let store = place.open("gw-1");
    let before = take(&*store, &id("sbx-1")).fence;
    for suffix in ["", "-wal", "-shm"] {
        fs::remove_file(place.file(suffix)).unwrap();
    }
    noticed(&*store, ErrorKind::Unavailable);
    place.clock.advance(std::time::Duration::from_millis(1));
    let other = place.open("gw-2");
    assert!(take(&*store, &id("sbx-1")).fence > before);
    assert!(fence_of(&*other, &id("sbx-1")).is_some());
}

#[test]
fn an_empty_file_in_its_place_is_an_error_until_somebody_fills_it() {
    let place = Place::new();
    let store = place.open("gw-1");
    take(&*store, &id("sbx-1"));
    for suffix in ["", "-wal", "-shm"] {
        fs::remove_file(place.file(suffix)).unwrap();
    }
    fs::write(place.path(), "").unwrap();
    for _ in 0..3 {
        assert_eq!(store.renew(&id("sbx-1")).unwrap_err().kind(), ErrorKind::Unavailable);
        assert_eq!(store.inspect(&id("sbx-1")).unwrap_err().kind(), ErrorKind::Unavailable);
    }
    assert_eq!(fs::metadata(place.path()).unwrap().len(), 0, "nobody fills it in passing");
    let other = place.open("gw-2");
    take(&*store, &id("sbx-1"));
    assert!(fence_of(&*other, &id("sbx-1")).is_some());
}

#[test]
fn a_log_that_is_deleted_under_a_store_loses_nothing() {
    for suffixes in [&["-wal"][..], &["-wal", "-shm"], &["-shm"]] {
        let place = Place::new();
        let store = place.open("gw-1");
        let fence = take(&*store, &id("sbx-1")).fence;
        for suffix in suffixes {
            fs::remove_file(place.file(suffix)).unwrap();
        }
        noticed(&*store, ErrorKind::Unavailable);
        assert_eq!(fence_of(&*store, &id("sbx-1")), Some(fence), "{suffixes:?}");
        let other = place.open("gw-2");
        assert_eq!(fence_of(&*other, &id("sbx-1")), Some(fence), "{suffixes:?}");
        let taken = take(&*other, &id("sbx-1")).fence;
        assert_eq!(fence_of(&*store, &id("sbx-1")), Some(taken), "{suffixes:?}");
    }
}

#[test]
fn a_log_that_another_has_begun_anew_is_unsafe_until_the_old_one_is_back() {
    let place = Place::new();
    let store = place.open("gw-1");
    let fence = take(&*store, &id("sbx-1")).fence;
    let away = place.directory().join("away-wal");
    fs::rename(place.file("-wal"), &away).unwrap();
    fs::write(place.file("-wal"), "somebody else's").unwrap();
    for _ in 0..3 {
        assert_eq!(store.renew(&id("sbx-1")).unwrap_err().kind(), ErrorKind::Unsafe);
        assert_eq!(store.inspect(&id("sbx-1")).unwrap_err().kind(), ErrorKind::Unsafe);
    }
    fs::rename(&away, place.file("-wal")).unwrap();
    // Whatever was opened in between is not used any more, by no reader.
    for _ in 0..4 {
        let _ = store.inspect(&id("sbx-1"));
    }
    for _ in 0..4 {
        assert_eq!(fence_of(&*store, &id("sbx-1")), Some(fence));
    }
    assert!(is_renewed(&store.renew(&id("sbx-1"))));
}

#[test]
fn a_directory_that_is_replaced_is_noticed() {
    let outer = Place::new();
    let directory = outer.directory().join("run");
    fs::create_dir(&directory).unwrap();
    let url = format!("sqlite:{}/leases.db", directory.display());
    let clock = || std::sync::Arc::new(outer.clock.clone());
    let store = crate::support::open(&url, "gw-1", clock()).unwrap();
    take(&*store, &id("sbx-1"));
    fs::rename(&directory, outer.directory().join("old")).unwrap();
    fs::create_dir(&directory).unwrap();
    noticed(&*store, ErrorKind::Unavailable);
    let other = crate::support::open(&url, "gw-2", clock()).unwrap();
    take(&*other, &id("sbx-2"));
    assert!(store.inspect(&id("sbx-2")).unwrap().is_some());
}

#[test]
fn another_users_database_in_its_place_is_refused() {
    let (place, other) = (Place::new(), Place::new());
    let store = place.open("gw-1");
    take(&*store, &id("sbx-1"));
    take(&*other.open("gw-2"), &id("sbx-1"));
    if std::os::unix::fs::chown(other.path(), Some(65_534), None).is_err() {
        return not_run("root", "only root can give a file to another user");
    }
    fs::rename(other.path(), place.path()).unwrap();
    noticed(&*store, ErrorKind::Unavailable);
    assert_eq!(store.inspect(&id("sbx-1")).unwrap_err().kind(), ErrorKind::Denied);
}

#[test]
fn what_only_looks_like_a_change_is_none() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    let store = place.open("gw-1");
    take(&*store, &id("sbx-1"));
    for suffix in ["", "-wal", "-shm"] {
        fs::set_permissions(place.file(suffix), fs::Permissions::from_mode(0o640)).unwrap();
        assert!(is_renewed(&store.renew(&id("sbx-1"))), "{suffix:?}");
        assert!(store.inspect(&id("sbx-1")).unwrap().is_some(), "{suffix:?}");
    }
    fs::write(place.directory().join("another"), "file").unwrap();
    assert!(is_renewed(&store.renew(&id("sbx-1"))));
}
