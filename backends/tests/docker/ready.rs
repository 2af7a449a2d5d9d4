//! When a container can be used.

use std::time::Duration;

use leasehold::{BackendErrorKind, SandboxBackend};
use leasehold_backends::docker::{Publish, ReadyCheck};

use crate::support::{PATIENCE, with_yard};

const SHORT: Duration = Duration::from_millis(700);

#[tokio::test]
async fn a_server_that_is_not_there_yet_is_waited_for() {
    with_yard(|yard| async move {
        for ready in [ReadyCheck::Tcp, ReadyCheck::Http { path: "/index.html".into() }] {
            let late = yard.with(|config| {
                let script = "until test -e /tmp/go; do sleep 0.05; done; httpd -f -p 8080 -h /www";
                config.command = ["sh", "-c", script].map(str::to_owned).to_vec();
                config.ready = ready;
            });
            let made = late.create(&yard.spec("a")).await.unwrap();
            // The engine's forwarder takes connections from the beginning, which must not be mistaken for the server.
            let error = late.wait_ready(&made.instance, SHORT).await.unwrap_err();
            assert_eq!(error.kind(), BackendErrorKind::NotReady, "{error}");
            crate::support::run(&late, &made.instance, "touch /tmp/go").await;
            let ready = late.wait_ready(&made.instance, PATIENCE).await.unwrap();
            assert!(ready.endpoint.is_some());
            late.destroy(&made.instance).await.unwrap();
        }
    })
    .await;
}

#[tokio::test]
async fn one_that_ended_is_told_at_once_with_its_last_words() {
    with_yard(|yard| async move {
        let ending = yard.with(|config| {
            config.command = ["sh", "-c", "echo no licence >&2; exit 3"].map(str::to_owned).to_vec();
        });
        let made = ending.create(&yard.spec("a")).await.unwrap();
        let error = ending.wait_ready(&made.instance, PATIENCE).await.unwrap_err();
        assert_eq!(error.kind(), BackendErrorKind::Exited, "{error}");
        assert!(error.to_string().contains("no licence"), "{error}");
        ending.destroy(&made.instance).await.unwrap();
        let error = ending.wait_ready(&made.instance, PATIENCE).await.unwrap_err();
        assert_eq!(error.kind(), BackendErrorKind::Missing, "{error}");
    })
    .await;
}

#[tokio::test]
async fn a_command_decides() {
    with_yard(|yard| async move {
        let backend = yard.with(|config| {
            config.ready =
                ReadyCheck::Exec { command: ["test", "-e", "/tmp/go"].map(str::to_owned).to_vec() };
        });
        let made = backend.create(&yard.spec("a")).await.unwrap();
        let error = backend.wait_ready(&made.instance, SHORT).await.unwrap_err();
        assert!(
            error.kind() == BackendErrorKind::NotReady && error.to_string().contains("Code(1)"),
            "{error}"
        );
        crate::support::run(&backend, &made.instance, "touch /tmp/go").await;
        backend.wait_ready(&made.instance, PATIENCE).await.unwrap();
        backend.destroy(&made.instance).await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn within_a_network_it_is_reached_at_its_own_address() {
    with_yard(|yard| async move {
        let backend = yard.with(|config| config.publish = Publish::Network("bridge".into()));
        let made = backend.create(&yard.spec("a")).await.unwrap();
        let ready = backend.wait_ready(&made.instance, PATIENCE).await.unwrap();
        let endpoint = ready.endpoint.unwrap();
        assert_eq!(endpoint.port, 8080);
        assert_ne!(endpoint.host, "127.0.0.1");
        // Nothing is published on the host.
        let seen = yard.docker.inspect_container(made.instance.as_str(), None).await.unwrap();
        let ports = seen.host_config.unwrap().port_bindings.unwrap_or_default();
        assert!(ports.is_empty(), "{ports:?}");
        backend.destroy(&made.instance).await.unwrap();
    })
    .await;
}
