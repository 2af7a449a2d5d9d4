//! The conformance kit: anyone proves a store of leases against the contract, clause by clause.

#![forbid(unsafe_code)]

mod harness;

pub use harness::{Capabilities, Damage, Faults, Harness, Namespace, Outage, Unready};
