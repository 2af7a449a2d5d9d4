//! Stores that do real blocking work in every operation: what an offload has to keep away from the runtime.
//!
//! Each probe answers by the lease rules, from records in memory, after it has read and written a file, waited for the
//! answer of a socket, waited for a lock, slept, or asked SQLite. Behind a facade none of that may show under the blocking
//! gate; called inline all of it does, which is how one knows that the gate would have noticed.
//!
//! A probe declares [`Reach::Host`](leasehold::Reach::Host), as a store does that has its work outside this process, so that
//! nothing treats it as a mere map. Its leases don't really go that far: probes prove facades, not stores.
//!
//! ```
//! use leasehold::OwnershipStore;
//! use leasehold_conformance::Harness;
//! use leasehold_conformance::probes::SleepProbe;
//! # use std::sync::Arc;
//! # use leasehold::{ManualClock, OwnerId, Ttl};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let namespace = SleepProbe.fresh()?;
//! let clock = Arc::new(ManualClock::new());
//! let store = namespace.open(OwnerId::generate(), Ttl::from_millis(60_000)?, clock)?;
//! let _ = store.take(&"sbx-1".parse()?)?; // sleeps, then takes
//! # Ok(()) }
//! ```

mod cell;
mod harness;
mod probe;
mod socket;
mod work;

pub use harness::{FileProbe, LockProbe, SleepProbe, SocketProbe, SqliteProbe};
pub use probe::BlockingProbe;
