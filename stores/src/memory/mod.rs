//! Leases in this process' memory: the honest default for one process.
//!
//! Nobody outside sees these leases, so they can't keep another gateway out; [`Reach::Process`](leasehold::Reach) says
//! so. Several owners of one process see each other when they share a [`MemoryCell`].
//!
//! ```
//! use std::sync::Arc;
//! use leasehold::{BootClock, CellStore, ClaimOutcome, Intent, OwnerId, OwnershipStore, Ttl};
//! use leasehold_stores::memory::MemoryCell;
//!
//! let cell = MemoryCell::new(Arc::new(BootClock::new()?));
//! let ttl = Ttl::from_secs_f64(60.0)?;
//! let a = CellStore::new(cell.clone(), OwnerId::generate(), ttl);
//! let b = CellStore::new(cell, OwnerId::generate(), ttl);
//!
//! let id = "sbx-1".parse()?;
//! assert!(matches!(a.claim(&id, Intent::Keep)?, ClaimOutcome::Claimed { .. }));
//! assert_eq!(b.claim(&id, Intent::Keep)?, ClaimOutcome::Refused);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod cell;
mod config;
mod shard;
mod store;

pub use cell::MemoryCell;
pub use config::MemoryConfig;
pub use store::{MemoryStore, open};
