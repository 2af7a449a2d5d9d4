use super::Lease;
use crate::{SandboxId, StoreError};

/// All live leases of a store, and the records that could not be read.
#[must_use = "damaged records are part of the answer"]
#[derive(Clone, Debug, Default)]
pub struct Listing {
    /// Every lease that was live throughout the call, once, in no particular order; some of those that came or went
    /// meanwhile may be among them.
    pub leases: Vec<(SandboxId, Lease)>,
    /// Records that can't be understood. They hide nothing else and are neither free nor held: unknown.
    pub damaged: Vec<Damaged>,
}

/// A record that can't be understood.
#[derive(Clone, Debug)]
pub struct Damaged {
    /// Whose record it is, where its place tells.
    pub id: Option<SandboxId>,
    /// Where it is kept: a file name, a row, a key.
    pub place: String,
    /// What is wrong with it.
    pub error: StoreError,
}
