//! Backends with a fault each: proof that every case of the kit for backends can fail.
//!
//! [`Fault`] is the list: what is wrong, and which case must catch it. A [`FaultyHarness`] is the model with one of them.

mod backend;
mod execution;
mod fault;
mod harness;

pub use fault::Fault;
pub use harness::FaultyHarness;
