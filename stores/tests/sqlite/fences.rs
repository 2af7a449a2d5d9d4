use std::time::Duration;

use leasehold::{DiscardOutcome, OwnershipStore, ReleaseOutcome};
use leasehold_stores::sqlite::SqliteStore;

use crate::support::{Place, id, take};

const HOUR: i64 = 3_600_000_000;

/// The fence of a new tenure exceeds the last one's after `between`, with the calendar an hour back.
fn grows_across(between: impl Fn(&Place, &SqliteStore)) {
    let place = Place::new();
    let store = place.store("gw-1", 1_000, &place.clock);
    let before = take(&store, &id("sbx-1")).fence;
    place.clock.step_wall(-HOUR);
    between(&place, &store);
    let after = take(&place.store("gw-2", 1_000, &place.clock), &id("sbx-1")).fence;
    assert!(after > before, "{after} after {before}");
}

#[test]
fn a_fence_grows_across_a_release() {
    grows_across(|_, store| assert_eq!(store.release(&id("sbx-1")).unwrap(), ReleaseOutcome::Released));
}

#[test]
fn a_fence_grows_across_expiry() {
    grows_across(|place, _| place.clock.advance(Duration::from_secs(2)));
}

#[test]
fn a_fence_grows_across_expiry_and_a_sweep() {
    grows_across(|place, store| {
        place.clock.advance(Duration::from_secs(2));
        for n in 0..4 {
            take(store, &id(&format!("other-{n}")));
        }
        let left: i64 = place
            .sql()
            .query_row("SELECT count(*) FROM lease WHERE id = 'sbx-1'", [], |row| row.get(0))
            .unwrap();
        assert_eq!(left, 0, "it was swept up");
    });
}

#[test]
fn a_fence_grows_across_a_discard() {
    grows_across(|_, store| {
        assert_eq!(store.discard(&id("sbx-1"), true).unwrap(), DiscardOutcome::Discarded);
    });
}

#[test]
fn a_fence_grows_across_the_discard_of_a_damaged_record() {
    grows_across(|place, store| {
        let mut bytes = place.record(&id("sbx-1"));
        bytes.truncate(30);
        place.put(&id("sbx-1"), &bytes);
        assert_eq!(store.discard(&id("sbx-1"), false).unwrap(), DiscardOutcome::Discarded);
    });
}

#[test]
fn a_fence_grows_after_everything_was_lost() {
    let place = Place::new();
    let store = place.store("gw-1", 1_000, &place.clock);
    let before = take(&store, &id("sbx-1")).fence;
    place.sql().execute_batch("DELETE FROM lease; UPDATE mark SET fence = 0").unwrap();
    place.clock.advance(Duration::from_millis(1));
    assert!(take(&store, &id("sbx-1")).fence > before);
}

#[test]
fn storage_does_not_grow_with_ids_that_are_gone() {
    let place = Place::new();
    let store = place.store("gw-1", 1_000, &place.clock);
    place.put(&id("damaged"), b"garbage".to_vec());
    for round in 0..20 {
        for n in 0..100 {
            take(&store, &id(&format!("sbx-{round}-{n}")));
        }
        place.clock.advance(Duration::from_millis(1_001));
        assert!(place.rows() <= 300, "{} rows in round {round}", place.rows());
    }
    assert_eq!(place.record(&id("damaged")), b"garbage", "what can't be read is never swept up");
}

#[test]
fn ids_that_differ_in_case_differ() {
    let place = Place::new();
    let store = place.store("gw-1", 1_000, &place.clock);
    let (lower, upper) = (id(&"a".repeat(128)), id(&"A".repeat(128)));
    take(&store, &lower);
    assert_eq!(store.inspect(&upper).unwrap(), None);
    take(&store, &upper);
    assert_eq!(store.release(&upper).unwrap(), ReleaseOutcome::Released);
    assert!(store.inspect(&lower).unwrap().is_some());
}
