//! When a sandbox can be used.

use std::fs;
use std::net::TcpListener;
use std::time::Duration;

use leasehold::{BackendErrorKind, BackendOperation, Endpoint, InstanceId, SandboxBackend};
use leasehold_backends::process::{ProcessBackend, ReadyCheck};

use crate::support::{PATIENCE, Root, kill, runs, spec, until};

fn backend(root: &Root, script: &str, ready: ReadyCheck) -> ProcessBackend {
    let mut config = root.config().ready(ready);
    config.command = ["sh", "-c", script].map(str::to_owned).to_vec();
    ProcessBackend::new(config).unwrap()
}

#[tokio::test]
async fn one_that_makes_a_file_is_ready_when_the_file_is_there() {
    let root = Root::new();
    let backend = backend(&root, "sleep 1000", ReadyCheck::File("up".into()));
    let made = backend.create(&spec("a")).await.unwrap();
    let early = backend.wait_ready(&made.instance, Duration::from_millis(20)).await.unwrap_err();
    assert_eq!(
        (early.kind(), early.operation()),
        (BackendErrorKind::NotReady, Some(BackendOperation::WaitReady))
    );
    let waiting = backend.wait_ready(&made.instance, PATIENCE);
    let making = async { fs::write(root.of(&made.instance).join("work/up"), "").unwrap() };
    let (ready, ()) = tokio::join!(waiting, making);
    assert_eq!(ready.unwrap(), made);
}

#[tokio::test]
async fn one_that_ends_says_so_at_once_with_the_last_it_said() {
    let root = Root::new();
    let backend = backend(&root, "echo its last words >&2; exit 1", ReadyCheck::File("up".into()));
    let made = backend.create(&spec("a")).await.unwrap();
    let error = backend.wait_ready(&made.instance, Duration::from_secs(3600)).await.unwrap_err();
    assert_eq!(error.kind(), BackendErrorKind::Exited);
    assert!(error.to_string().contains("its last words"), "{error}");
}

#[tokio::test]
async fn one_that_is_destroyed_meanwhile_is_not_waited_for() {
    let root = Root::new();
    let backend = backend(&root, "sleep 1000", ReadyCheck::File("up".into()));
    let made = backend.create(&spec("a")).await.unwrap();
    let waiting = backend.wait_ready(&made.instance, Duration::from_secs(3600));
    let (waited, destroyed) = tokio::join!(waiting, backend.destroy(&made.instance));
    destroyed.unwrap();
    let kind = waited.unwrap_err().kind();
    assert!(matches!(kind, BackendErrorKind::Missing | BackendErrorKind::Exited), "{kind:?}");
}

#[tokio::test]
async fn one_that_is_to_listen_is_ready_when_it_does_and_not_when_another_process_does() {
    let root = Root::new();
    let backend = backend(&root, "sleep 1000", ReadyCheck::Port);
    let made = backend.create(&spec("a")).await.unwrap();
    let Some(Endpoint { host, port }) = made.endpoint.clone() else { panic!("no endpoint in {made:?}") };
    assert_eq!((host.as_str(), told_port(&root, &made.instance)), ("127.0.0.1", port));
    let error = backend.wait_ready(&made.instance, Duration::ZERO).await.unwrap_err();
    assert!(
        error.kind() == BackendErrorKind::NotReady && error.to_string().contains("nothing listens"),
        "{error}"
    );
    let foreign = TcpListener::bind(("127.0.0.1", port)).unwrap();
    let error = backend.wait_ready(&made.instance, Duration::ZERO).await.unwrap_err();
    assert!(
        error.kind() == BackendErrorKind::NotReady && error.to_string().contains("another process"),
        "{error}"
    );
    drop(foreign);
}

#[tokio::test]
async fn a_server_is_reachable_at_its_endpoint_when_it_is_ready() {
    let root = Root::new();
    let mut config = root.config().ready(ReadyCheck::Port);
    // This test program is at hand everywhere and can listen.
    let program = std::env::current_exe().unwrap().display().to_string();
    config.command =
        [&program, "ready::server", "--exact", "--nocapture", "--test-threads=1"].map(str::to_owned).to_vec();
    config = config.env(SERVE, "1");
    let backend = ProcessBackend::new(config).unwrap();
    let made = backend.create(&spec("a")).await.unwrap();
    let ready = backend.wait_ready(&made.instance, PATIENCE).await.unwrap();
    let at = ready.endpoint.clone().unwrap().to_string();
    assert_eq!(ready.endpoint, made.endpoint);
    std::net::TcpStream::connect(at).unwrap();
    let pid = root.pid_of(&made.instance);
    kill(pid);
    until("it ended", || !runs(pid)).await;
    let error = backend.wait_ready(&made.instance, PATIENCE).await.unwrap_err();
    assert_eq!(error.kind(), BackendErrorKind::Exited);
}

const SERVE: &str = "LEASEHOLD_PROCESS_SERVE";

/// Not a test by itself: a server in a sandbox.
#[test]
fn server() {
    if std::env::var_os(SERVE).is_none() {
        return;
    }
    let port: u16 = std::env::var("PORT").unwrap().parse().unwrap();
    let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
    while listener.accept().is_ok() {}
}

/// The port that the sandbox' process was told.
fn told_port(root: &Root, instance: &InstanceId) -> u16 {
    let environment = fs::read(format!("/proc/{}/environ", root.pid_of(instance))).unwrap();
    let told = environment.split(|b| *b == 0).find_map(|entry| entry.strip_prefix(b"PORT="));
    std::str::from_utf8(told.unwrap()).unwrap().parse().unwrap()
}
