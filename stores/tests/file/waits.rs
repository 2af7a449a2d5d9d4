//! Locks of others: waited for, but not for ever, and looked at again when they are got.

use std::fs::{self, File};
use std::path::Path;
use std::sync::Barrier;

use leasehold::{ErrorKind, OwnershipStore, RenewOutcome, Stage, TakeOutcome};

use crate::support::{Place, assert_all_fail, every_operation, fence_of, id, take};

/// How many descriptors of this process are files at `path` or beneath it.
pub(crate) fn opened_beneath(path: &Path) -> usize {
    let fds = fs::read_dir("/proc/self/fd").unwrap();
    fds.filter_map(|fd| fs::read_link(fd.ok()?.path()).ok()).filter(|file| file.starts_with(path)).count()
}

/// Waits until `many` descriptors of this process are the file at `path`.
pub(crate) fn until_opened(path: &Path, many: usize) {
    let deadline = leasehold::Deadline::after(std::time::Duration::from_secs(60));
    while opened_beneath(path) < many {
        assert!(!deadline.passed(), "nobody opened {}", path.display());
        std::thread::yield_now();
    }
}

/// A lock on the file at `path`, as another process would hold it.
fn lock(path: &Path) -> File {
    let file = File::options().read(true).write(true).open(path).unwrap();
    file.lock().unwrap();
    file
}

#[test]
fn a_lock_that_is_not_let_go_of_is_a_timeout_for_every_operation_on_that_id_alone() {
    let place = Place::new();
    let (store, stuck, free) = (place.hurried("gw-1", 5), id("stuck"), id("free"));
    take(&store, &stuck);
    take(&store, &free);
    let held = lock(&place.record(&stuck));
    assert_all_fail(&store, &stuck, ErrorKind::Timeout, "locked");
    for error in [store.discard(&stuck, true).unwrap_err(), store.list().unwrap_err()] {
        assert_eq!((error.kind(), error.stage()), (ErrorKind::Timeout, Some(Stage::Lock)), "{error}");
        assert!(error.to_string().contains("stuck.lease"), "{error}");
        assert!(!error.may_have_happened());
    }
    let outcomes = store.renew_many(&[free.clone(), stuck.clone(), free]);
    let renewed: Vec<_> = outcomes.iter().map(Result::is_ok).collect();
    assert_eq!(renewed, [true, false, true]);
    drop(held);
    assert!(matches!(store.renew(&stuck).unwrap(), RenewOutcome::Renewed(_)));
}

#[test]
fn a_mark_that_is_not_let_go_of_is_a_timeout_for_what_is_absent() {
    let place = Place::new();
    let (store, there, absent) = (place.hurried("gw-1", 5), id("there"), id("absent"));
    take(&store, &there);
    let held = lock(&place.mark());
    for (operation, error) in every_operation(&store, &absent) {
        let error = error.unwrap_or_else(|| panic!("{operation} gave an answer"));
        assert_eq!((error.kind(), error.stage()), (ErrorKind::Timeout, Some(Stage::Lock)), "{error}");
    }
    assert_eq!(store.release(&there).unwrap_err().kind(), ErrorKind::Timeout);
    assert!(matches!(store.renew(&there).unwrap(), RenewOutcome::Renewed(_)));
    drop(held);
    take(&store, &absent);
    assert_eq!(place.records(), 2);
}

/// What `change` makes of the record while a take waits for its lock.
fn while_waited_for(change: impl Fn(&Place)) {
    let place = Place::new();
    let (first, second, sandbox) = (place.store("gw-1"), place.store("gw-2"), id("sbx"));
    take(&first, &sandbox);
    let path = place.record(&sandbox);
    let held = lock(&path);
    let taken = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| second.take(&sandbox).unwrap());
        until_opened(&path, 2);
        change(&place);
        drop(held);
        waiting.join().unwrap()
    });
    let TakeOutcome::Taken { tenure, .. } = taken else { panic!("{taken:?}") };
    // What it was told is in the file that everyone sees, not in one without a name.
    assert_eq!(fence_of(&first, &sandbox), Some(tenure.fence));
    assert_eq!(first.renew(&sandbox).unwrap(), RenewOutcome::Lost);
    assert!(matches!(second.renew(&sandbox).unwrap(), RenewOutcome::Renewed(_)));
}

