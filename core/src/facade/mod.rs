//! The async side: store operations that never run on a thread which polls async tasks.
//!
//! ```text
//!  async task                     facade                          its own threads
//!  ──────────                     ──────                          ───────────────
//!  take(id).await ── Call ──▶ ordinary lane: queue ──▶ workers ──▶ store.take(id)
//!  renew(id).await ─ Call ──▶ renewal lane:  queue ──▶ worker  ──▶ store.renew(id)
//!                                   ▲                    ▲
//!                                   └── watcher: ends what is past its deadline, replaces workers that hang
//! ```
//!
//! [`job`] is one call's life, [`lane`] a queue with its workers, [`watcher`] the clock over both, [`orphan`] what
//! becomes of a tenure that nobody is left to receive.

mod call;
mod close;
mod config;
mod job;
mod lane;
mod ledger;
mod offloaded;
mod orphan;
mod request;
mod stats;
mod store;
mod watcher;
mod worker;

pub use close::CloseReport;
pub use config::{InvalidOffload, OffloadConfig};
pub use offloaded::Offloaded;
pub use orphan::{Orphan, OrphanFate, OrphanHook};
pub use stats::FacadeStats;
pub use store::AsyncOwnershipStore;
