//! Directories that a store must not be opened on.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;
use std::sync::Arc;

use leasehold::{ErrorKind, ManualClock, StoreError};

use crate::children::Worker;
use crate::support::{Place, id, not_run, open, take};

/// A user that owns nothing.
const NOBODY: u32 = 65_534;

fn refused(url: &str) -> StoreError {
    match open(url, "gw-1", Arc::new(ManualClock::new())) {
        Ok(_) => panic!("{url} was opened"),
        Err(error) => error,
    }
}

fn refused_at(dir: &Path) -> StoreError {
    let error = refused(&format!("file:{}", dir.display()));
    assert!(error.to_string().contains(dir.to_str().unwrap()), "{error}");
    error
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[test]
fn what_is_no_path_of_a_directory_is_invalid() {
    let place = Place::new();
    let file = place.around().join("file");
    fs::write(&file, "precious").unwrap();
    assert_eq!(refused_at(&file).kind(), ErrorKind::Invalid);
    assert_eq!(fs::read_to_string(&file).unwrap(), "precious");
    symlink(&file, place.around().join("link")).unwrap();
    assert_eq!(refused_at(&place.around().join("link")).kind(), ErrorKind::Invalid);
    for url in ["file:", "file:leases", "file://host/leases", "file:/x?dedline_ms=1", "file:/x?network=yes"] {
        assert_eq!(refused(url).kind(), ErrorKind::Invalid, "{url}");
    }
    let beneath = place.around().join("file/leases");
    assert_eq!(refused_at(&beneath).kind(), ErrorKind::Unavailable);
    assert_eq!(fs::read_to_string(&file).unwrap(), "precious");
}

#[test]
fn a_directory_that_others_can_write_to_is_unsafe() {
    for mode in [0o720, 0o702, 0o777, 0o1777] {
        let place = Place::new();
        fs::create_dir(place.dir()).unwrap();
        fs::set_permissions(place.dir(), Permissions::from_mode(mode)).unwrap();
        let error = refused_at(&place.dir());
        assert_eq!(error.kind(), ErrorKind::Unsafe, "{mode:o}: {error}");
        assert!(error.to_string().contains("chmod"), "{error}");
        assert_eq!(fs::read_dir(place.dir()).unwrap().count(), 0, "something was written there");
    }
}

#[test]
fn a_directory_of_another_user_is_unsafe_whatever_leads_there() {
    let place = Place::new();
    let theirs = if is_root() {
        fs::create_dir(place.dir()).unwrap();
        chown(place.dir(), Some(NOBODY), None).unwrap();
        place.dir()
    } else {
        "/etc".into()
    };
    let link = place.around().join("link");
    symlink(&theirs, &link).unwrap();
    for path in [&theirs, &link] {
        let error = refused_at(path);
        assert_eq!(error.kind(), ErrorKind::Unsafe, "{error}");
        assert!(error.to_string().contains("user"), "{error}");
    }
    if is_root() {
        assert_eq!(fs::read_dir(&theirs).unwrap().count(), 0, "something was written there");
    }
}

#[test]
fn a_link_of_ones_own_to_a_directory_of_ones_own_is_fine() {
    let place = Place::new();
    fs::create_dir(place.around().join("real")).unwrap();
    symlink(place.around().join("real"), place.dir()).unwrap();
    take(&place.store("gw-1"), &id("sbx"));
    assert!(place.around().join("real/sbx.lease").exists());
}

#[test]
fn a_link_that_another_user_can_turn_elsewhere_is_unsafe() {
    if !is_root() {
        return not_run("root", "only root gives a link to another user");
    }
    let place = Place::new();
    fs::create_dir(place.around().join("real")).unwrap();
    symlink(place.around().join("real"), place.dir()).unwrap();
    std::os::unix::fs::lchown(place.dir(), Some(NOBODY), None).unwrap();
    let error = refused_at(&place.dir());
    assert_eq!(error.kind(), ErrorKind::Unsafe, "{error}");
    assert!(error.to_string().contains("link"), "{error}");
}

/// As a user whom permissions bind: root is asked to become one.
#[test]
fn a_directory_that_can_not_be_made_or_written_is_denied() {
    let started = Worker::start_as(is_root().then_some(NOBODY));
    let mut child = match started {
        Ok(child) => child,
        Err(e) => return not_run("permissions", &format!("the tests can't run as another user: {e}")),
    };
    let place = Place::new();
    let (closed, read_only) = (place.around().join("closed"), place.around().join("read-only"));
    fs::create_dir(&closed).unwrap();
    fs::create_dir(&read_only).unwrap();
    if is_root() {
        fs::set_permissions(place.around(), Permissions::from_mode(0o755)).unwrap();
        chown(&read_only, Some(NOBODY), None).unwrap();
    }
    fs::set_permissions(&closed, Permissions::from_mode(0o500)).unwrap();
    fs::set_permissions(&read_only, Permissions::from_mode(0o500)).unwrap();
    for dir in [closed.join("leases"), read_only] {
        let said = child.ask(&format!("open {}", dir.display()));
        assert!(said.contains("(denied)") && said.contains("leases") | said.contains("read-only"), "{said}");
    }
    fs::set_permissions(&closed, Permissions::from_mode(0o700)).unwrap();
}
