//! Sandboxes that are containers of a Docker engine, or of Podman's compatible socket.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use leasehold::SandboxBackend;
//! use leasehold_backends::docker::{DockerBackend, DockerConfig, ReadyCheck};
//!
//! let mut config = DockerConfig::new("agents-prod".parse()?, "registry.example/sandbox:7");
//! config.port = Some(8080);
//! config.ready = ReadyCheck::Http { path: "/healthz".to_owned() };
//! let backend = DockerBackend::new(config)?;
//! println!("engine {}", backend.engine_id().await?);
//! # Ok(())
//! # }
//! ```
//!
//! # What is what
//!
//! | word | here |
//! | --- | --- |
//! | engine | what listens at [`DockerConfig::engine`], by a digest of its own id |
//! | instance | a container, by the 64 digits of its id; no other name ever reaches a stop |
//! | name | `leasehold.<namespace>.<sandbox id>` |
//! | condemned | renamed to `leasehold-condemned.<namespace>.<sandbox id>.<16 digits>`, which frees the name at once |
//! | whose | the labels `leasehold.*`, compared here whole; the engine's filters only make answers shorter |
//! | running | the engine's `running`; paused, restarting, created and stopping are [stopped](leasehold::Condition::Stopped) |
//! | ended | exited, dead, being removed |
//! | gone | the engine's own words for it, not any 404 |
//! | cannot tell | everything else: an error |
//!
//! # What a sandbox may
//!
//! Little, unless the [configuration](DockerConfig) says otherwise: no new privileges, no capability, the engine's default
//! seccomp profile, limits on memory (no swap), processors, processes and logs, a shared memory of its own, no restart, no
//! mount that is not below a root the integrator named, read-only unless asked for otherwise.
//!
//! # What leasehold does to an engine, and never does
//!
//! It makes, renames, stops and removes containers that have its labels and this namespace, with the volumes made for them
//! alone. It never touches another container, image, network or volume, never prunes, and never removes by a name.
//! A container that an operator renamed is reported, not stopped.
//!
//! # Commands
//!
//! They are started by a [shell](DockerConfig::shell) of the image, which says their number and becomes them: an engine has
//! no way to kill a command by itself. One that was ended by a signal ends, as everywhere with containers, with
//! [`Exit::Code`](leasehold::Exit::Code)`(128 + signal)`. One whose gateway dies runs on until its sandbox is stopped.

mod address;
mod backend;
mod config;
mod connect;
mod endpoint;
mod engine;
mod error;
mod exec;
mod image;
mod labels;
mod make;
mod mounts;
mod name;
mod ready;
mod runner;
mod view;

pub use address::{EngineAddress, InvalidDockerAddress, Tls};
pub use backend::DockerBackend;
pub use config::{DockerConfig, InvalidDockerConfig, Limits, Publish, Pull, ReadyCheck};
