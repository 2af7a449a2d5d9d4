//! Leases in a Redis or Valkey server: for gateways on many hosts.
//!
//! Every operation is one script, so one atomic step and one round trip; batches are one script a chunk. Expiry is the
//! server's: a lease runs out by the server's clock whatever the clients' clocks say. Needs Redis 7 or Valkey, a single
//! primary: a replica refuses, since what it shows may be old.
//!
//! ```no_run
//! use leasehold::{OwnerId, TakeOutcome, Ttl};
//!
//! let url = "redis://gateway:secret@10.0.0.5:6379/0?prefix=prod:lease";
//! let store = leasehold_stores::open(url, OwnerId::generate(), Ttl::from_secs_f64(60.0)?)?;
//! if let TakeOutcome::Taken { tenure, .. } = store.take(&"sbx-1".parse()?)? {
//!     println!("mine, with fence {}", tenure.fence);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What is kept
//!
//! | key | value | TTL |
//! | --- | --- | --- |
//! | `<prefix>:<id>` | `own:<owner>#<fence>`, or `del:…` while it is being stopped | the lease's |
//! | `{<prefix>:<id>}#f` | the largest fence so far, in digits; in the same cluster slot | the lease's and a day |
//!
//! A value without `#<fence>` is the lease of a foreign program, a correct peer if it writes `own:<owner>` and
//! `del:<owner>` with a TTL and compares only its own exact value. deer-flow's gateways are; share leases with them by
//! `prefix=deerflow:sandbox:owner`. Whatever else is found under a lease's key is an error, is never overwritten, and
//! goes away only by [`discard`](leasehold::OwnershipStore::discard).
//!
//! # What the server must allow
//!
//! The commands `EVALSHA EVAL GET MGET SET DEL UNLINK PTTL PEXPIRE TIME SCAN`, and `SELECT` for another database than 0, on
//! the keys `<prefix>:*` and `{<prefix>:*`. It should run with `maxmemory-policy noeviction`: other policies may throw
//! leases away, all of which have a TTL. In a full server only taking and claiming to keep or to destroy fail; what is held
//! can still be renewed, stopped under its tenure and released. [`list`](leasehold::OwnershipStore::list) walks the whole
//! database, so give leases one with few other keys.
//!
//! # What it can't promise
//!
//! A server that fails over to an asynchronous replica may lose the last writes, and one that restarts without a disk
//! loses all: leases are then absent, and fences still grow if the clock does. A step of the server's clock by some time
//! lets leases last that much shorter or longer.
//!
//! # How it waits
//!
//! One deadline (`deadline_ms`, 2 s unless set) covers an operation whole: the wait for one of the `pool`'s connections,
//! name resolution, connecting, the handshake and the reply. An operation is sent once. If a connection breaks in
//! mid-reply, the error says so and the connection is thrown away, so a late reply can't be taken for another's; the
//! store never repeats an operation by itself, since a repeated take or release has another answer than the first.

mod config;
mod connection;
mod error;
mod keys;
mod list;
mod pool;
mod reply;
mod resolve;
mod script;
mod store;
#[cfg(feature = "redis-tls")]
mod tls;
mod value;
mod wire;

pub use config::RedisConfig;
pub use store::{RedisStore, open};
