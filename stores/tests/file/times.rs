//! Only the boot clock times a lease, and only within its boot.

use std::time::Duration;

use leasehold::{DiscardOutcome, ErrorKind, OwnershipStore, RenewOutcome};

use crate::support::{LONG, Place, assert_all_fail, fence_of, id, take};

const HOUR: i64 = 3_600_000_000;

#[test]
fn a_step_of_the_wall_clock_changes_no_lease() {
    for step in [HOUR, -HOUR] {
        let place = Place::new();
        let (store, sandbox) = (place.store("gw-1"), id("sbx"));
        let fence = take(&store, &sandbox).fence;
        place.clock.advance(Duration::from_millis(LONG - 1));
        let before = store.inspect(&sandbox).unwrap().unwrap();
        place.clock.step_wall(step);
        assert_eq!(store.inspect(&sandbox).unwrap(), Some(before), "{step}");
        assert_eq!(place.store("gw-2").inspect(&sandbox).unwrap().unwrap().fence, Some(fence));
        place.clock.advance(Duration::from_millis(1));
        assert_eq!(store.inspect(&sandbox).unwrap(), None, "{step}");
        assert_eq!(store.renew(&sandbox).unwrap(), RenewOutcome::Lapsed);
    }
}

#[test]
fn a_reboot_voids_what_was_written_before_it_and_nothing_since() {
    let place = Place::new();
    let (before, old, new) = (place.store("gw-1"), id("old"), id("new"));
    take(&before, &old);
    place.clock.advance(Duration::from_secs(1));
    place.clock.reboot();
    let after = place.store("gw-2");
    assert_eq!(after.inspect(&old).unwrap(), None);
    assert!(after.list().unwrap().leases.is_empty());
    let fence = take(&after, &new).fence;
    // The wall clock was behind when the kernel started, and is set right: the kernel now seems to have started later
    // than the record was written, but both are of one boot.
    place.clock.step_wall(HOUR);
    assert_eq!(fence_of(&after, &new), Some(fence));
    assert_eq!(fence_of(&place.store("gw-3"), &new), Some(fence));
}

#[test]
fn what_a_second_live_kernel_wrote_is_unsafe_at_every_operation() {
    let place = Place::new();
    let (here, sandbox) = (place.store("here"), id("sbx"));
    take(&here, &id("ours"));
    // The two start at the same time, and the other comes later: what it writes is seen by a handle that was open before.
    let there = place.store_of("there", LONG, &place.clock.foreign_kernel());
    let fence = take(&there, &sandbox).fence;
    assert_all_fail(&here, &sandbox, ErrorKind::Unsafe, "written there");
    assert_all_fail(&there, &id("ours"), ErrorKind::Unsafe, "written here");
    let error = here.take(&sandbox).unwrap_err().to_string();
    assert!(error.contains("there") && error.contains("kernel"), "{error}");
    let listing = here.list().unwrap();
    assert_eq!((listing.leases.len(), listing.damaged.len()), (1, 1));
    assert_eq!(listing.damaged[0].error.kind(), ErrorKind::Unsafe);
    assert_eq!(fence_of(&there, &sandbox), Some(fence), "a refused operation changed it");

    assert_eq!(here.discard(&sandbox, false).unwrap_err().kind(), ErrorKind::Unsafe);
    assert_eq!(here.discard(&sandbox, true).unwrap(), DiscardOutcome::Discarded);
    assert!(take(&here, &sandbox).fence > fence);
}

#[test]
fn the_clock_is_read_after_the_lock_was_got() {
    let place = Place::new();
    let (store, sandbox) = (place.store("gw-1"), id("sbx"));
    take(&store, &sandbox);
    let lock = std::fs::File::options().read(true).write(true).open(place.record(&sandbox)).unwrap();
    lock.lock().unwrap();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| store.renew(&sandbox).unwrap());
        crate::waits::until_opened(&place.record(&sandbox), 2);
        // The lease runs out while the renewal waits.
        place.clock.advance(Duration::from_millis(LONG));
        lock.unlock().unwrap();
        assert_eq!(waiting.join().unwrap(), RenewOutcome::Lapsed);
    });
}
