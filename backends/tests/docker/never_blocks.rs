//! No call blocks the thread that polls it.

use leasehold::{Command, Exit, Mount, Output, SandboxBackend};
use leasehold_gate as gate;

use crate::support::{PATIENCE, Yard, engine, not_run, with_yard};

/// Every operation, and both ways to end a command before its time.
async fn every_operation(yard: &Yard, root: &std::path::Path) {
    let backend = gate::allow("a handle is made before a gateway serves", || {
        yard.with(|config| config.mount_roots = vec![root.to_owned()])
    });
    backend.engine_id().await.unwrap();
    let mut spec = yard.spec("a");
    spec.mounts = vec![Mount { source: root.to_owned(), target: "/seen".into(), writable: false }];
    let made = backend.create(&spec).await.unwrap();
    let instance = &made.instance;
    backend.wait_ready(instance, PATIENCE).await.unwrap();
    let _ = backend.inspect(instance).await.unwrap();
    backend.discover(&spec.id).await.unwrap();
    backend.list().await.unwrap();
    assert!(backend.create(&spec).await.is_err());
    let mut running = backend.exec(instance, Command::new("cat").input(vec![b'x'; 100_000])).await.unwrap();
    while !matches!(running.next().await.unwrap(), Output::Exited(Exit::Code(0))) {}
    let sleep = || Command::new("sleep").arg("1000").timeout(PATIENCE);
    let mut killed = backend.exec(instance, sleep()).await.unwrap();
    killed.kill().await.unwrap();
    assert_eq!(killed.next().await.unwrap(), Output::Exited(Exit::Killed));
    drop(backend.exec(instance, sleep()).await.unwrap());
    let _ = backend.condemn(instance).await.unwrap();
    let _ = backend.destroy(instance).await.unwrap();
}

#[test]
fn no_operation_blocks_the_thread_that_polls() {
    if let gate::Status::Unavailable(why) = gate::status() {
        not_run("gate", &why.to_string());
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let root = place.path().canonicalize().unwrap();
    for workers in [0, 2] {
        let runtime = match workers {
            0 => tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap(),
            _ => tokio::runtime::Builder::new_multi_thread()
                .worker_threads(workers)
                .enable_all()
                .build()
                .unwrap(),
        };
        runtime.block_on(async {
            if engine().await.is_none() {
                return;
            }
            let root = &root;
            with_yard(|yard| async move { gate::strict(every_operation(&yard, root)).await }).await;
        });
    }
}
