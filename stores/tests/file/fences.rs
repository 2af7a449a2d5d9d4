//! A fence is never given twice, whatever becomes of the record in between.

use std::fs;
use std::time::Duration;

use leasehold::{ClaimOutcome, DiscardOutcome, ErrorKind, Fence, Intent, OwnershipStore, RenewOutcome};

use crate::support::{Place, age, destroy, id, take};

const HOUR: i64 = 3_600_000_000;

/// The fence after something was done to the record, with the wall clock an hour back.
fn after(what: &str, forget: impl Fn(&Place, &dyn OwnershipStore)) {
    let place = Place::new();
    let (store, sandbox) = (place.store("gw-1"), id("sbx"));
    let fence = take(&store, &sandbox).fence;
    place.clock.step_wall(-HOUR);
    forget(&place, &store);
    assert_eq!(store.inspect(&sandbox).unwrap(), None, "{what}");
    // A look from another process that has nothing in its memory.
    let next = take(&place.store("gw-2"), &sandbox).fence;
    assert!(next > fence, "after {what}: {next} follows {fence}");
    assert!(next.get() <= fence.get() + 2, "after {what}: {next} is far beyond {fence}");
}

#[test]
fn the_fence_holds_across_everything_that_ends_a_lease() {
    let sandbox = id("sbx");
    after("release", |_, store| {
        let _ = store.release(&sandbox).unwrap();
    });
    after("expiry", |place, _| place.clock.advance(Duration::from_millis(crate::support::LONG)));
    after("expiry and a sweep", |place, store| {
        place.clock.advance(Duration::from_millis(crate::support::LONG));
        for n in 0..4 {
            take(store, &id(&format!("other-{n}")));
        }
        assert!(!place.record(&sandbox).exists(), "it was not swept up");
    });
    after("discard by force", |_, store| {
        assert_eq!(store.discard(&sandbox, true).unwrap(), DiscardOutcome::Discarded);
    });
    after("a teardown that ended", |_, store| {
        let _ = destroy(store, &sandbox);
        let _ = store.release(&sandbox).unwrap();
    });
}

#[test]
fn a_restart_of_the_host_keeps_the_mark_and_the_fences_of_records_that_are_there() {
    let place = Place::new();
    let (store, released, kept) = (place.store("gw-1"), id("released"), id("kept"));
    let (a, b) = (take(&store, &released).fence, take(&store, &kept).fence);
    let _ = store.release(&released).unwrap();
    place.clock.advance(Duration::from_secs(1));
    place.clock.reboot();
    let after = place.store("gw-2");
    assert!(take(&after, &released).fence > a);
    assert!(take(&after, &kept).fence > b);
}

#[test]
fn the_fence_of_a_void_record_is_exceeded_though_the_wall_clock_was_ahead_when_it_was_made() {
    let place = Place::new();
    let (store, sandbox) = (place.store("gw-1"), id("sbx"));
    place.clock.step_wall(HOUR);
    let fence = take(&store, &sandbox).fence;
    place.clock.step_wall(-HOUR);
    // The renewal writes the record anew, by the wall clock as it is now.
    place.clock.advance(Duration::from_millis(1));
    assert!(matches!(store.renew(&sandbox).unwrap(), RenewOutcome::Renewed(_)));
    place.clock.advance(Duration::from_secs(1));
    place.clock.reboot();
    let after = place.store("gw-2");
    assert_eq!(after.inspect(&sandbox).unwrap(), None);
    let next = take(&after, &sandbox).fence;
    assert!(next > fence, "{next} follows {fence}");
}

#[test]
fn a_wiped_directory_begins_at_the_wall_clock() {
    let place = Place::new();
    let (store, sandbox) = (place.store("gw-1"), id("sbx"));
    let fence = take(&store, &sandbox).fence;
    let _ = store.release(&sandbox).unwrap();
    for file in fs::read_dir(place.dir()).unwrap() {
        fs::remove_file(file.unwrap().path()).unwrap();
    }
    place.clock.advance(Duration::from_micros(1));
    assert!(take(&store, &sandbox).fence > fence);
}

#[test]
fn a_damaged_mark_stops_what_needs_it_and_nothing_else() {
    let place = Place::new();
    let (store, held, gone) = (place.store("gw-1"), id("held"), id("gone"));
    take(&store, &held);
    take(&store, &gone);
    let _ = store.release(&gone).unwrap();
    let whole = fs::read(place.mark()).unwrap();
    let mut flipped = whole.clone();
    flipped[9] ^= 1;
    let torn = whole[..20].to_vec();
    let longer = [whole.clone(), vec![0]].concat();
    for damaged in [flipped, torn, longer] {
        fs::write(place.mark(), &damaged).unwrap();
        assert!(matches!(store.renew(&held).unwrap(), RenewOutcome::Renewed(_)));
        assert!(matches!(store.claim(&held, Intent::Keep).unwrap(), ClaimOutcome::Claimed { .. }));
        assert_eq!(store.list().unwrap().leases.len(), 1);
        for error in [store.take(&gone).unwrap_err(), store.release(&held).unwrap_err()] {
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
            assert!(error.to_string().contains("fence-mark"), "{error}");
        }
        assert!(store.inspect(&held).unwrap().is_some(), "a release that failed released it");
        assert!(!place.record(&gone).exists(), "a take that failed left a file");
        assert_eq!(fs::read(place.mark()).unwrap(), damaged);
    }
    // The way out that the error names.
    fs::remove_file(place.mark()).unwrap();
    place.clock.advance(Duration::from_secs(1));
    take(&store, &gone);
}

#[test]
fn a_mark_that_a_power_cut_destroyed_begins_again_at_the_wall_clock() {
    for damage in [&b"LHFM"[..], &[0; 24], &[7; 700]] {
        let place = Place::new();
        let (store, sandbox) = (place.store("gw-1"), id("sbx"));
        fs::write(place.mark(), damage).unwrap();
        assert_eq!(store.take(&sandbox).unwrap_err().kind(), ErrorKind::Corrupt, "written in this boot");
        age(&place.mark());
        let fence = take(&store, &sandbox).fence;
        let _ = store.release(&sandbox).unwrap();
        assert_eq!(fs::read(place.mark()).unwrap().len(), 24, "it was not mended");
        place.clock.step_wall(-HOUR);
        assert!(take(&store, &sandbox).fence > fence);
    }
}

#[test]
fn the_mark_can_not_use_up_all_fences() {
    let place = Place::new();
    let (store, sandbox) = (place.store("gw-1"), id("sbx"));
    take(&store, &sandbox);
    // A wild fence in a record that can't be read is not believed.
    let mut bytes = fs::read(place.record(&sandbox)).unwrap();
    bytes[8..16].copy_from_slice(&(Fence::MAX.get()).to_le_bytes());
    fs::write(place.record(&sandbox), bytes).unwrap();
    assert_eq!(store.discard(&sandbox, false).unwrap(), DiscardOutcome::Discarded);
    assert!(take(&store, &sandbox).fence < Fence::new(Fence::MAX.get() / 2).unwrap());
}
