//! What is measured against what, and which ratio is held.

mod facade;
mod file;
mod memory;
mod provider;
mod redis;
mod sqlite;

use std::sync::Arc;

use leasehold::{BootClock, Clock, OwnerId, OwnershipStore, SandboxId, Ttl};

use crate::measure::Work;

/// A limit on a ratio.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Hold {
    /// Ours may cost this many times what the floor costs.
    AtMost(f64),
    /// Shown, not held.
    None,
}

/// One row: the floor's work and ours, an operation each.
pub struct Row {
    /// What is measured, as `store operation`.
    pub name: &'static str,
    /// The floor, in words.
    pub floor_name: &'static str,
    /// What is held.
    pub hold: Hold,
    /// The medium, bare.
    pub floor: Work,
    /// Ours.
    pub ours: Work,
}

/// Makes the rows of a group, or says why they can't be measured here.
pub type Rows = fn() -> Result<Vec<Row>, String>;

/// All rows, each made when it is wanted; a group that can't be run here says why.
pub fn groups() -> Vec<(&'static str, Rows)> {
    vec![
        ("memory", memory::rows),
        ("file", file::rows),
        ("sqlite", sqlite::rows),
        ("redis", redis::rows),
        ("facade", facade::rows),
        ("provider", provider::rows),
    ]
}

fn clock() -> Result<Arc<dyn Clock>, String> {
    Ok(Arc::new(BootClock::new().map_err(|e| e.to_string())?))
}

fn ttl() -> Ttl {
    Ttl::from_millis(60_000).expect("a minute is a valid TTL")
}

fn id() -> SandboxId {
    "sbx-7f3a9c1e2b4d5f60".parse().expect("a valid id")
}

fn open(url: &str) -> Result<Arc<dyn OwnershipStore>, String> {
    leasehold_stores::open(url, OwnerId::generate(), ttl()).map(Into::into).map_err(|e| e.to_string())
}

/// Claims one id over and over: the refresh that a renewal loop makes.
fn claims(store: &Arc<dyn OwnershipStore>) -> Work {
    let (store, id) = (Arc::clone(store), id());
    Box::new(move |n| {
        for _ in 0..n {
            let claimed = store.claim(&id, leasehold::Intent::Keep);
            assert!(matches!(claimed, Ok(leasehold::ClaimOutcome::Claimed { .. })), "{claimed:?}");
        }
    })
}

/// Takes one id over and over: a new tenure each time.
fn takes(store: &Arc<dyn OwnershipStore>) -> Work {
    let (store, id) = (Arc::clone(store), id());
    Box::new(move |n| {
        for _ in 0..n {
            let taken = store.take(&id);
            assert!(matches!(taken, Ok(leasehold::TakeOutcome::Taken { .. })), "{taken:?}");
        }
    })
}

/// Takes and releases one id over and over: a record made and forgotten each time.
fn rounds(store: &Arc<dyn OwnershipStore>) -> Work {
    let (store, id) = (Arc::clone(store), id());
    Box::new(move |n| {
        for _ in 0..n {
            let taken = store.take(&id);
            assert!(matches!(taken, Ok(leasehold::TakeOutcome::Taken { .. })), "{taken:?}");
            let released = store.release(&id);
            assert!(matches!(released, Ok(leasehold::ReleaseOutcome::Released)), "{released:?}");
        }
    })
}

/// Renews one id over and over.
fn renews(store: &Arc<dyn OwnershipStore>) -> Work {
    let (store, id) = (Arc::clone(store), id());
    let _ = store.take(&id);
    Box::new(move |n| {
        for _ in 0..n {
            let renewed = store.renew(&id);
            assert!(matches!(renewed, Ok(leasehold::RenewOutcome::Renewed(_))), "{renewed:?}");
        }
    })
}

/// Looks at one id over and over.
fn looks(store: &Arc<dyn OwnershipStore>) -> Work {
    let (store, id) = (Arc::clone(store), id());
    let _ = store.take(&id);
    Box::new(move |n| {
        for _ in 0..n {
            let seen = store.inspect(&id);
            assert!(matches!(seen, Ok(Some(_))), "{seen:?}");
        }
    })
}

/// The five operations of a store against the same floor; `claim` is the one whose ratio is held.
fn five(
    names: [&'static str; 5],
    floor_name: &'static str,
    hold: Hold,
    store: &Arc<dyn OwnershipStore>,
    floor: impl Fn() -> Result<Work, String>,
) -> Result<Vec<Row>, String> {
    let ours: [Work; 5] = [claims(store), takes(store), renews(store), looks(store), rounds(store)];
    let mut rows = Vec::new();
    for (n, (name, ours)) in names.into_iter().zip(ours).enumerate() {
        let hold = if n == 0 { hold } else { Hold::None };
        rows.push(Row { name, floor_name, hold, floor: floor()?, ours });
    }
    Ok(rows)
}
