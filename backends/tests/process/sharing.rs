//! Several namespaces, several processes, one root.

use leasehold::{BackendErrorKind, Command, Destroyed, Exit, SandboxBackend};
use leasehold_backends::process::ProcessBackend;

use crate::crash::{gateway_that, made_by};
use crate::support::{Root, config, id, present, runs, sh, spec, spec_of, state, until};

#[tokio::test]
async fn another_namespace_is_not_seen_even_where_its_name_is_a_prefix() {
    let root = Root::new();
    let (x, xy) = (root.backend(), ProcessBackend::new(config(&root.path(), "x-y")).unwrap());
    let in_x = x.create(&spec("a")).await.unwrap();
    let in_xy = xy.create(&spec_of("x-y", "a")).await.unwrap();
    let y_a = x.create(&spec("y-a")).await.unwrap();
    assert_eq!(xy.list().await.unwrap().found, vec![in_xy.clone()]);
    assert_eq!(x.list().await.unwrap().found.len(), 2);
    assert_eq!(x.discover(&id("a")).await.unwrap(), Some(in_x.clone()));
    assert_eq!(xy.discover(&id("y-a")).await.unwrap(), None);
    for error in [
        xy.inspect(&y_a.instance).await.map(drop).unwrap_err(),
        xy.condemn(&y_a.instance).await.map(drop).unwrap_err(),
        xy.destroy(&in_x.instance).await.map(drop).unwrap_err(),
        xy.exec(&in_x.instance, Command::new("true")).await.map(drop).unwrap_err(),
    ] {
        assert_eq!(error.kind(), BackendErrorKind::Foreign, "{error}");
    }
    assert_eq!(xy.destroy(&in_xy.instance).await.unwrap(), Destroyed::Destroyed);
    assert_eq!(x.list().await.unwrap().found.len(), 2);
    let error = x.create(&spec_of("x-y", "b")).await.unwrap_err();
    assert_eq!(error.kind(), BackendErrorKind::Invalid, "{error}");
}

#[tokio::test]
async fn what_another_process_made_can_be_used_and_stopped_and_leaves_it_no_zombie() {
    let root = Root::new();
    let mut gateway = gateway_that("kill", "never", "create", &root);
    let instance = made_by(&mut gateway);
    let pid = root.pid_of(&instance);
    let backend = root.backend();
    let seen = present(&backend, &instance).await;
    assert_eq!(backend.discover(&id("a")).await.unwrap(), Some(seen));
    assert_eq!(sh(&backend, &instance, "exit 3").await.2, Exit::Code(3));
    assert!(runs(pid));
    assert_eq!(backend.destroy(&instance).await.unwrap(), Destroyed::Destroyed);
    until("its parent reaped it", || state(pid).is_none()).await;
    assert!(gateway.try_wait().unwrap().is_none(), "the parent lives");
    drop(gateway.stdin.take());
    assert!(gateway.wait().unwrap().success());
    assert_eq!(root.contents("x"), Vec::<String>::new());
}
