use std::path::Path;
use std::process::Command;

use leasehold::{BootClock, ErrorKind, ReleaseOutcome};

use crate::support::{Place, id, is_renewed, not_run, open, take};

/// A file system of half a megabyte, unmounted when it is dropped.
struct Small<'a>(&'a Path);

impl<'a> Small<'a> {
    fn mount(at: &'a Path) -> Option<Self> {
        let mounted =
            Command::new("mount").args(["-t", "tmpfs", "-o", "size=512k", "small"]).arg(at).output();
        mounted.is_ok_and(|output| output.status.success()).then_some(Self(at))
    }
}

impl Drop for Small<'_> {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg(self.0).status();
        assert!(unmounted.is_ok_and(|status| status.success()), "{} is still mounted", self.0.display());
    }
}

#[test]
fn a_full_disk_is_said_and_what_is_held_can_go_once_there_is_room() {
    let place = Place::new();
    let Some(small) = Small::mount(place.directory()) else {
        return not_run("tmpfs", "no small file system can be mounted here");
    };
    let url = format!("sqlite:{}", place.path().display());
    let store = open(&url, "gw-1", std::sync::Arc::new(BootClock::new().unwrap())).unwrap();
    take(&*store, &id("first"));
    let mut held = Vec::new();
    let error = (0..20_000)
        .find_map(|n| {
            let sandbox = id(&format!("sbx-{n}"));
            match store.take(&sandbox) {
                Ok(_) => {
                    held.push(sandbox);
                    None
                }
                Err(error) => Some(error),
            }
        })
        .expect("half a megabyte is full some time");
    assert_eq!(error.kind(), ErrorKind::Full, "{error}");
    assert!(error.to_string().contains("room"), "{error}");
    for sandbox in &held {
        assert!(store.inspect(sandbox).unwrap().is_some(), "{sandbox}");
    }
    let grown =
        Command::new("mount").args(["-o", "remount,size=8m"]).arg(place.directory()).status().unwrap();
    assert!(grown.success());
    assert!(is_renewed(&store.renew(&id("first"))));
    for sandbox in &held {
        assert_eq!(store.release(sandbox).unwrap(), ReleaseOutcome::Released);
    }
    drop(store);
    drop(small);
}
