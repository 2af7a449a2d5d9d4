//! Proof that the kit can fail: a store for every fault that a store can have, and who catches it.
//!
//! [`Fault`] lists the faults, each with the case that must catch it; [`FaultyStore`] has one of them (or none),
//! [`FaultyHarness`] puts it before the kit, and [`matrix`] runs every case against every fault. A kit that passes a
//! faulty store, and a case that no fault needs, are both findings; [`snapshot`] is the matrix as it was last agreed upon.

mod fault;
mod harness;
pub mod matrix;
mod place;
mod row;
mod rules;
pub mod snapshot;
mod store;
mod world;

pub use fault::Fault;
pub use harness::FaultyHarness;
pub use store::FaultyStore;
