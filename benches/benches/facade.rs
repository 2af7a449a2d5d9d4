//! The facade around the memory store: `facade/<in flight>`.

use std::sync::Arc;

use criterion::{Criterion, criterion_group, criterion_main};
use leasehold::{AsyncOwnershipStore, OffloadConfig, Offloaded, OwnerId, SandboxId, Ttl};
use tokio::runtime::Builder;

fn facade(c: &mut Criterion) {
    let runtime = Builder::new_multi_thread().worker_threads(2).build().expect("a runtime");
    let ttl = Ttl::from_millis(60_000).expect("a minute is a valid TTL");
    let store = leasehold_stores::open("memory:", OwnerId::generate(), ttl).expect("the store opens");
    let facade = Arc::new(Offloaded::new(store, OffloadConfig::default()).expect("the facade starts"));
    let ids: Vec<SandboxId> = (0..64).map(|n| format!("sbx-{n}").parse().expect("a valid id")).collect();
    let mut group = c.benchmark_group("facade");
    group.bench_function("1 in flight", |b| b.iter(|| runtime.block_on(facade.take(&ids[0]))));
    group.bench_function("64 in flight", |b| {
        b.iter(|| {
            runtime.block_on(async {
                let calls = ids.iter().cloned().map(|id| {
                    let facade = Arc::clone(&facade);
                    tokio::spawn(async move { facade.take(&id).await })
                });
                for call in calls.collect::<Vec<_>>() {
                    let _ = call.await;
                }
            });
        });
    });
    group.finish();
}

criterion_group!(benches, facade);
criterion_main!(benches);
