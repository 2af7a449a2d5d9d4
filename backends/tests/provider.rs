//! The process backend under the provider that it is made for: two gateways, one host, real sandboxes.

#![cfg(target_os = "linux")]

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use leasehold::{
    Acquire, Command, Exit, OffloadConfig, Offloaded, Output, OwnerId, Provider, ProviderConfig, Sandbox,
    SandboxBackend, SessionKey, ShutdownMode, Ttl,
};
use leasehold_backends::process::{ProcessBackend, ProcessConfig};

const PATIENCE: Duration = Duration::from_secs(60);

async fn gateway(place: &Path) -> Provider {
    let owner = OwnerId::generate();
    let mut config = ProviderConfig::new("x".parse().unwrap()).with_home(place.join("home"));
    config.reaping_paused = true;
    let ttl = Ttl::from_millis(config.ownership.ttl().as_duration().as_millis() as u64).unwrap();
    let url = format!("file:{}", place.join("leases").display());
    let store = leasehold_stores::open(&url, owner, ttl).unwrap();
    let store = Offloaded::new(store, OffloadConfig::default()).unwrap();
    Provider::builder(config, Arc::new(store), Arc::new(backend(place))).start().await.unwrap()
}

fn backend(place: &Path) -> ProcessBackend {
    let config = ProcessConfig::new(place.join("sandboxes"), "x".parse().unwrap(), ["sleep", "1000"]);
    ProcessBackend::new(config).unwrap()
}

async fn acquire(gateway: &Provider) -> Sandbox {
    let session = SessionKey::new("ada", "thread-7").unwrap();
    gateway.acquire(Acquire::session(session).within(PATIENCE)).await.unwrap()
}

async fn said(sandbox: &Sandbox, script: &str) -> String {
    let command = Command::new("sh").arg("-c").arg(script).timeout(PATIENCE);
    let mut running = sandbox.exec(command).await.unwrap();
    let mut said = String::new();
    loop {
        match running.next().await.unwrap() {
            Output::Stdout(bytes) | Output::Stderr(bytes) => said += std::str::from_utf8(&bytes).unwrap(),
            Output::Exited(exit) => {
                assert_eq!(exit, Exit::Code(0), "{said}");
                return said;
            }
        }
    }
}

#[tokio::test]
async fn a_conversation_moves_between_gateways_and_keeps_its_sandbox() {
    let place = tempfile::tempdir().unwrap();
    let (a, b) = (gateway(place.path()).await, gateway(place.path()).await);
    let at_a = acquire(&a).await;
    assert_eq!(said(&at_a, "echo from a > workspace/note; pwd").await.lines().count(), 1);
    let at_b = acquire(&b).await;
    assert_eq!((at_b.id(), at_b.instance()), (at_a.id(), at_a.instance()));
    assert_eq!(said(&at_b, "cat workspace/note").await, "from a\n");

    // Its process dies: the next turn gets another one, on the same files.
    let first = at_b.instance().clone();
    said(
        &at_b,
        "kill -9 $(grep -lsz LEASEHOLD_FIRST=$LEASEHOLD_INSTANCE /proc/[0-9]*/environ | cut -d/ -f3)",
    )
    .await;
    drop(at_a);
    let _ = at_b.release().await;
    let again = acquire(&b).await;
    assert_ne!(*again.instance(), first);
    assert_eq!(said(&again, "cat workspace/note").await, "from a\n");

    let instance = again.instance().clone();
    let _ = again.release().await;
    for gateway in [a, b] {
        let report = gateway.shutdown(ShutdownMode::HandOver, PATIENCE).await;
        assert!(report.is_clean(), "{report:?}");
    }
    let backend = backend(place.path());
    let left = backend.list().await.unwrap();
    assert_eq!((left.found.len(), &left.found[0].instance), (1, &instance), "handing over stops nothing");
    backend.destroy(&instance).await.unwrap();
    assert_eq!(fs::read_dir(place.path().join("sandboxes/x")).unwrap().count(), 0);
}
