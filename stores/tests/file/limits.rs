//! No more open files, no more room: an error that says so, and everything as it was.

use crate::children::Worker;
use crate::support::Place;

#[test]
fn a_process_without_file_handles_is_told_so_and_works_again_when_it_has_some() {
    let place = Place::new();
    let said = Worker::start().ask(&format!("without-handles {}", place.dir().display()));
    assert_eq!(said, "full, then true");
}

#[test]
fn a_write_that_is_cut_short_is_undone() {
    let place = Place::new();
    let said = Worker::start().ask(&format!("with-a-full-disk {}", place.dir().display()));
    assert_eq!(said, "full full, kept true, absent true");
    assert_eq!(place.records(), 1);
}
