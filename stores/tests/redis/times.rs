//! Times: what the server does with a TTL, and what a client's clock has no say in.

use std::sync::Arc;
use std::time::Duration;

use leasehold::{Clock, ManualClock, OwnerId, OwnershipStore, RenewOutcome, TakeOutcome, Ttl};
use leasehold_stores::redis::{RedisConfig, RedisStore};

use crate::support::{LONG, ask, id, space, taken};

#[test]
fn the_shortest_and_the_longest_ttl_round_trip() {
    let Some(space) = space() else { return };
    let (id, mut raw) = (id("sbx-1"), space.raw());
    let long = space.open("gw-1", Ttl::MAX.as_millis());
    taken(long.as_ref(), &id);
    let left = ask(&mut raw, &["PTTL", &space.key(&id)]).int().unwrap() as u64;
    assert!((Ttl::MAX.as_millis() - 60_000..=Ttl::MAX.as_millis()).contains(&left), "{left}");
    assert!(matches!(long.renew(&id).unwrap(), RenewOutcome::Renewed(_)));

    let short = space.open("gw-2", 1);
    taken(short.as_ref(), &id);
    while ask(&mut raw, &["EXISTS", &space.key(&id)]).int() == Some(1) {}
    assert_eq!(short.renew(&id).unwrap(), RenewOutcome::Lapsed);
    assert_eq!(short.inspect(&id).unwrap(), None);
}

#[test]
fn a_lease_in_its_last_millisecond_is_live() {
    let Some(space) = space() else { return };
    let (store, id) = (space.open("gw-1", 1), id("sbx-1"));
    // As often as not the server gives this one no whole millisecond more; then there is one left, never none.
    for _ in 0..500 {
        taken(store.as_ref(), &id);
        if let Some(lease) = store.inspect(&id).unwrap() {
            assert_eq!(lease.left, Duration::from_millis(1));
        }
    }
}

#[test]
fn a_renewal_never_shortens_also_not_by_a_handle_with_a_shorter_ttl() {
    let Some(space) = space() else { return };
    let (id, mut raw) = (id("sbx-1"), space.raw());
    taken(space.open("gw-1", LONG).as_ref(), &id);
    let short = space.open("gw-1", 1_000);
    assert!(matches!(short.renew(&id).unwrap(), RenewOutcome::Renewed(_)));
    let left = ask(&mut raw, &["PTTL", &space.key(&id)]).int().unwrap();
    assert!(left > LONG as i64 / 2, "{left}");
}

#[test]
fn a_renewal_of_a_foreign_lease_changes_neither_its_value_nor_its_time() {
    let Some(space) = space() else { return };
    let (store, id, mut raw) = (space.open("gw-1", LONG), id("sbx-1"), space.raw());
    ask(&mut raw, &["SET", &space.key(&id), "own:peer", "PX", "300000"]);
    assert_eq!(store.renew(&id).unwrap(), RenewOutcome::Lost);
    assert!(ask(&mut raw, &["PTTL", &space.key(&id)]).int().unwrap() <= 300_000);
    assert_eq!(ask(&mut raw, &["EXISTS", &space.mark(&id)]).int(), Some(0));
}

#[test]
fn a_tenure_is_valid_until_the_call_was_sent_and_a_ttl_whatever_the_wall_clock_does() {
    let Some(space) = space() else { return };
    let clock = ManualClock::new();
    let url = format!("redis://{}/0?prefix={}", space.address(), space.prefix).parse().unwrap();
    let config = RedisConfig::from_url(&url).unwrap();
    let (owner, ttl) = (OwnerId::generate(), Ttl::from_millis(LONG).unwrap());
    let store = RedisStore::new(config, owner, ttl, Arc::new(clock.clone())).unwrap();
    for step in [0, 3_600_000_000, -7_200_000_000] {
        clock.step_wall(step);
        let TakeOutcome::Taken { tenure, .. } = store.take(&id("sbx-1")).unwrap() else { panic!() };
        assert_eq!(tenure.valid_until, clock.now() + ttl.as_duration());
        clock.advance(Duration::from_secs(1));
        let RenewOutcome::Renewed(renewed) = store.renew(&id("sbx-1")).unwrap() else { panic!() };
        assert_eq!(renewed.fence, tenure.fence);
        assert_eq!(renewed.valid_until, tenure.valid_until + Duration::from_secs(1));
    }
}

#[test]
fn long_ids_and_ids_that_differ_in_case_are_all_different() {
    let Some(space) = space() else { return };
    let store = space.open("gw-1", LONG);
    let ids = [id(&"X".repeat(128)), id(&"x".repeat(128)), id(&"X".repeat(127)), id("X"), id("x")];
    for id in &ids {
        taken(store.as_ref(), id);
    }
    assert_eq!(store.list().unwrap().leases.len(), ids.len());
}
