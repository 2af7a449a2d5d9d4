//! O1 at the level of system calls: behind the facade no store's operation blocks a polling thread, inline each does.

use std::time::Duration;

use leasehold::{AsyncOwnershipStore, Fence, Intent, OffloadConfig, Offloaded, OwnerId, SandboxId, Ttl};
use leasehold_conformance::is_required;
use leasehold_conformance::servers::RedisServer;
use leasehold_gate as gate;

fn id(text: &str) -> SandboxId {
    text.parse().unwrap()
}

fn ttl() -> Ttl {
    Ttl::from_millis(60_000).unwrap()
}

/// The stores that do real work outside this process, and what must live as long as they are used.
fn stores() -> (Vec<String>, tempfile::TempDir, Option<RedisServer>) {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name).display().to_string();
    let mut urls = vec![format!("file:{}", at("leases")), format!("sqlite:{}", at("leases.db"))];
    let server = match RedisServer::start(&[]) {
        Ok(server) => Some(server),
        Err(why) => {
            assert!(!is_required("redis"), "{why}");
            eprintln!("{why}");
            None
        }
    };
    urls.extend(server.as_ref().map(RedisServer::url));
    (urls, dir, server)
}

fn on_both_flavours(run: impl AsyncFn()) {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(run());
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap().block_on(run());
}

async fn every_operation(store: &Offloaded) {
    let (a, b) = (id("a"), id("b"));
    let _ = store.take(&a).await.unwrap();
    let _ = store.claim(&b, Intent::Destroy).await.unwrap();
    let _ = store.heartbeat(&b, Fence::MIN).await.unwrap();
    let _ = store.renew(&a).await.unwrap();
    let _ = store.renew_many(vec![a.clone(), b.clone()]).await;
    let _ = store.inspect(&a).await.unwrap();
    let _ = store.list().await.unwrap();
    let _ = store.release_tenure(&a, Fence::MIN).await.unwrap();
    let _ = store.release(&a).await.unwrap();
    let _ = store.discard(&b, true).await.unwrap();
    assert!(store.close(Duration::from_secs(20)).await.is_clean());
}

#[test]
fn behind_the_facade_no_operation_blocks() {
    if let gate::Status::Unavailable(why) = gate::status() {
        assert!(!is_required("gate"), "{why}");
        eprintln!("not run: {why}");
        return;
    }
    let (urls, _dir, _server) = stores();
    for url in &urls {
        on_both_flavours(async || {
            let store = leasehold_stores::open(url, OwnerId::generate(), ttl()).unwrap();
            let store = Offloaded::new(store, OffloadConfig::default()).unwrap();
            gate::strict(every_operation(&store)).await;
        });
    }
}

#[test]
fn called_inline_every_operation_trips_the_gate() {
    if let gate::Status::Unavailable(why) = gate::status() {
        assert!(!is_required("gate"), "{why}");
        eprintln!("not run: {why}");
        return;
    }
    let (urls, _dir, _server) = stores();
    for url in &urls {
        let store = leasehold_stores::open(url, OwnerId::generate(), ttl()).unwrap();
        let _ = store.take(&id("a")).unwrap();
        let calls: [(&str, &dyn Fn()); 6] = [
            ("take", &|| drop(store.take(&id("a")))),
            ("claim", &|| drop(store.claim(&id("a"), Intent::Keep))),
            ("renew", &|| drop(store.renew(&id("a")))),
            ("inspect", &|| drop(store.inspect(&id("a")))),
            ("list", &|| drop(store.list())),
            ("release", &|| drop(store.release(&id("a")))),
        ];
        for (what, call) in calls {
            let ((), violations) = gate::during(call);
            assert!(!violations.is_empty(), "{what} on {url} made no blocking call that the gate saw");
        }
    }
}
