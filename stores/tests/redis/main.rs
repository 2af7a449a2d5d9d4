//! The Redis store against real servers, and against scripted ones for what a real one does only on a bad day.
//!
//! Where no redis-server is installed these tests say "not run" and why; `LEASEHOLD_REQUIRE=redis` makes that a failure.

#![cfg(feature = "redis")]

mod batches;
mod damage;
mod fences;
mod fleet;
mod history;
mod listing;
mod login;
mod refusals;
mod restarts;
mod scripted;
mod support;
mod times;
#[cfg(feature = "redis-tls")]
mod tls;
mod waits;
