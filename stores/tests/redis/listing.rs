//! `list`: everything that is there throughout, once, and nothing of anybody else.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

use leasehold::{ErrorKind, Phase};

use crate::support::{Dice, LONG, ask, id, space, taken};

#[test]
fn what_is_there_throughout_is_listed_once_while_others_come_and_go() {
    let Some(space) = space() else { return };
    let (store, mut raw) = (space.open("gw-1", LONG), space.raw());
    let constant: BTreeSet<_> = (0..5_000).map(|n| id(&format!("still-{n}"))).collect();
    for id in &constant {
        ask(&mut raw, &["SET", &space.key(id), "own:peer", "PX", "600000"]);
    }
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // Keys come and go in thousands, so that the server's table grows and shrinks under the cursor.
        scope.spawn(|| {
            let (mut raw, mut dice) = (space.raw(), Dice(7));
            for _ in 0..1_000_000 {
                if done.load(Ordering::Relaxed) {
                    return;
                }
                let key = space.key(&id(&format!("brief-{}", dice.roll(3_000))));
                let gone = dice.roll(2) == 0;
                let (del, set) = (["DEL", &key], ["SET", &key, "own:peer", "PX", "600000"]);
                ask(&mut raw, if gone { &del } else { &set });
            }
        });
        for _ in 0..10 {
            let listing = store.list().unwrap();
            let mut listed: Vec<_> =
                listing.leases.iter().map(|(id, _)| id.clone()).filter(|id| constant.contains(id)).collect();
            listed.sort();
            assert!(listed.iter().eq(constant.iter()), "{} of {}", listed.len(), constant.len());
            assert!(listing.damaged.is_empty());
        }
        done.store(true, Ordering::Relaxed);
    });
}

#[test]
fn a_list_says_what_inspect_says() {
    let Some(space) = space() else { return };
    let (store, peer) = (space.open("gw-1", LONG), space.open("gw-2", LONG));
    let tenure = taken(store.as_ref(), &id("a"));
    let _ = peer.claim(&id("b"), leasehold::Intent::Destroy).unwrap();
    let mut leases = store.list().unwrap().leases;
    leases.sort_by(|(a, _), (b, _)| a.cmp(b));
    let [(a, mine), (b, theirs)] = &leases[..] else { panic!("{leases:?}") };
    assert_eq!((a.as_str(), mine.phase, mine.fence), ("a", Phase::Held, Some(tenure.fence)));
    assert_eq!((b.as_str(), theirs.phase, theirs.owner.as_str()), ("b", Phase::Teardown, "gw-2"));
}

#[test]
fn a_prefix_with_glob_characters_means_itself() {
    for (prefix, other) in
        [("a*c", "abc"), ("a?c", "abc"), ("a[b]c", "abc"), ("a[^b]c", "axc"), (r"a\c", "ac")]
    {
        let Some(space) = space() else { return };
        let prefix = format!("{}:{prefix}", space.prefix);
        let other = format!("{}:{other}:sbx", space.prefix);
        let space = space.with_prefix(&prefix);
        let store = space.open("gw-1", LONG);
        taken(store.as_ref(), &id("mine"));
        ask(&mut space.raw(), &["SET", &other, "own:peer", "PX", "600000"]);
        let leases = store.list().unwrap().leases;
        assert_eq!(leases.iter().map(|(id, _)| id.as_str()).collect::<Vec<_>>(), ["mine"], "{prefix}");
    }
}

#[test]
fn namespaces_do_not_see_each_other_even_where_one_prefix_begins_with_the_other() {
    let Some(outer) = space() else { return };
    let nested = format!("{}:eu", outer.prefix);
    let store = outer.open("gw-1", LONG);
    taken(store.as_ref(), &id("a"));
    let inner = outer.with_prefix(&nested);
    let inner_store = inner.open("gw-1", LONG);
    taken(inner_store.as_ref(), &id("b"));
    let names = |leases: Vec<(leasehold::SandboxId, _)>| {
        leases.into_iter().map(|(id, _)| id.to_string()).collect::<Vec<_>>()
    };
    let listing = store.list().unwrap();
    assert!(listing.damaged.is_empty(), "{listing:?}");
    assert_eq!(names(listing.leases), ["a"]);
    assert_eq!(names(inner_store.list().unwrap().leases), ["b"]);
}

#[test]
fn a_stray_key_is_shown_as_damaged_and_hides_nothing() {
    let Some(space) = space() else { return };
    let (store, mut raw) = (space.open("gw-1", LONG), space.raw());
    taken(store.as_ref(), &id("good"));
    let key = |name: &str| format!("{}:{name}", space.prefix);
    ask(&mut raw, &["HSET", &key("e2b-capacity"), "used", "3"]);
    ask(&mut raw, &["SET", &key("not an id"), "own:gw-1#7", "PX", "600000"]);
    raw.must(&[b"SET", [key("").as_bytes(), b"\xff"].concat().as_slice(), b"own:gw-1", b"PX", b"600000"])
        .unwrap();
    let listing = store.list().unwrap();
    assert_eq!(listing.leases.len(), 1);
    assert!(listing.damaged.iter().all(|d| d.error.kind() == ErrorKind::Corrupt), "{listing:?}");
    let ids: BTreeSet<_> = listing.damaged.iter().map(|d| d.id.as_ref().map(ToString::to_string)).collect();
    assert_eq!(listing.damaged.len(), 3, "{listing:?}");
    assert_eq!(ids, BTreeSet::from([None, Some("e2b-capacity".to_owned())]));
}
