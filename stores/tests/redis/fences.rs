//! Fences grow, whatever happens to the record in between.

use leasehold::{ClaimOutcome, DiscardOutcome, ErrorKind, Fence, Intent, ReleaseOutcome, RenewOutcome};

use crate::support::{LONG, Space, ask, id, server, space, taken};

const DAY: i64 = 86_400_000;

/// Larger than any clock gives for a century: a fence above it was remembered.
const AHEAD: u64 = 8_000_000_000_000_000;

#[test]
fn a_fence_is_remembered_when_the_record_is_released_expires_or_is_discarded() {
    let Some(space) = space() else { return };
    let (store, id, mut raw) = (space.open("gw-1", LONG), id("sbx-1"), space.raw());
    ask(&mut raw, &["SET", &space.mark(&id), &AHEAD.to_string()]);
    for round in 1..=4 {
        assert_eq!(taken(store.as_ref(), &id).fence.get(), AHEAD + round);
        match round {
            1 => assert_eq!(store.release(&id).unwrap(), ReleaseOutcome::Released),
            2 => assert_eq!(ask(&mut raw, &["PEXPIRE", &space.key(&id), "-1"]).int(), Some(1)),
            3 => assert_eq!(store.discard(&id, true).unwrap(), DiscardOutcome::Discarded),
            _ => {}
        }
    }
}

#[test]
fn a_release_writes_a_mark_that_was_lost() {
    let Some(space) = space() else { return };
    let (store, id, mut raw) = (space.open("gw-1", LONG), id("sbx-1"), space.raw());
    for forget in [true, false] {
        ask(&mut raw, &["SET", &space.mark(&id), &AHEAD.to_string()]);
        let fence = taken(store.as_ref(), &id).fence;
        ask(&mut raw, &["DEL", &space.mark(&id)]);
        if forget {
            assert_eq!(store.release(&id).unwrap(), ReleaseOutcome::Released);
        } else {
            assert_eq!(store.discard(&id, true).unwrap(), DiscardOutcome::Discarded);
        }
        assert!(taken(store.as_ref(), &id).fence > fence);
        let _ = store.release(&id).unwrap();
    }
}

#[test]
fn after_the_server_lost_everything_fences_still_grow() {
    let Some(server) = server(&[]) else { return };
    let space = Space::on(&server);
    let (store, id) = (space.open("gw-1", LONG), id("sbx-1"));
    let before = taken(store.as_ref(), &id).fence;
    ask(&mut space.raw(), &["FLUSHALL"]);
    assert_eq!(store.claim(&id, Intent::DestroyTenure(before)).unwrap(), ClaimOutcome::Lapsed);
    assert!(taken(store.as_ref(), &id).fence > before);
}

#[test]
fn a_mark_outlives_its_lease_by_a_day_and_renewals_see_to_it() {
    let Some(space) = space() else { return };
    let (store, id, mut raw) = (space.open_when_due("gw-1", LONG), id("sbx-1"), space.raw());
    let (key, mark) = (space.key(&id), space.mark(&id));
    let fence = taken(store.as_ref(), &id).fence;
    let damages: [&[&str]; 3] = [&["PTTL", &mark], &["PEXPIRE", &mark, "1000"], &["DEL", &mark]];
    for damage in damages {
        ask(&mut raw, damage);
        assert!(matches!(store.renew(&id).unwrap(), RenewOutcome::Renewed(_)));
        let (lease, beyond) = (ask(&mut raw, &["PTTL", &key]).int(), ask(&mut raw, &["PTTL", &mark]).int());
        assert!(beyond.unwrap() >= lease.unwrap() + DAY, "{damage:?}: {lease:?}, {beyond:?}");
        assert_eq!(ask(&mut raw, &["GET", &mark]).text(), fence.to_string(), "{damage:?}");
    }
}

#[test]
fn a_claim_of_what_is_mine_sees_to_the_mark_as_a_renewal_does() {
    let Some(space) = space() else { return };
    let (store, id, mut raw) = (space.open_when_due("gw-1", LONG), id("sbx-1"), space.raw());
    for intent in [Intent::Keep, Intent::Destroy] {
        let _ = store.claim(&id, intent).unwrap();
        ask(&mut raw, &["DEL", &space.mark(&id)]);
        let _ = store.claim(&id, intent).unwrap();
        let mark = ask(&mut raw, &["GET", &space.mark(&id)]).text();
        assert_eq!(store.inspect(&id).unwrap().unwrap().fence.unwrap().to_string(), mark, "{intent:?}");
    }
}

#[test]
fn no_fence_is_made_up_when_none_is_left() {
    let Some(space) = space() else { return };
    let (store, id, mut raw) = (space.open("gw-1", LONG), id("sbx-1"), space.raw());
    ask(&mut raw, &["SET", &space.mark(&id), &Fence::MAX.to_string()]);
    let error = store.take(&id).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    assert_eq!(store.inspect(&id).unwrap(), None);
}

#[test]
fn the_largest_fence_there_is_survives_the_way_through_the_script() {
    let Some(space) = space() else { return };
    let (store, id, mut raw) = (space.open("gw-1", LONG), id("sbx-1"), space.raw());
    ask(&mut raw, &["SET", &space.mark(&id), &(Fence::MAX.get() - 1).to_string()]);
    assert_eq!(taken(store.as_ref(), &id).fence, Fence::MAX);
    assert_eq!(store.inspect(&id).unwrap().unwrap().fence, Some(Fence::MAX));
    assert_eq!(store.release_tenure(&id, Fence::MAX).unwrap(), ReleaseOutcome::Released);
}
