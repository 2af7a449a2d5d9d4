//! The facade around the memory store against `spawn_blocking` around the same store.

use std::sync::Arc;

use leasehold::{
    AsyncOwnershipStore, CellStore, OffloadConfig, Offloaded, OwnerId, OwnershipStore, SandboxId,
};
use leasehold_stores::memory::MemoryCell;
use tokio::runtime::{Builder, Runtime};

use super::{Hold, Row, clock, id, ttl};
use crate::measure::Work;

pub(super) fn rows() -> Result<Vec<Row>, String> {
    let mut rows = Vec::new();
    for (flavour, one, many) in [
        (1, "facade, one at a time, 1 thread", "facade, 64 at a time, 1 thread"),
        (2, "facade, one at a time, 2 threads", "facade, 64 at a time, 2 threads"),
    ] {
        let hop = "spawn_blocking around the same";
        let (floor, ours) = (spawn_blocking(flavour, 1)?, offloaded(flavour, 1)?);
        rows.push(Row { name: one, floor_name: hop, hold: Hold::AtMost(0.9), floor, ours });
        let (floor, ours) = (spawn_blocking(flavour, 64)?, offloaded(flavour, 64)?);
        rows.push(Row { name: many, floor_name: hop, hold: Hold::AtMost(0.4), floor, ours });
    }
    Ok(rows)
}

fn runtime(threads: usize) -> Result<Runtime, String> {
    let mut builder = if threads == 1 { Builder::new_current_thread() } else { Builder::new_multi_thread() };
    builder.worker_threads(threads).build().map_err(|e| e.to_string())
}

fn store() -> Result<CellStore<MemoryCell>, String> {
    Ok(CellStore::new(MemoryCell::new(clock()?), OwnerId::generate(), ttl()))
}

/// An id of each task's own.
fn nth(task: usize) -> SandboxId {
    format!("{}-{task}", id()).parse().expect("a valid id")
}

/// How many operations each of `tasks` tasks makes for `n` in all.
fn share(n: u64, tasks: usize) -> u64 {
    n.div_ceil(tasks as u64)
}

fn spawn_blocking(threads: usize, tasks: usize) -> Result<Work, String> {
    let (runtime, store) = (runtime(threads)?, Arc::new(store()?));
    Ok(Box::new(move |n| {
        let task = |task| {
            let (store, id) = (Arc::clone(&store), nth(task));
            async move {
                for _ in 0..share(n, tasks) {
                    let (store, id) = (Arc::clone(&store), id.clone());
                    let taken = tokio::task::spawn_blocking(move || store.take(&id)).await;
                    assert!(matches!(taken, Ok(Ok(_))), "{taken:?}");
                }
            }
        };
        drive(&runtime, tasks, task);
    }))
}

fn offloaded(threads: usize, tasks: usize) -> Result<Work, String> {
    let facade = Offloaded::new(store()?, OffloadConfig::default()).map_err(|e| e.to_string())?;
    let (runtime, facade) = (runtime(threads)?, Arc::new(facade));
    Ok(Box::new(move |n| {
        let task = |task| {
            let (facade, id) = (Arc::clone(&facade), nth(task));
            async move {
                for _ in 0..share(n, tasks) {
                    let taken = facade.take(&id).await;
                    assert!(taken.is_ok(), "{taken:?}");
                }
            }
        };
        drive(&runtime, tasks, task);
    }))
}

fn drive<F: Future<Output = ()> + Send + 'static>(
    runtime: &Runtime,
    tasks: usize,
    task: impl Fn(usize) -> F,
) {
    runtime.block_on(async {
        let tasks: Vec<_> = (0..tasks).map(|n| tokio::spawn(task(n))).collect();
        for task in tasks {
            task.await.expect("the task ends well");
        }
    });
}
