use std::time::Duration;

use leasehold::{DiscardOutcome, ErrorKind, OwnershipStore, RenewOutcome};

use crate::support::{Place, id, is_renewed, take};

const HOUR: i64 = 3_600_000_000;

#[test]
fn a_step_of_the_wall_clock_changes_no_lease() {
    for step in [HOUR, -HOUR] {
        let place = Place::new();
        let store = place.store("gw-1", 1_000, &place.clock);
        take(&store, &id("sbx-1"));
        let before = store.inspect(&id("sbx-1")).unwrap();
        place.clock.step_wall(step);
        assert_eq!(store.inspect(&id("sbx-1")).unwrap(), before);
        assert_eq!(place.store("gw-2", 1_000, &place.clock).inspect(&id("sbx-1")).unwrap(), before);
        place.clock.advance(Duration::from_millis(999));
        assert!(is_renewed(&store.renew(&id("sbx-1"))));
        place.clock.advance(Duration::from_millis(1_000));
        assert_eq!(store.renew(&id("sbx-1")).unwrap(), RenewOutcome::Lapsed);
    }
}

#[test]
fn a_reboot_voids_leases_and_keeps_their_fences() {
    let place = Place::new();
    let fence = {
        let store = place.store("gw-1", 600_000, &place.clock);
        // Written when the calendar was an hour ahead, so that only the record can know how far fences got.
        place.clock.step_wall(HOUR);
        let tenure = take(&store, &id("sbx-1"));
        place.clock.step_wall(-HOUR);
        place.clock.advance(Duration::from_secs(1));
        assert!(is_renewed(&store.renew(&id("sbx-1"))));
        tenure.fence
    };
    place.clock.advance(Duration::from_secs(1));
    place.clock.reboot();
    let store = place.store("gw-2", 600_000, &place.clock);
    assert_eq!(store.inspect(&id("sbx-1")).unwrap(), None);
    assert!(store.list().unwrap().leases.is_empty());
    assert_eq!(store.discard(&id("sbx-1"), false).unwrap(), DiscardOutcome::Absent);
    assert!(take(&store, &id("sbx-1")).fence > fence);
}

#[test]
fn a_void_record_is_written_over_with_a_larger_fence() {
    let place = Place::new();
    let store = place.store("gw-1", 600_000, &place.clock);
    place.clock.step_wall(HOUR);
    let fence = take(&store, &id("sbx-1")).fence;
    place.clock.step_wall(-HOUR);
    place.clock.advance(Duration::from_secs(1));
    assert!(is_renewed(&store.renew(&id("sbx-1"))));
    place.clock.advance(Duration::from_secs(1));
    place.clock.reboot();
    assert_eq!(store.renew(&id("sbx-1")).unwrap(), RenewOutcome::Lapsed);
    assert!(take(&store, &id("sbx-1")).fence > fence);
}

#[test]
fn a_record_of_another_live_kernel_is_unsafe_and_stays() {
    let place = Place::new();
    let here = place.store("gw-1", 600_000, &place.clock);
    let there = place.store("gw-2", 600_000, &place.clock.foreign_kernel());
    take(&there, &id("sbx-1"));
    let before = place.record(&id("sbx-1"));
    assert_eq!(here.take(&id("sbx-1")).unwrap_err().kind(), ErrorKind::Unsafe);
    assert_eq!(here.inspect(&id("sbx-1")).unwrap_err().kind(), ErrorKind::Unsafe);
    assert_eq!(here.release(&id("sbx-1")).unwrap_err().kind(), ErrorKind::Unsafe);
    assert_eq!(here.discard(&id("sbx-1"), false).unwrap_err().kind(), ErrorKind::Unsafe);
    let listing = here.list().unwrap();
    assert_eq!((listing.leases.len(), listing.damaged[0].error.kind()), (0, ErrorKind::Unsafe));
    assert_eq!(place.record(&id("sbx-1")), before);
    assert_eq!(here.discard(&id("sbx-1"), true).unwrap(), DiscardOutcome::Discarded);
    take(&here, &id("sbx-1"));
}
