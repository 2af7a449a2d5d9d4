//! Leases in a directory: for the processes of one host, with nothing to install.
//!
//! One small file a sandbox, read and changed in place under a lock on that same file: an operation is open, lock, read,
//! write, a few microseconds. No operation waits for another sandbox's.
//!
//! ```
//! use leasehold::{ClaimOutcome, Intent, OwnerId, TakeOutcome, Ttl};
//!
//! let dir = tempfile::tempdir()?;
//! let url = format!("file:{}/leases", dir.path().display());
//! let ttl = Ttl::from_secs_f64(60.0)?;
//! let a = leasehold_stores::open(&url, OwnerId::generate(), ttl)?;
//! let b = leasehold_stores::open(&url, OwnerId::generate(), ttl)?;
//!
//! let id = "sbx-1".parse()?;
//! assert!(matches!(a.take(&id)?, TakeOutcome::Taken { .. }));
//! assert_eq!(b.claim(&id, Intent::Keep)?, ClaimOutcome::Refused);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What is kept
//!
//! | file | bytes | what |
//! | --- | --- | --- |
//! | `<id>.lease` | 512 | the record ([its form](leasehold::codec)), then zeros |
//! | `<id>.lease` | 0 | no record: whoever made the file was killed before writing it |
//! | `fence-mark` | 24 | at least the fence of every record that was forgotten |
//!
//! Upper-case letters of an id are written as lower-case ones with a suffix that says which they were (`Sbx-A1` is
//! `sbx-a1+11.lease`), so ids that differ in case alone differ on every file system. Other files in the directory are
//! ignored, unless their names end in `.lease`: then [`list`](leasehold::OwnershipStore::list) shows them as damaged.
//! Whoever makes a record file removes up to a few that ran out, so the directory holds little more than twice the
//! live ones at any time.
//!
//! # The directory
//!
//! It must be a real directory of the user that the gateways run as, and nobody else may write to it; one that is not
//! there yet is made so. Network file systems, FUSE and virtiofs are refused: their locks may not hold, and another host's
//! kernel may write there. `network=allow` is for those who know that one host alone uses it.
//!
//! # What a crash leaves
//!
//! A process that is killed, wherever it is, leaves the record as it was or as it was to be: 512 bytes of one page are
//! written by one step of the kernel. Its locks go with it, and its leases run out by themselves.
//!
//! A restart of the host ends every lease, because whoever held one is gone; so nothing is ever synced to the disk. Each
//! record carries the boot it was written in. One of an earlier boot is void, however damaged the power cut left it; its
//! fence, as far as it can be read, lives on. A record of another boot that was written *after* this kernel started comes
//! from a second live kernel, whose clock can't be compared with ours: that is
//! [`ErrorKind::Unsafe`](leasehold::ErrorKind::Unsafe), at every operation on it.
//!
//! # What it can't promise
//!
//! A lock is `flock`: a process that is stopped in the middle of an operation (a debugger, `SIGSTOP`, a frozen cgroup)
//! keeps that one record's lock, and the others get a timeout for that id until it goes on or ends. So it is for a child
//! that a process forks, without running another program, in the middle of an operation *and* that is killed right then:
//! the lock ends with the child.
//!
//! Whether a record is of an earlier boot is told by the wall clock of its writer. If that was ahead, and was set right
//! before the restart, the record seems to come from a second kernel and is `Unsafe` until it is discarded by force or the
//! time that it was written has passed and the host was restarted again.
//!
//! Whoever removes or moves record files behind the store's back makes those leases absent, and the store can't tell.
//! To get rid of a damaged record use [`discard`](leasehold::OwnershipStore::discard), which keeps the fences growing.

mod cell;
mod config;
mod dir;
mod discard;
mod entered;
mod error;
mod held;
mod lock;
mod mark;
mod name;
mod network;
mod record;
mod scan;
mod spot;
mod store;
mod sweep;

pub use cell::FileCell;
pub use config::FileConfig;
pub use store::{FileStore, open};
