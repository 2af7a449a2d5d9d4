//! Says whether the lease table explains a recorded history: clause A2.
//!
//! A history is right when its operations can be put into one order, each between its call and its answer, such that every
//! answer is what the table says at that point (linearizability), where
//!
//! - each operation judges expiry by one clock reading of its own between its call and its answer. Readings need not follow
//!   the order of effects, and a lease may outlive its TTL by the store's quantum;
//! - an operation that failed, or was never answered, may have taken effect once, at any time after its call, or never;
//! - operations on many sandboxes are one on each, since records are independent.
//!
//! Existing checkers (porcupine for Go, the WGL checker of `todc-utils`, `lincheck`) take a specification that maps a state
//! and an operation to the one next state. They have no room for a clock that is known only as an interval, nor for effects
//! that come after an error, so this one is our own. What makes it quick is that fences all but give the order away; see
//! the file `search.rs`.
//!
//! ```
//! use leasehold::{Moment, OwnerId, RenewOutcome};
//! use leasehold_conformance::checker::{Timing, check};
//! use leasehold_conformance::history::{Answer, Asked, Event, Stamp};
//! use std::time::Duration;
//!
//! let lost_what_nobody_had = Event {
//!     id: "sbx-1".parse()?,
//!     owner: OwnerId::new("gw-1")?,
//!     ttl: Duration::from_secs(60),
//!     asked: Asked::Renew,
//!     called: Stamp::at(Moment::from_nanos(7)),
//!     answer: Some((Stamp::at(Moment::from_nanos(9)), Answer::Renew(RenewOutcome::Lost))),
//! };
//! let checked = check(vec![lost_what_nobody_had], Timing::Ours);
//! assert_eq!(checked.unexplained.len(), 1);
//! # Ok::<(), leasehold::InvalidId>(())
//! ```

mod checked;
mod explain;
mod operation;
mod part;
mod search;
mod state;
mod step;
mod timing;

pub use checked::{Checked, check};
pub use explain::Unexplained;
pub use timing::Timing;
