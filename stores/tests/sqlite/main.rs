//! The SQLite store against what other processes, operators and disks do to a database.

#![cfg(feature = "sqlite")]

mod batches;
mod children;
mod damage;
mod fences;
mod first_open;
mod full;
mod kills;
mod looks;
mod refusals;
mod support;
mod swaps;
mod times;
mod waits;