#[test]
fn a_record_that_was_removed_while_it_was_waited_for_is_made_anew() {
    while_waited_for(|place| fs::remove_file(place.record(&id("sbx"))).unwrap());
}

#[test]
fn a_record_that_was_moved_away_while_it_was_waited_for_is_made_anew() {
    while_waited_for(|place| {
        fs::rename(place.record(&id("sbx")), place.around().join("kept")).unwrap();
    });
}

#[test]
fn a_record_that_was_replaced_while_it_was_waited_for_is_read_anew() {
    while_waited_for(|place| {
        let copy = place.around().join("copy");
        fs::copy(place.record(&id("sbx")), &copy).unwrap();
        fs::rename(copy, place.record(&id("sbx"))).unwrap();
    });
}

/// Whoever opened the file just before it was released finds it empty and without a name.
#[test]
fn takes_and_releases_of_one_id_at_once_lose_no_lease() {
    let place = Place::new();
    let sandbox = id("sbx");
    let barrier = Barrier::new(4);
    let mut fences: Vec<u64> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|n| {
                let (place, sandbox, barrier) = (&place, &sandbox, &barrier);
                let store = place.store(&format!("gw-{n}"));
                scope.spawn(move || {
                    let mut fences = Vec::new();
                    barrier.wait();
                    for _ in 0..500 {
                        let fence = take(&store, sandbox).fence;
                        fences.push(fence.get());
                        match store.release_tenure(sandbox, fence).unwrap() {
                            leasehold::ReleaseOutcome::Released => {}
                            // Then a peer took it from us, after our take.
                            leasehold::ReleaseOutcome::NotHeld => {
                                let now = fence_of(&store, sandbox);
                                assert!(now.is_none_or(|now| now > fence), "{now:?} after {fence}");
                            }
                        }
                    }
                    fences
                })
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    let taken = fences.len();
    fences.sort_unstable();
    fences.dedup();
    assert_eq!(fences.len(), taken, "two tenures got one fence");
}

#[test]
fn a_directory_that_is_gone_is_an_error_and_never_absence() {
    let place = Place::new();
    let (store, there, absent) = (place.store("gw-1"), id("there"), id("absent"));
    let fence = take(&store, &there).fence;
    let away = place.around().join("away");
    fs::rename(place.dir(), &away).unwrap();
    for _ in ["nothing", "a file"] {
        assert_all_fail(&store, &there, ErrorKind::Unavailable, "moved away");
        assert_all_fail(&store, &absent, ErrorKind::Unavailable, "moved away");
        assert_eq!(store.list().unwrap_err().kind(), ErrorKind::Unavailable);
        assert_eq!(store.discard(&there, true).unwrap_err().kind(), ErrorKind::Unavailable);
        fs::write(place.dir(), "in its place").unwrap();
    }
    fs::remove_file(place.dir()).unwrap();
    fs::rename(away, place.dir()).unwrap();
    assert_eq!(fence_of(&store, &there), Some(fence));
    take(&store, &absent);
}

#[test]
fn handles_that_were_open_before_the_directory_was_replaced_agree_with_those_opened_since() {
    let place = Place::new();
    let (before, sandbox) = (place.store("gw-1"), id("sbx"));
    take(&before, &sandbox);
    fs::rename(place.dir(), place.around().join("away")).unwrap();
    let after = place.store("gw-2");
    let fence = take(&after, &sandbox).fence;
    assert_eq!(before.renew(&sandbox).unwrap(), RenewOutcome::Lost);
    assert_eq!(fence_of(&before, &sandbox), Some(fence));
}
