//! Every store, every operation: `store/<store>/<operation>`. A Redis server is used when `LEASEHOLD_TEST_URL` names one.

use criterion::{Criterion, criterion_group, criterion_main};
use leasehold::{Intent, OwnerId, OwnershipStore, SandboxId, Ttl};

fn open(url: &str) -> Box<dyn OwnershipStore> {
    let ttl = Ttl::from_millis(60_000).expect("a minute is a valid TTL");
    leasehold_stores::open(url, OwnerId::generate(), ttl).expect("the store opens")
}

fn stores(c: &mut Criterion) {
    let dir = tempfile::tempdir().expect("a fresh directory");
    let at = |name: &str| dir.path().join(name).display().to_string();
    let mut urls = vec![
        ("memory", "memory:".to_owned()),
        ("file", format!("file:{}", at("leases"))),
        ("sqlite", format!("sqlite:{}", at("leases.db"))),
    ];
    urls.extend(std::env::var("LEASEHOLD_TEST_URL").ok().map(|url| ("redis", url)));
    for (name, url) in urls {
        operations(c, name, &*open(&url));
    }
}

fn operations(c: &mut Criterion, name: &str, store: &dyn OwnershipStore) {
    let id: SandboxId = "sbx-7f3a9c1e2b4d5f60".parse().expect("a valid id");
    let many: Vec<SandboxId> = (0..1_000).map(|n| format!("many-{n}").parse().expect("a valid id")).collect();
    let mut group = c.benchmark_group(format!("store/{name}"));
    group.bench_function("take", |b| b.iter(|| store.take(&id)));
    group.bench_function("claim", |b| b.iter(|| store.claim(&id, Intent::Keep)));
    group.bench_function("renew", |b| b.iter(|| store.renew(&id)));
    group.bench_function("inspect", |b| b.iter(|| store.inspect(&id)));
    group.bench_function("take+release", |b| {
        b.iter(|| {
            let _ = store.take(&id);
            store.release(&id)
        });
    });
    for id in &many {
        let _ = store.take(id);
    }
    group.bench_function("renew_many/1000", |b| b.iter(|| store.renew_many(&many)));
    group.bench_function("list/1000", |b| b.iter(|| store.list()));
    group.finish();
}

criterion_group!(benches, stores);
criterion_main!(benches);
