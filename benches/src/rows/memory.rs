//! The memory store against a mutex, a hash map's update and one reading of the clock.

use std::collections::HashMap;
use std::sync::Arc;

use leasehold::{CellStore, Moment, OwnerId, OwnershipStore, SandboxId};
use leasehold_stores::memory::MemoryCell;
use parking_lot::Mutex;

use super::{Hold, Row, clock, five, id, ttl};
use crate::measure::Work;

pub(super) fn rows() -> Result<Vec<Row>, String> {
    let cell = MemoryCell::new(clock()?);
    let store: Arc<dyn OwnershipStore> = Arc::new(CellStore::new(cell, OwnerId::generate(), ttl()));
    let names = ["memory claim", "memory take", "memory renew", "memory inspect", "memory take + release"];
    let mut rows = five(names, "mutex + hash map update + clock", Hold::AtMost(1.5), &store, floor)?;
    rows.push(Row {
        name: "memory renewals, 100,000 leases",
        floor_name: "100 times those of 1,000",
        hold: Hold::None,
        floor: batches(1_000, 100)?,
        ours: batches(100_000, 1)?,
    });
    Ok(rows)
}

/// Renews `size` leases a thousand a call, `times` over: how the store's own cost grows with what it holds.
fn batches(size: usize, times: u64) -> Result<Work, String> {
    let store = CellStore::new(MemoryCell::new(clock()?), OwnerId::generate(), ttl());
    let ids: Vec<SandboxId> =
        (0..size).map(|n| format!("{}-{n}", id()).parse().expect("a valid id")).collect();
    for id in &ids {
        let _ = store.take(id).map_err(|e| e.to_string())?;
    }
    Ok(Box::new(move |n| {
        for _ in 0..n * times {
            for chunk in ids.chunks(1_000) {
                let answers = store.renew_many(chunk);
                assert!(answers.iter().all(Result::is_ok), "a renewal in memory has no reason to fail");
            }
        }
    }))
}

fn floor() -> Result<Work, String> {
    let (clock, id) = (clock()?, id());
    let map: Mutex<HashMap<SandboxId, (OwnerId, Moment)>> = Mutex::default();
    map.lock().insert(id.clone(), (OwnerId::generate(), Moment::default()));
    Ok(Box::new(move |n| {
        for _ in 0..n {
            let mut map = map.lock();
            let now = clock.now();
            if let Some((_, expires)) = map.get_mut(&id) {
                *expires = now + ttl().as_duration();
            }
        }
    }))
}
