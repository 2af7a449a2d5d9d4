use crate::children::Worker;
use crate::support::Place;

#[test]
fn sixteen_processes_open_what_is_not_there_yet_at_once() {
    let mut workers: Vec<Worker> = (0..16).map(|_| Worker::start()).collect();
    for round in 0..30 {
        let place = Place::new();
        for worker in &mut workers {
            worker.tell(&format!("open {}", place.path().display()));
        }
        for worker in &mut workers {
            assert_eq!(worker.hear().as_deref(), Some("ok"), "round {round}");
        }
    }
}

#[test]
fn sixteen_threads_open_what_is_not_there_yet_at_once() {
    for _ in 0..20 {
        let place = Place::new();
        let barrier = std::sync::Barrier::new(16);
        std::thread::scope(|scope| {
            for n in 0..16 {
                let (place, barrier) = (&place, &barrier);
                scope.spawn(move || {
                    barrier.wait();
                    let store = place.open(&format!("gw-{n}"));
                    crate::support::take(&*store, &crate::support::id("sbx-1"));
                });
            }
        });
    }
}

#[test]
fn a_file_that_was_made_and_not_filled_yet_is_a_new_database() {
    let place = Place::new();
    std::fs::write(place.path(), "").unwrap();
    crate::support::take(&*place.open("gw-1"), &crate::support::id("sbx-1"));
}

#[test]
fn only_its_user_may_read_it() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    let store = place.open("gw-1");
    crate::support::take(&*store, &crate::support::id("sbx-1"));
    for suffix in ["", "-wal", "-shm"] {
        let mode = std::fs::metadata(place.file(suffix)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{suffix:?}");
    }
}
