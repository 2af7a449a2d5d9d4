//! Called inline, every operation of every store that works outside this process blocks, and the gate sees it. That none of
//! it shows behind the facade is O1 of the kit's facade tier, which each store's own suite has: this is how one knows that
//! it would have shown.

use leasehold::{Intent, OwnerId, OwnershipStore, SandboxId, TakeOutcome, Ttl};
use leasehold_conformance::not_run;
use leasehold_conformance::servers::RedisServer;
use leasehold_gate as gate;

fn id(text: &str) -> SandboxId {
    text.parse().unwrap()
}

fn every_operation_trips(url: &str) {
    if let Err(why) = gate::require() {
        return not_run("gate", why);
    }
    let ttl = Ttl::from_millis(60_000).unwrap();
    let store = leasehold_stores::open(url, OwnerId::generate(), ttl).unwrap();
    let (a, b) = (id("a"), id("b"));
    // Taken before, so that a fence is known: what refuses may find everything in memory, and what changes can't.
    let TakeOutcome::Taken { tenure, .. } = store.take(&a).unwrap() else {
        panic!("a fresh store refused a take")
    };
    let calls: [(&str, &dyn Fn()); 10] = [
        ("claim", &|| drop(store.claim(&a, Intent::Keep))),
        ("renew", &|| drop(store.renew(&a))),
        ("renew_many", &|| drop(store.renew_many(&[a.clone(), b.clone()]))),
        ("inspect", &|| drop(store.inspect(&a))),
        ("list", &|| drop(store.list())),
        ("release_tenure", &|| drop(store.release_tenure(&a, tenure.fence))),
        ("take", &|| drop(store.take(&a))),
        ("release", &|| drop(store.release(&a))),
        ("a claim that begins a Teardown", &|| drop(store.claim(&b, Intent::Destroy))),
        ("discard", &|| drop(store.discard(&b, true))),
    ];
    for (what, call) in calls {
        let ((), violations) = gate::during(call);
        assert!(!violations.is_empty(), "{what} on {url} made no blocking call that the gate saw");
    }
}

#[test]
fn of_the_file_store() {
    let dir = tempfile::tempdir().unwrap();
    every_operation_trips(&format!("file:{}", dir.path().join("leases").display()));
}

#[test]
fn of_the_sqlite_store() {
    let dir = tempfile::tempdir().unwrap();
    every_operation_trips(&format!("sqlite:{}", dir.path().join("leases.db").display()));
}

#[test]
fn of_the_redis_store() {
    match RedisServer::start(&[]) {
        Ok(server) => every_operation_trips(&server.url()),
        Err(why) => not_run("redis", why),
    }
}
