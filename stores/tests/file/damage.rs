//! What is no whole record of its id is an error, stays as it is, hides nothing else, and can be discarded.

use std::fs;

use leasehold::{DiscardOutcome, ErrorKind, OwnershipStore};

use crate::support::{Place, age, assert_all_fail, fence_of, id, take};

/// The bytes of a record, and what the test does to them.
fn with_damage(damage: impl Fn(&mut Vec<u8>), says: &str) {
    let place = Place::new();
    let (store, hurt, well) = (place.store("gw-1"), id("hurt"), id("well"));
    let fence = take(&store, &hurt).fence;
    take(&store, &well);
    let mut bytes = fs::read(place.record(&hurt)).unwrap();
    damage(&mut bytes);
    fs::write(place.record(&hurt), &bytes).unwrap();

    assert_all_fail(&store, &hurt, ErrorKind::Corrupt, says);
    let error = store.inspect(&hurt).unwrap_err().to_string();
    assert!(error.contains(says), "{error}");
    assert!(error.contains(place.record(&hurt).to_str().unwrap()), "{error}");
    let listing = store.list().unwrap();
    assert_eq!(listing.leases.iter().map(|(id, _)| id).collect::<Vec<_>>(), [&well], "{says}");
    assert_eq!(listing.damaged.iter().map(|d| d.id.clone()).collect::<Vec<_>>(), [Some(hurt.clone())]);
    assert_eq!(fs::read(place.record(&hurt)).unwrap(), bytes, "{says}: the bytes were changed");

    assert_eq!(store.discard(&hurt, false).unwrap(), DiscardOutcome::Discarded, "{says}");
    assert_eq!(store.inspect(&hurt).unwrap(), None, "{says}");
    assert!(take(&store, &hurt).fence > fence, "{says}: the fence was forgotten");
}

#[test]
fn every_length_but_that_of_a_record_and_none_is_corrupt() {
    let place = Place::new();
    let (store, sandbox) = (place.store("gw-1"), id("sbx"));
    take(&store, &sandbox);
    let whole = fs::read(place.record(&sandbox)).unwrap();
    assert_eq!(whole.len(), 512);
    for len in (1..512).chain([513, 1_024, 100_000]) {
        let mut bytes = whole.clone();
        bytes.resize(len, 0);
        fs::write(place.record(&sandbox), &bytes).unwrap();
        assert_all_fail(&store, &sandbox, ErrorKind::Corrupt, &format!("{len} bytes"));
        assert_eq!(fs::read(place.record(&sandbox)).unwrap(), bytes, "{len} bytes were changed");
    }
    fs::write(place.record(&sandbox), &whole).unwrap();
    assert!(store.inspect(&sandbox).unwrap().is_some());
}

#[test]
fn every_flipped_byte_is_corrupt() {
    let place = Place::new();
    let (store, sandbox) = (place.store("gw-1"), id("sbx"));
    take(&store, &sandbox);
    let whole = fs::read(place.record(&sandbox)).unwrap();
    for at in 0..512 {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        fs::write(place.record(&sandbox), &bytes).unwrap();
        assert_all_fail(&store, &sandbox, ErrorKind::Corrupt, &format!("byte {at} flipped"));
        assert_eq!(fs::read(place.record(&sandbox)).unwrap(), bytes, "byte {at}");
    }
}

#[test]
fn each_kind_of_damage_is_named_and_can_be_discarded() {
    with_damage(|bytes| bytes.truncate(40), "cut short");
    with_damage(|bytes| bytes.truncate(500), "cut short");
    with_damage(|bytes| bytes.fill(0), "not a lease record");
    with_damage(|bytes| bytes[4] = 2, "version 2");
    with_damage(|bytes| bytes[12] ^= 0xff, "checksum");
    with_damage(|bytes| bytes[511] = 1, "bytes follow");
    with_damage(|bytes| bytes.push(0), "more than 512");
    with_damage(|bytes| *bytes = b"what is this".repeat(50)[..512].to_vec(), "not a lease record");
}

#[test]
fn another_ids_record_is_corrupt() {
    let place = Place::new();
    let (store, a, b) = (place.store("gw-1"), id("a"), id("A"));
    take(&store, &a);
    fs::copy(place.record(&a), place.record(&b)).unwrap();
    assert_all_fail(&store, &b, ErrorKind::Corrupt, "misplaced");
    assert!(store.inspect(&a).unwrap().is_some());
}

