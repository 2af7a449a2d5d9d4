//! What stands in the place of a record and is no file: never followed, never waited for, never overwritten.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;

use leasehold::{DiscardOutcome, ErrorKind, OwnershipStore};
use rustix::fs::{CWD, FileType, Mode, makedev, mkfifoat, mknodat};

use crate::support::{Place, assert_all_fail, fence_of, id, take};

fn in_place_of_a_record(what: &str, make: impl Fn(&Path)) {
    let place = Place::new();
    let (store, sandbox, well) = (place.store("gw-1"), id("sbx"), id("well"));
    let fence = take(&store, &sandbox).fence;
    take(&store, &well);
    let _ = store.release(&sandbox).unwrap();
    make(&place.record(&sandbox));

    assert_all_fail(&store, &sandbox, ErrorKind::Corrupt, what);
    let listing = store.list().unwrap();
    assert_eq!((listing.leases.len(), listing.damaged.len()), (1, 1), "{what}: {listing:?}");
    assert!(fs::symlink_metadata(place.record(&sandbox)).is_ok(), "{what} is gone");
    assert_eq!(store.discard(&sandbox, false).unwrap(), DiscardOutcome::Discarded, "{what}");
    assert_eq!(store.discard(&sandbox, false).unwrap(), DiscardOutcome::Absent, "{what}");
    assert!(take(&store, &sandbox).fence > fence, "{what}");
}

#[test]
fn an_empty_directory() {
    in_place_of_a_record("a directory", |path| fs::create_dir(path).unwrap());
}

#[test]
fn a_link_to_nothing_is_not_followed() {
    in_place_of_a_record("a link", |path| symlink("nowhere", path).unwrap());
}

#[test]
fn a_link_to_a_record_is_not_followed() {
    in_place_of_a_record("a link", |path| symlink("well.lease", path).unwrap());
}

#[test]
fn a_link_to_a_device_is_not_followed() {
    in_place_of_a_record("a link", |path| symlink("/dev/zero", path).unwrap());
}

#[test]
fn a_pipe_does_not_hang() {
    in_place_of_a_record("a pipe", |path| mkfifoat(CWD, path, Mode::RWXU).unwrap());
}

#[test]
fn a_socket() {
    in_place_of_a_record("a socket", |path| drop(UnixListener::bind(path).unwrap()));
}

#[test]
fn a_device() {
    let place = Place::new();
    let (null, zero) = (makedev(1, 3), makedev(1, 5));
    let make = |path: &Path, device| mknodat(CWD, path, FileType::CharacterDevice, Mode::RWXU, device);
    if make(&place.around().join("x"), null).is_err() {
        return crate::support::not_run("root", "only root makes devices");
    }
    if fs::read(place.around().join("x")).is_err() {
        return crate::support::not_run("root", "devices can't be opened on this file system");
    }
    in_place_of_a_record("a device", |path| make(path, null).unwrap());
    in_place_of_a_record("an endless device", |path| make(path, zero).unwrap());
}

#[test]
fn a_directory_with_files_in_it_is_left_to_its_owner() {
    let place = Place::new();
    let (store, sandbox) = (place.store("gw-1"), id("sbx"));
    fs::create_dir(place.record(&sandbox)).unwrap();
    fs::write(place.record(&sandbox).join("precious"), "x").unwrap();
    for force in [false, true] {
        let error = store.discard(&sandbox, force).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
        assert!(error.to_string().contains("move it away"), "{error}");
    }
    assert!(place.record(&sandbox).join("precious").exists());
}

#[test]
fn a_second_name_of_a_record_file_is_another_ids_record() {
    let place = Place::new();
    let (store, sandbox) = (place.store("gw-1"), id("sbx"));
    let fence = take(&store, &sandbox).fence;
    fs::hard_link(place.record(&sandbox), place.record(&id("copy"))).unwrap();
    assert_all_fail(&store, &id("copy"), ErrorKind::Corrupt, "a second name");
    assert_eq!(fence_of(&store, &sandbox), Some(fence));
}
