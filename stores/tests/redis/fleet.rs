//! A mixed fleet: a foreign program with commands and scripts of its own, which writes `own:<id>` and `del:<id>` without
//! fences and compares only its own exact value, is a correct peer in both directions.

use leasehold::{
    ClaimOutcome, Intent, OwnerId, OwnershipStore, Phase, ReleaseOutcome, RenewOutcome, Replaced, SandboxId,
    TakeOutcome,
};
use leasehold_conformance::servers::RawRedis;

use crate::support::{LONG, Space, ask, id, space, taken};

/// The foreign program. It shares neither code nor scripts with the store.
struct Peer {
    raw: RawRedis,
    own: String,
    del: String,
}

impl Peer {
    const CLAIM: &str = "local v = redis.call('GET', KEYS[1]) \
        if v and v ~= ARGV[1] then return 0 end \
        redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2]) return 1";
    const TAKE: &str = "local v = redis.call('GET', KEYS[1]) \
        if v and string.sub(v, 1, 4) == 'del:' then return 0 end \
        redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2]) return 1";
    const DESTROY: &str = "local v = redis.call('GET', KEYS[1]) \
        if v and v ~= ARGV[1] and v ~= ARGV[3] then return 0 end \
        redis.call('SET', KEYS[1], ARGV[3], 'PX', ARGV[2]) return 1";
    const RENEW: &str = "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end \
        return redis.call('PEXPIRE', KEYS[1], ARGV[2])";
    const RELEASE: &str = "local v = redis.call('GET', KEYS[1]) \
        if v ~= ARGV[1] and v ~= ARGV[3] then return 0 end return redis.call('DEL', KEYS[1])";
    const ALL: [&str; 5] = [Self::CLAIM, Self::TAKE, Self::DESTROY, Self::RENEW, Self::RELEASE];

    fn new(space: &Space, name: &str) -> Self {
        Self { raw: space.raw(), own: format!("own:{name}"), del: format!("del:{name}") }
    }

    fn does(&mut self, script: &str, key: &str) -> bool {
        let words = ["EVAL", script, "1", key, &self.own, &LONG.to_string(), &self.del];
        ask(&mut self.raw, &words).int() == Some(1)
    }

    fn value(&mut self, key: &str) -> String {
        ask(&mut self.raw, &["GET", key]).text()
    }
}

struct Fleet {
    space: Space,
    store: Box<dyn OwnershipStore>,
    peer: Peer,
    id: SandboxId,
    key: String,
}

/// The peer's name has a colon and a hash, and in one fleet even the name of ours.
fn fleets() -> Option<[Fleet; 2]> {
    let fleet = |name: &str| {
        let space = space()?;
        let (store, id) = (space.open("gw-1", LONG), id("sbx-1"));
        let (peer, key) = (Peer::new(&space, name), space.key(&id));
        Some(Fleet { space, store, peer, id, key })
    };
    Some([fleet("deer:7f#x")?, fleet("gw-1")?])
}

#[test]
fn every_answer_to_a_held_lease_of_the_peer_is_that_of_a_peers() {
    for fleet in fleets().into_iter().flatten() {
        let Fleet { store, mut peer, id, key, .. } = fleet;
        let (id, key) = (&id, key.as_str());
        assert!(peer.does(Peer::CLAIM, key));
        let fence = leasehold::Fence::new(7).unwrap();
        for intent in [Intent::Keep, Intent::Destroy, Intent::DestroyTenure(fence)] {
            assert_eq!(store.claim(id, intent).unwrap(), ClaimOutcome::Refused);
        }
        assert_eq!(store.renew(id).unwrap(), RenewOutcome::Lost);
        assert_eq!(store.release(id).unwrap(), ReleaseOutcome::NotHeld);
        assert_eq!(store.release_tenure(id, fence).unwrap(), ReleaseOutcome::NotHeld);
        let lease = store.inspect(id).unwrap().unwrap();
        assert_eq!((lease.phase, lease.fence), (Phase::Held, None));
        assert_eq!(peer.value(key), peer.own, "nothing was changed");
        assert!(peer.does(Peer::RENEW, key));

        let TakeOutcome::Taken { replaced, .. } = store.take(id).unwrap() else { panic!() };
        let name = peer.own.strip_prefix("own:").unwrap();
        assert_eq!(replaced, Replaced::Peer(OwnerId::new(name).unwrap()));
        assert!(!peer.does(Peer::RENEW, key), "what was taken from the peer is lost to it");
    }
}

