//! The provider: looking a sandbox up, a tick of its renewal and of its reaper, an acquire by each path.

use std::sync::Arc;

use dashmap::DashMap;
use leasehold::{BootClock, Clock, Moment, SandboxId};

use super::{Hold, Row};
use crate::measure::Work;
use crate::town::{Bare, Town};

/// Sandboxes of a small gateway and of a very large one.
const FEW: usize = 1_000;
const MANY: usize = 100_000;

pub(super) fn rows() -> Result<Vec<Row>, String> {
    Ok(vec![
        Row {
            name: "get, 1,000 sandboxes",
            floor_name: "concurrent map lookup + Arc clone + clock",
            hold: Hold::AtMost(2.0),
            floor: lookup(FEW)?,
            ours: get(FEW)?,
        },
        Row {
            name: "renewal tick, 100,000 leases",
            floor_name: "100 ticks with 1,000",
            hold: Hold::AtMost(1.2),
            floor: ticks(Town::new(FEW, false)?, MANY / FEW),
            ours: ticks(Town::new(MANY, false)?, 1),
        },
        Row {
            name: "bare row renewed, 100,000",
            floor_name: "100 times one of 1,000",
            hold: Hold::None,
            floor: bare(FEW, MANY / FEW)?,
            ours: bare(MANY, 1)?,
        },
        Row {
            name: "renewal tick, 100,000 leases",
            floor_name: "bare row renewed, 100,000",
            hold: Hold::None,
            floor: bare(MANY, 1)?,
            ours: ticks(Town::new(MANY, false)?, 1),
        },
        Row {
            name: "reaper tick, 100,000, nothing due",
            floor_name: "a tick with 1,000",
            hold: Hold::AtMost(3.0),
            floor: ticks(Town::new(FEW, true)?, 1),
            ours: ticks(Town::new(MANY, true)?, 1),
        },
        Row {
            name: "acquire of one in use + let go",
            floor_name: "a get",
            hold: Hold::None,
            floor: get(FEW)?,
            ours: acquire()?,
        },
    ])
}

/// What any cache of handles does: a sharded map, a handle cloned, a time stamp.
fn lookup(size: usize) -> Result<Work, String> {
    let clock = BootClock::new().map_err(|e| e.to_string())?;
    let map: DashMap<SandboxId, Arc<parking_lot::Mutex<Moment>>> = DashMap::new();
    let ids = Town::new(size, true)?.ids();
    for id in &ids {
        map.insert(id.clone(), Arc::default());
    }
    let mut at = 0;
    Ok(Box::new(move |n| {
        for _ in 0..n {
            at = (at + 1) % ids.len();
            let found = map.get(&ids[at]).map(|entry| Arc::clone(&entry)).expect("it is there");
            *found.lock() = clock.now();
        }
    }))
}

fn get(size: usize) -> Result<Work, String> {
    let town = Town::with_real_clock(size)?;
    let ids = town.ids();
    let mut at = 0;
    Ok(Box::new(move |n| {
        for _ in 0..n {
            at = (at + 1) % ids.len();
            assert!(town.provider().get(&ids[at]).is_some());
        }
    }))
}

fn ticks(town: Town, times: usize) -> Work {
    Box::new(move |n| {
        for _ in 0..n * times as u64 {
            town.tick();
        }
    })
}

/// What a renewal costs that only clones the ids, hands them over and writes down the answers.
fn bare(size: usize, times: usize) -> Result<Work, String> {
    let mut row = Bare::new(size)?;
    Ok(Box::new(move |n| {
        for _ in 0..n * times as u64 {
            row.tick();
        }
    }))
}

fn acquire() -> Result<Work, String> {
    let town = Town::new(FEW, true)?;
    Ok(Box::new(move |n| {
        for _ in 0..n {
            let again = town.acquire("thread-7").expect("it is in use here");
            drop(again);
        }
    }))
}
