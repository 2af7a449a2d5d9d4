//! One harness a store.

pub mod file;
pub mod memory;
pub mod redis;
pub mod sqlite;