#[test]
fn every_answer_to_a_teardown_of_the_peer_is_that_of_a_peers() {
    for fleet in fleets().into_iter().flatten() {
        let Fleet { store, mut peer, id, key, .. } = fleet;
        let (id, key) = (&id, key.as_str());
        assert!(peer.does(Peer::DESTROY, key));
        let fence = leasehold::Fence::new(7).unwrap();
        assert_eq!(store.take(id).unwrap(), TakeOutcome::BeingDestroyed);
        for intent in [Intent::Keep, Intent::Destroy, Intent::DestroyTenure(fence)] {
            assert_eq!(store.claim(id, intent).unwrap(), ClaimOutcome::Refused);
        }
        assert_eq!(store.renew(id).unwrap(), RenewOutcome::Lost);
        assert_eq!(store.release(id).unwrap(), ReleaseOutcome::NotHeld);
        assert_eq!(store.inspect(id).unwrap().unwrap().phase, Phase::Teardown);
        assert_eq!(peer.value(key), peer.del, "nothing was changed");
        assert!(peer.does(Peer::RELEASE, key));
        assert_eq!(store.inspect(id).unwrap(), None);
    }
}

#[test]
fn the_peer_takes_what_we_hold_and_nothing_else_of_it() {
    for fleet in fleets().into_iter().flatten() {
        let Fleet { store, mut peer, id, key, .. } = fleet;
        let (id, key) = (&id, key.as_str());
        let tenure = taken(store.as_ref(), id);
        let ours = peer.value(key);
        assert_eq!(ours, format!("own:gw-1#{}", tenure.fence));
        for script in Peer::ALL.into_iter().filter(|script| *script != Peer::TAKE) {
            assert!(!peer.does(script, key), "{script}");
            assert_eq!(peer.value(key), ours, "{script}");
        }
        assert!(peer.does(Peer::TAKE, key));
        assert_eq!(store.renew(id).unwrap(), RenewOutcome::Lost);
        assert_eq!(store.release_tenure(id, tenure.fence).unwrap(), ReleaseOutcome::NotHeld);
    }
}

#[test]
fn the_peer_keeps_off_what_we_stop() {
    for fleet in fleets().into_iter().flatten() {
        let Fleet { store, mut peer, id, key, .. } = fleet;
        let (id, key) = (&id, key.as_str());
        let ClaimOutcome::Claimed { tenure, .. } = store.claim(id, Intent::Destroy).unwrap() else {
            panic!()
        };
        let ours = peer.value(key);
        for script in Peer::ALL {
            assert!(!peer.does(script, key), "{script}");
            assert_eq!(peer.value(key), ours, "{script}");
        }
        assert_eq!(store.release_tenure(id, tenure.fence).unwrap(), ReleaseOutcome::Released);
        assert!(peer.does(Peer::CLAIM, key), "what we released is free for the peer");
    }
}

#[test]
fn fences_grow_across_the_peers_tenures_which_have_none() {
    for fleet in fleets().into_iter().flatten() {
        let Fleet { space, store, mut peer, id, key } = fleet;
        let (id, key) = (&id, key.as_str());
        let first = taken(store.as_ref(), id).fence;
        // A mark from the future tells a fence that was remembered from one that the clock gave.
        let ahead = first.get() + 1_000_000_000_000;
        ask(&mut peer.raw, &["SET", &space.mark(id), &ahead.to_string()]);
        assert!(peer.does(Peer::TAKE, key));
        let second = taken(store.as_ref(), id).fence;
        assert_eq!(second.get(), ahead + 1);
    }
}
