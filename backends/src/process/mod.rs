//! Sandboxes that are plain processes of this host: nothing to install, and nothing isolated.
//!
//! **This backend isolates nothing.** A sandbox is a program that runs as the gateway's own user and can read, change and
//! kill whatever that user can, other sandboxes and the gateway among it. Its directory is where it starts, not where it
//! has to stay; a mount is a link (`/workspace` becomes `workspace` in its directory), and a read-only one can be written.
//! It is meant for development, tests, and code that
//! one would run by hand anyway.
//!
//! What it does give is what a provider asks of an engine: a sandbox survives the gateway that made it, every gateway of
//! the same user finds it again, it is never mistaken for another process that got its number, and when it is destroyed
//! all of it is gone.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use leasehold::{Command, Identity, OwnerId, Output, SandboxBackend, SandboxSpec};
//! use leasehold_backends::process::{ProcessBackend, ProcessConfig};
//!
//! let config = ProcessConfig::new("/run/user/1000/sandboxes", "agents".parse()?, ["sleep", "infinity"]);
//! let backend = ProcessBackend::new(config)?;
//! let made = backend
//!     .create(&SandboxSpec {
//!         id: "sbx-1".parse()?,
//!         identity: Identity { namespace: "agents".parse()?, session: None, policy: None },
//!         creator: OwnerId::generate(),
//!         mounts: Vec::new(),
//!         environment: Default::default(),
//!     })
//!     .await?;
//! let mut running = backend.exec(&made.instance, Command::new("uname")).await?;
//! while let Output::Stdout(text) = running.next().await? {
//!     print!("{}", String::from_utf8_lossy(&text));
//! }
//! backend.destroy(&made.instance).await?;
//! # Ok(())
//! # }
//! ```
//!
//! # What is what
//!
//! | word | here |
//! | --- | --- |
//! | engine | this machine, its process numbers and the root directory: gateways that share all three share sandboxes |
//! | instance | a record under the root, and the process that it names by number and start time |
//! | running | that process runs; a sandbox ends with its first process, as a container does |
//! | gone | its record is gone; until then it has *ended*, and what it said can still be read |
//! | cannot tell | the record can't be read, or was made where process numbers mean something else (another container or machine) |
//!
//! # What belongs to a sandbox
//!
//! Its process group, the groups of the commands started in it, whatever was started with its marker
//! (`LEASEHOLD_INSTANCE`) in the environment, and the children of all these. A process that leaves its group, clears its
//! environment *and* outlives its parent gets away, as it must where nothing is isolated.
//!
//! # How long it lives
//!
//! A sandbox leads a process group of its own and has no pipe to its gateway, so it outlives it. Whoever stops a gateway
//! *with everything it started* stops its sandboxes too: under systemd, set `KillMode=process`; in a container, they end
//! with the container. The command must stay in the foreground (no `setsid`, no daemon), since the sandbox ends with it.
//!
//! # Who may share a root
//!
//! Gateways of one user on one host, in one process-number namespace. The root must be on a local file system; it is
//! refused when somebody else owns it or may write in it. What sandboxes write to their standard output and error is
//! kept in files that nothing limits. Their variables are kept in a file too, readable for this user alone.

mod backend;
mod config;
mod engine;
mod error;
mod exec;
mod files;
mod host;
mod life;
mod lock;
mod members;
mod name;
mod place;
mod proc;
mod ready;
mod reaper;
mod record;
mod runner;
mod spawn;
mod stop;
mod threads;

pub use backend::ProcessBackend;
pub use config::{InvalidProcessConfig, ProcessConfig, ReadyCheck};
