//! The harnesses of our own stores: what the command `leasehold` runs and what the tests beside it prove.

#![forbid(unsafe_code)]

pub mod fleet;
pub mod harness;
pub mod meta;
pub mod sim;
