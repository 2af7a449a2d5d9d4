use std::path::Path;

use leasehold::{Clock, SandboxId};
use rusqlite::types::ValueRef;

use super::error::Failure;
use super::link::{Held, Key};
use super::row::Row;

/// Where the search for rows that ran out has got to.
///
/// Each new row pays for a look at two others. A round through the whole table thus ends before it has grown by half,
/// so it never holds much more than what is live, and nobody ever waits for a long sweep.
#[derive(Debug)]
pub(super) struct Sweep {
    cursor: Key,
}

impl Sweep {
    pub(super) fn new() -> Self {
        Self { cursor: Key::first() }
    }

    /// Looks at the next two rows and removes what ran out. Rows that can't be read stay.
    pub(super) fn step(&mut self, held: &Held<'_>, clock: &dyn Clock, path: &Path) -> Result<(), Failure> {
        let mut gone = Vec::new();
        let mut last = Key::first();
        held.rows_after(&self.cursor, |key, record| {
            last = Key::of(key);
            let Some(id) = id_of(key) else { return };
            let row = Row::of(&id, record, clock, path);
            if row.ran_out(clock) {
                gone.push((id, row.fence()));
            }
        })?;
        for (id, fence) in gone {
            if let Some(fence) = fence {
                held.raise_mark(fence)?;
            }
            held.remove(&id.as_str())?;
        }
        // Behind the last row nothing is found, so that it begins anew.
        self.cursor = last;
        Ok(())
    }
}

/// The id that a key spells, if it does.
pub(super) fn id_of(key: ValueRef<'_>) -> Option<SandboxId> {
    key.as_str().ok()?.parse().ok()
}
