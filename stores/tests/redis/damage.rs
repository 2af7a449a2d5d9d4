//! What is under a lease's key and no lease: an error for that id, left alone by everything but `discard`.

use leasehold::{
    DiscardOutcome, ErrorKind, Fence, Intent, OwnershipStore, RenewOutcome, SandboxId, StoreError,
};
use leasehold_conformance::servers::RawRedis;

use crate::support::{LONG, Space, ask, id, space, taken};

/// Values that no version ever wrote, all with a TTL.
fn values() -> Vec<Vec<u8>> {
    let mut values: Vec<Vec<u8>> = [
        "",
        "own",
        "own:",
        "del:",
        "OWN:gw-1",
        "gw-1",
        "own2:gw-1",
        "own:#7",
        "own:gw-1#0",
        "own:gw-1#007",
        "own:gw-1#9007199254740992",
        "own:gw-1#99999999999999999999",
        "own:gw\n1#7",
        "own:gw\u{7f}",
        "own:gw\0",
        "own:\u{85}",
    ]
    .map(|text| text.as_bytes().to_vec())
    .to_vec();
    // Not UTF-8: alone, cut short, overlong, a surrogate, beyond the last character.
    for bytes in [
        &b"\xff"[..],
        b"\xc3",
        b"\xe2\x82",
        b"\xc0\x80",
        b"\xe0\x80\x80",
        b"\xed\xa0\x80",
        b"\xf4\x90\x80\x80",
    ] {
        values.push([b"own:gw", bytes].concat());
    }
    values.push(format!("own:{}#7", "x".repeat(256)).into_bytes());
    values
}

/// Everything that could take a record for absent or overwrite it.
fn touch_all(store: &dyn OwnershipStore, id: &SandboxId) -> Vec<StoreError> {
    let fence = Fence::new(7).unwrap();
    let mut errors = vec![
        store.take(id).unwrap_err(),
        store.renew(id).unwrap_err(),
        store.release(id).unwrap_err(),
        store.release_tenure(id, fence).unwrap_err(),
        store.inspect(id).unwrap_err(),
    ];
    let intents = [Intent::Keep, Intent::Destroy, Intent::DestroyTenure(fence)];
    errors.extend(intents.map(|intent| store.claim(id, intent).unwrap_err()));
    errors
}

fn bytes_of(raw: &mut RawRedis, space: &Space, id: &SandboxId) -> String {
    format!("{:?} {:?}", ask(raw, &["DUMP", &space.key(id)]), ask(raw, &["EXISTS", &space.mark(id)]))
}

fn is_left_alone(space: &Space, store: &dyn OwnershipStore, id: &SandboxId, what: &str) {
    let mut raw = space.raw();
    let before = bytes_of(&mut raw, space, id);
    for error in touch_all(store, id) {
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{what}: {error}");
        assert_eq!(error.id(), Some(id), "{what}: {error}");
        assert!(error.to_string().contains(&space.key(id)), "{what}: {error}");
    }
    let listing = store.list().unwrap();
    assert!(listing.damaged.iter().any(|d| d.id.as_ref() == Some(id)), "{what}: {listing:?}");
    assert_eq!(bytes_of(&mut raw, space, id), before, "{what}");
    assert_eq!(store.discard(id, false).unwrap(), DiscardOutcome::Discarded, "{what}");
    assert_eq!(store.inspect(id).unwrap(), None, "{what}");
    taken(store, id);
}

#[test]
fn a_value_that_is_no_lease_is_corrupt_and_left_alone() {
    let Some(space) = space() else { return };
    let (store, id, mut raw) = (space.open("gw-1", LONG), id("sbx-1"), space.raw());
    for value in values() {
        raw.must(&[b"SET", space.key(&id).as_bytes(), &value, b"PX", b"600000"]).unwrap();
        is_left_alone(&space, store.as_ref(), &id, &format!("{:?}", String::from_utf8_lossy(&value)));
    }
}

