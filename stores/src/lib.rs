//! Four stores of sandbox leases.
//!
//! | store | reach | feature | pick it for |
//! | --- | --- | --- | --- |
//! | [`memory`] | process | always there | one gateway process |
//! | [`mod@file`] | host | `file` | a few processes on one host, nothing to install |
//! | [`sqlite`] | host | `sqlite` | many leases on one host |
//! | [`redis`] | cluster | `redis` | gateways on many hosts |
//!
//! Every store has the same files: `mod.rs` (what it is), `config.rs` (its settings, and how a URL says them),
//! `store.rs` (opening it), `error.rs` (its driver's errors in our words); those that keep records on this host have
//! `cell.rs` (how one record changes) besides.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used))]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(any(feature = "file", feature = "sqlite"))]
mod backoff;
#[cfg(feature = "file")]
pub mod file;
pub mod memory;
mod open;
#[cfg(feature = "redis")]
pub mod redis;
#[cfg(feature = "sqlite")]
pub mod sqlite;
mod url;

pub use open::{open, open_with};
pub use url::StoreUrl;
