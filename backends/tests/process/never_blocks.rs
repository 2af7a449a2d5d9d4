//! No call blocks the thread that polls it, and none needs a runtime.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use leasehold::{Command, Destroyed, Exit, Output, SandboxBackend};
use leasehold_backends::process::ProcessBackend;
use leasehold_gate as gate;

use crate::support::{PATIENCE, Root, id, not_run, spec};

/// Every operation, and both ways to end a command before its time.
async fn every_operation(backend: &ProcessBackend) {
    backend.engine_id().await.unwrap();
    let made = backend.create(&spec("a")).await.unwrap();
    let instance = &made.instance;
    backend.wait_ready(instance, PATIENCE).await.unwrap();
    let _ = backend.inspect(instance).await.unwrap();
    backend.discover(&id("a")).await.unwrap();
    backend.list().await.unwrap();
    assert!(backend.create(&spec("a")).await.is_err());
    let cat = Command::new("cat").input(vec![b'x'; 1_000_000]).timeout(PATIENCE);
    let mut running = backend.exec(instance, cat).await.unwrap();
    let mut said = 0;
    loop {
        match running.next().await.unwrap() {
            Output::Stdout(bytes) | Output::Stderr(bytes) => said += bytes.len(),
            Output::Exited(exit) => break assert_eq!((exit, said), (Exit::Code(0), 1_000_000)),
        }
    }
    let sleep = || Command::new("sleep").arg("1000").timeout(PATIENCE);
    let mut killed = backend.exec(instance, sleep()).await.unwrap();
    killed.kill().await.unwrap();
    assert_eq!(killed.next().await.unwrap(), Output::Exited(Exit::Killed));
    drop(backend.exec(instance, sleep()).await.unwrap());
    backend.condemn(instance).await.unwrap();
    assert_eq!(backend.destroy(instance).await.unwrap(), Destroyed::Destroyed);
}

#[test]
fn no_operation_blocks_the_thread_that_polls() {
    if let gate::Status::Unavailable(why) = gate::status() {
        not_run("gate", &why.to_string());
        return;
    }
    for workers in [0, 2] {
        let root = Root::new();
        let backend = root.backend();
        let runtime = match workers {
            0 => tokio::runtime::Builder::new_current_thread().build().unwrap(),
            _ => tokio::runtime::Builder::new_multi_thread().worker_threads(workers).build().unwrap(),
        };
        runtime.block_on(gate::strict(every_operation(&backend)));
    }
}

#[test]
fn the_gate_sees_what_would_block() {
    if let gate::Status::Unavailable(why) = gate::status() {
        not_run("gate", &why.to_string());
        return;
    }
    let root = Root::new();
    let inline = async { std::fs::create_dir(root.path()).unwrap() };
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(gate::strict(inline));
    }));
    assert!(caught.is_err());
}

#[test]
fn no_runtime_is_needed() {
    let root = Root::new();
    let backend = root.backend();
    poll_by_hand(every_operation(&backend));
}

/// The smallest executor there is.
fn poll_by_hand<T>(future: impl Future<Output = T>) -> T {
    struct Unpark(Thread);

    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }

    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(done) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return done;
        }
        thread::park_timeout(PATIENCE);
    }
}
