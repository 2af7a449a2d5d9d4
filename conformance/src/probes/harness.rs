use std::io;
use std::sync::Arc;

use leasehold::{Clock, ManualClock, OwnerId, OwnershipStore, Reach, StoreError, Ttl};

use super::BlockingProbe;
use super::cell::RulesCell;
use super::socket::SocketWork;
use super::work::{FileWork, LockWork, SleepWork, SqliteWork, Work};
use crate::{Capabilities, Harness, Namespace, Unready};

/// The harness of one probe: a type of its own, since the kit's macros go by the type.
macro_rules! probe {
    ($(#[$doc:meta])* $harness:ident $name:literal $work:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default)]
        pub struct $harness;

        impl Harness for $harness {
            fn name(&self) -> String {
                $name.to_owned()
            }

            fn capabilities(&self) -> Capabilities {
                Capabilities::virtual_time(Reach::Host)
            }

            fn fresh(&self) -> Result<Box<dyn Namespace>, Unready> {
                let work: io::Result<Arc<dyn Work>> = $work;
                let work = work.map_err(|e| Unready::broken(format!("no {}: {e}", $name)))?;
                Ok(Box::new(Place { work, cell: RulesCell::new(Arc::new(ManualClock::new())) }))
            }
        }
    };
}

fn shared<W: Work>(work: W) -> Arc<dyn Work> {
    Arc::new(work)
}

probe! {
    /// Writes a file, reads it and asks for its size in every operation.
    FileProbe "file probe" FileWork::new().map(shared)
}
probe! {
    /// Waits for a byte to come back over a socket in every operation.
    SocketProbe "socket probe" SocketWork::new().map(shared)
}
probe! {
    /// Waits for a lock on a file in every operation.
    LockProbe "lock probe" LockWork::new().map(shared)
}
probe! {
    /// Sleeps a fifth of a millisecond in every operation.
    SleepProbe "sleep probe" Ok(shared(SleepWork))
}
probe! {
    /// Opens a SQLite database and asks it in every operation.
    SqliteProbe "sqlite probe" SqliteWork::new().map(shared)
}

/// A probe's namespace: what it works on, and its records.
struct Place {
    work: Arc<dyn Work>,
    cell: RulesCell,
}

impl Namespace for Place {
    fn open(
        &self,
        owner: OwnerId,
        ttl: Ttl,
        clock: Arc<dyn Clock>,
    ) -> Result<Arc<dyn OwnershipStore>, StoreError> {
        let cell = self.cell.with_clock(clock);
        Ok(Arc::new(BlockingProbe::new(Arc::clone(&self.work), cell, owner, ttl)))
    }
}
