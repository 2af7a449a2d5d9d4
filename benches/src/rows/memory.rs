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
    five(names, "mutex + hash map update + clock", Hold::AtMost(1.5), &store, floor)
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
