//! Leases in one SQLite database: for the processes of one host, many leases at a time.
//!
//! Every operation is one transaction of a few prepared statements; a batch is one transaction for 512 records. Leases
//! are timed by the boot clock, so no step of a wall clock changes one, and a reboot voids them all.
//!
//! ```no_run
//! use leasehold::{OwnerId, TakeOutcome, Ttl};
//!
//! let url = "sqlite:/run/gateway/leases.db";
//! let store = leasehold_stores::open(url, OwnerId::generate(), Ttl::from_secs_f64(60.0)?)?;
//! if let TakeOutcome::Taken { tenure, .. } = store.take(&"sbx-1".parse()?)? {
//!     println!("mine, with fence {}", tenure.fence);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What is kept
//!
//! | table | row | what |
//! | --- | --- | --- |
//! | `lease` | one a sandbox | `id`, and `record` in the form of [`leasehold::codec`] |
//! | `mark` | one | `fence`: at least that of every record that was ever forgotten |
//!
//! The database is one of ours by its `application_id` (`LHLD`) and has its version in `user_version`. Another program's
//! database, a file that is none and a newer version are refused and left as they are. The file is made readable for its
//! user alone; other users' files, links into their directories and network file systems are refused.
//!
//! A record that ran out stays where it is until a new row comes: each new row looks at two others and removes them if
//! they are over. What can't be read is never removed but by [`discard`](leasehold::OwnershipStore::discard).
//!
//! # How it waits
//!
//! One deadline (`deadline_ms`, 2 s unless set) covers an operation whole. A lock that another process holds is tried
//! again and again and never waited for inside SQLite, whose own waiting neither ends in time nor covers everything.
//! Looks and lists need no lock: they go on while somebody holds the writer's, and what they say is true all the same. The
//! one thing that no deadline covers is the disk: about every thousandth write moves the log into the database, with two
//! fsyncs. There is no other.
//!
//! # When the files change underneath
//!
//! SQLite goes on with the files it has open, whatever becomes of their names. So every operation makes sure, once it
//! holds its lock or has its row, that the names still lead to those files:
//!
//! - The database was **replaced**: the first call fails as unavailable, the next is about the new one.
//! - The database is **gone**: every call fails until it is put back or another process opens (and so makes) a new one.
//!   A store that is open never makes one, since what was put away may be put back.
//! - Its **`-wal` or `-shm`** is gone: nothing is lost, because the files still open have it all and are moved into the
//!   database; one call fails. If another process has begun a log of its own by then, what was in ours and not in the
//!   database can't be brought together with it: every call fails as unsafe until somebody puts things right.
//!
//! Not noticed: a `-wal` deleted while no store is open after a crash; a file swapped between being opened and being looked
//! up, a matter of microseconds; a file system mounted over the directory, for 50 ms; and a `-shm` that is deleted while
//! *several* stores of one process have the same database open, which share SQLite's idea of it: the one that notices
//! fails until the others have noticed too, and goes on with the deleted one if another process made a new one meanwhile.
//! Use one store a process.
//!
//! # Forks
//!
//! A store must not be used across a fork: locks stay with the process that took them. A child opens one of its own. For
//! the same reason a process that has a store open must not open and close the database by other means than SQLite: that
//! would drop all locks of the process.

mod cell;
mod config;
mod error;
mod files;
mod link;
mod place;
mod pool;
mod row;
mod schema;
mod store;
mod sweep;
mod watch;

pub use cell::SqliteCell;
pub use config::SqliteConfig;
pub use store::{SqliteStore, open};
