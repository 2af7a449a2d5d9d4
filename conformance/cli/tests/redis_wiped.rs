//! A Redis that comes back empty under a working fleet: nobody loses what they use.

#[path = "support/yard.rs"]
#[allow(dead_code, reason = "each test uses a part of it")]
mod yard;

use std::sync::Arc;
use std::time::Duration;

use leasehold::{
    Acquire, BackendOperation, OffloadConfig, Offloaded, OwnerId, OwnershipConfig, Provider, ProviderConfig,
    Sandbox, SessionKey, ShutdownMode,
};
use leasehold_conformance::servers::RedisServer;
use leasehold_conformance::{Unready, is_required};

use crate::yard::Yard;

const SANDBOXES: usize = 50;
/// These are warm on one gateway when another takes them into use, just before the wipe.
const HANDED_ON: usize = 15;

fn config(home: &std::path::Path) -> ProviderConfig {
    let ownership = OwnershipConfig::new(Duration::from_millis(300), 8.0).unwrap();
    let mut config = ProviderConfig::new("test".parse().unwrap()).with_ownership(ownership).with_home(home);
    config.capacity = None;
    config.idle_timeout = Duration::ZERO;
    config.reap_interval = Duration::from_millis(200);
    config.adopt_interval = Duration::from_millis(300);
    config
}

async fn gateway(url: &str, yard: &Yard, home: &std::path::Path) -> Provider {
    let config = config(home);
    let leases = leasehold_stores::open(url, OwnerId::generate(), config.ownership.ttl()).unwrap();
    let offload = OffloadConfig { deadline: Duration::from_secs(1), ..OffloadConfig::default() };
    let store = Offloaded::new(leases, offload).unwrap();
    Provider::builder(config, Arc::new(store), Arc::new(yard.clone())).start().await.unwrap()
}

async fn acquire(gateway: &Provider, n: usize) -> Sandbox {
    let session = SessionKey::new("ada", &format!("thread-{n}")).unwrap();
    gateway.acquire(Acquire::session(session).within(Duration::from_secs(20))).await.unwrap()
}

#[tokio::test]
async fn a_redis_that_comes_back_empty_takes_nothing_away_from_those_who_use_it() {
    let mut server = match RedisServer::start(&[]) {
        Ok(server) => server,
        Err(Unready::NotRun(why)) => {
            assert!(!is_required("redis"), "{why}");
            eprintln!("not run: {why}");
            return;
        }
        Err(why) => panic!("{why}"),
    };
    let (home, yard) = (tempfile::tempdir().unwrap(), Yard::new());
    let mut fleet = Vec::new();
    for _ in 0..3 {
        fleet.push(gateway(&server.url(), &yard, &home.path().join("home")).await);
    }
    let mut held = Vec::new();
    for n in 0..SANDBOXES {
        if n < HANDED_ON {
            drop(acquire(&fleet[n % 3], n).await);
        } else {
            held.push(acquire(&fleet[n % 3], n).await);
        }
    }
    for n in 0..HANDED_ON {
        held.push(acquire(&fleet[(n + 1) % 3], n).await);
    }
    server.kill();
    server.restart_empty().unwrap();
    assert_eq!(server.connect().unwrap().ask(&["DBSIZE"]).unwrap().int(), Some(0), "it came back empty");

    // As long as everything that could go wrong would take: leases run out, are watched, adopted, and come of age.
    let config = config(home.path());
    tokio::time::sleep(config.ownership.ttl().as_duration() + config.grace() + config.horizon()).await;
    for sandbox in &held {
        assert_eq!(sandbox.is_lost(), None, "{}", sandbox.id());
    }
    assert_eq!(yard.instances().len(), SANDBOXES);
    assert_eq!((yard.calls(BackendOperation::Condemn), yard.calls(BackendOperation::Destroy)), (0, 0));
    for gateway in &fleet {
        let rows = gateway.status().sandboxes;
        let (active, others): (Vec<_>, Vec<_>) = rows.iter().partition(|row| row.holders > 0);
        assert!(active.iter().all(|row| row.fence.is_some()), "every one in use has its lease again");
        assert!(others.is_empty(), "what is in use elsewhere was not adopted: {others:?}");
    }
    drop(held);
    for gateway in fleet {
        let report = gateway.shutdown(ShutdownMode::HandOver, Duration::from_secs(20)).await;
        assert!(report.is_clean(), "{report:?}");
    }
}
