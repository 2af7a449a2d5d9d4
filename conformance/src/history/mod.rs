//! Recorded histories: who asked what of which sandbox, from when to when, and what the answer was.
//!
//! A [`Recorder`] stands before a store and writes down what passes. Histories of several threads, or of several
//! processes of one host, are put together by mere concatenation; [`checker`](crate::checker) says whether the lease
//! table explains them.
//!
//! ```
//! use leasehold::{Moment, OwnerId};
//! use leasehold_conformance::history::{Asked, Event, Stamp};
//! use std::time::Duration;
//!
//! let event = Event {
//!     id: "sbx-1".parse()?,
//!     owner: OwnerId::new("gw-1")?,
//!     ttl: Duration::from_secs(60),
//!     asked: Asked::Renew,
//!     called: Stamp::at(Moment::from_nanos(7)),
//!     answer: None,
//! };
//! assert_eq!(event.to_string().parse::<Event>(), Ok(event), "an event is a line, and back");
//! # Ok::<(), leasehold::InvalidId>(())
//! ```

mod event;
mod line;
mod recorder;
mod rules;

pub use event::{Answer, Asked, Event, Stamp};
pub use line::Unreadable;
pub use recorder::{Order, Recorder};