/// Whoever made the file was killed before writing it.
#[test]
fn a_file_of_length_zero_is_absent() {
    let place = Place::new();
    let (store, sandbox) = (place.store("gw-1"), id("sbx"));
    let fence = take(&store, &sandbox).fence;
    let _ = store.release(&sandbox).unwrap();
    let make = || fs::write(place.record(&sandbox), "").unwrap();

    make();
    assert_eq!(store.inspect(&sandbox).unwrap(), None);
    assert_eq!(store.renew(&sandbox).unwrap(), leasehold::RenewOutcome::Lapsed);
    assert_eq!(store.release(&sandbox).unwrap(), leasehold::ReleaseOutcome::NotHeld);
    assert_eq!(fs::metadata(place.record(&sandbox)).unwrap().len(), 0);
    let listing = store.list().unwrap();
    assert!(listing.leases.is_empty() && listing.damaged.is_empty(), "{listing:?}");
    assert_eq!(store.discard(&sandbox, false).unwrap(), DiscardOutcome::Absent);
    assert!(!place.record(&sandbox).exists());
    make();
    assert!(take(&store, &sandbox).fence > fence);
}

/// Nothing is synced to the disk, so a power cut leaves what it likes of the records of that boot.
#[test]
fn what_a_power_cut_left_is_void_and_its_fence_lives_on() {
    type Damage = fn(&mut Vec<u8>);
    let damages: [(&str, Damage); 5] = [
        ("whole", |_| {}),
        ("zeros", |bytes| bytes.fill(0)),
        ("torn", |bytes| bytes.truncate(30)),
        ("torn behind the fence", |bytes| bytes[40..].fill(0)),
        ("longer", |bytes| bytes.extend([7; 600])),
    ];
    for (what, damage) in damages {
        let place = Place::new();
        let (store, sandbox) = (place.store("gw-1"), id("sbx"));
        let fence = take(&store, &sandbox).fence;
        let mut bytes = fs::read(place.record(&sandbox)).unwrap();
        damage(&mut bytes);
        fs::write(place.record(&sandbox), &bytes).unwrap();
        age(&place.record(&sandbox));

        place.clock.advance(std::time::Duration::from_secs(1));
        place.clock.reboot();
        let after = place.store("gw-2");
        assert_eq!(after.inspect(&sandbox).unwrap(), None, "{what}");
        assert!(after.list().unwrap().damaged.is_empty(), "{what}");
        assert_eq!(fs::read(place.record(&sandbox)).unwrap(), bytes, "{what}: a look changed it");
        let next = take(&after, &sandbox).fence;
        assert!(next > fence, "{what}: {next} after {fence}");
        assert_eq!(fence_of(&after, &sandbox), Some(next), "{what}");
    }
}

/// A wall clock that was set forward makes this kernel look younger than the file; the boot id in it does not lie.
#[test]
fn damage_of_this_boot_is_not_void_because_the_wall_clock_was_set() {
    let place = Place::new();
    let (store, sandbox) = (place.store("gw-1"), id("sbx"));
    take(&store, &sandbox);
    let mut bytes = fs::read(place.record(&sandbox)).unwrap();
    bytes[60] ^= 1;
    fs::write(place.record(&sandbox), bytes).unwrap();
    age(&place.record(&sandbox));
    assert_all_fail(&store, &sandbox, ErrorKind::Corrupt, "aged");
}

#[test]
fn a_live_lease_that_can_be_read_is_discarded_by_force_alone() {
    let place = Place::new();
    let (store, sandbox) = (place.store("gw-1"), id("sbx"));
    let fence = take(&store, &sandbox).fence;
    let DiscardOutcome::Refused(lease) = store.discard(&sandbox, false).unwrap() else { panic!() };
    assert_eq!(lease.fence, Some(fence));
    assert_eq!(fence_of(&store, &sandbox), Some(fence));
    assert_eq!(store.discard(&sandbox, true).unwrap(), DiscardOutcome::Discarded);
    assert_eq!(fence_of(&store, &sandbox), None);
    take(&store, &sandbox);
    place.clock.advance(std::time::Duration::from_millis(crate::support::LONG));
    assert_eq!(store.discard(&sandbox, false).unwrap(), DiscardOutcome::Absent);
    assert_eq!(place.records(), 0);
}

#[test]
fn files_of_others_are_ignored_and_records_without_an_id_are_shown() {
    let place = Place::new();
    let (store, sandbox) = (place.store("gw-1"), id("sbx"));
    take(&store, &sandbox);
    for name in ["README", "sbx.lease.bak", "a b.lease", "SBX.lease"] {
        fs::write(place.dir().join(name), "something").unwrap();
    }
    let listing = store.list().unwrap();
    assert_eq!(listing.leases.len(), 1);
    let mut places: Vec<_> = listing.damaged.iter().map(|d| (d.id.clone(), d.place.clone())).collect();
    places.sort();
    let path = |name: &str| place.dir().join(name).display().to_string();
    assert_eq!(places, [(None, path("SBX.lease")), (None, path("a b.lease"))]);
}
