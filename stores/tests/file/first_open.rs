//! The first to open a directory are many, and all succeed.

use crate::children::Worker;
use crate::support::Place;

#[test]
fn sixteen_processes_open_the_same_new_directory_at_once_thirty_times() {
    let place = Place::new();
    let mut children: Vec<_> = (0..16).map(|_| Worker::start()).collect();
    for round in 0..30 {
        // Its parents are missing too.
        let dir = place.around().join(format!("round-{round}/a/leases"));
        for child in &mut children {
            child.tell(&format!("open {}", dir.display()));
        }
        for child in &mut children {
            assert_eq!(child.hear().as_deref(), Some("ok"), "round {round}");
        }
    }
}