#[test]
fn another_type_is_corrupt_and_left_alone() {
    let Some(space) = space() else { return };
    let (store, id, mut raw) = (space.open("gw-1", LONG), id("sbx-1"), space.raw());
    let key = space.key(&id);
    let others: [&[&str]; 5] = [
        &["RPUSH", &key, "own:gw-1#7"],
        &["HSET", &key, "own:gw-1#7", "1"],
        &["SADD", &key, "own:gw-1#7"],
        &["ZADD", &key, "1", "own:gw-1#7"],
        &["XADD", &key, "*", "own:gw-1#7", "1"],
    ];
    for plant in others {
        ask(&mut raw, &["DEL", &key]);
        ask(&mut raw, plant);
        is_left_alone(&space, store.as_ref(), &id, plant[0]);
    }
}

#[test]
fn a_lease_without_a_ttl_is_corrupt_and_not_given_one() {
    let Some(space) = space() else { return };
    let (store, id, mut raw) = (space.open("gw-1", LONG), id("sbx-1"), space.raw());
    for value in ["own:gw-1#7", "del:gw-1#7", "own:peer"] {
        ask(&mut raw, &["SET", &space.key(&id), value]);
        is_left_alone(&space, store.as_ref(), &id, value);
    }
}

#[test]
fn discarding_a_readable_record_without_a_ttl_remembers_its_fence() {
    let Some(space) = space() else { return };
    let (store, id, mut raw) = (space.open("gw-1", LONG), id("sbx-1"), space.raw());
    let ahead = 8_000_000_000_000_000_u64;
    ask(&mut raw, &["SET", &space.key(&id), &format!("own:gw-9#{ahead}")]);
    assert_eq!(store.discard(&id, false).unwrap(), DiscardOutcome::Discarded);
    assert_eq!(taken(store.as_ref(), &id).fence.get(), ahead + 1);
}

#[test]
fn names_that_are_right_are_read_right() {
    let Some(space) = space() else { return };
    let (store, id, mut raw) = (space.open("gw-1", LONG), id("sbx-1"), space.raw());
    for (name, fence) in [
        ("é€😀\u{a0}\u{7ff}\u{800}\u{d7ff}\u{e000}\u{ffff}\u{10ffff}", Some(7)),
        ("a#7#8x", Some(9)),
        ("#", None),
        (&"x".repeat(255), Some(9_007_199_254_740_991)),
    ] {
        let suffix = fence.map(|n| format!("#{n}")).unwrap_or_default();
        ask(&mut raw, &["SET", &space.key(&id), &format!("own:{name}{suffix}"), "PX", "600000"]);
        let lease = store.inspect(&id).unwrap().unwrap();
        assert_eq!((lease.owner.as_str(), lease.fence.map(Fence::get)), (name, fence));
    }
}

#[test]
fn a_mark_that_is_no_fence_stops_new_tenures_alone() {
    let Some(space) = space() else { return };
    let (store, held, id, mut raw) =
        (space.open_when_due("gw-1", LONG), id("held"), id("sbx-1"), space.raw());
    taken(store.as_ref(), &held);
    for (id, plant) in [(&held, "SET"), (&id, "SET"), (&id, "RPUSH")] {
        ask(&mut raw, &["DEL", &space.mark(id)]);
        ask(&mut raw, &[plant, &space.mark(id), "many"]);
        let error = store.take(id).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
        if id == &held {
            assert!(matches!(store.renew(id).unwrap(), RenewOutcome::Renewed(_)));
            continue;
        }
        assert_eq!(store.inspect(id).unwrap(), None);
        assert_eq!(store.discard(id, false).unwrap(), DiscardOutcome::Discarded, "and discard mends it");
        taken(store.as_ref(), id);
        let _ = store.release(id).unwrap();
    }
}

#[test]
fn what_is_wrong_is_said_without_repeating_what_was_found() {
    let Some(space) = space() else { return };
    let (store, id, mut raw) = (space.open("gw-1", LONG), id("sbx-1"), space.raw());
    ask(&mut raw, &["SET", &space.key(&id), "token=hunter2", "PX", "600000"]);
    let errors = touch_all(store.as_ref(), &id);
    assert!(!format!("{errors:?} {:?}", store.list().unwrap()).contains("hunter2"));
}
