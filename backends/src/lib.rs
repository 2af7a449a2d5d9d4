//! What starts and stops sandboxes.
//!
//! | backend | feature | pick it for |
//! | --- | --- | --- |
//! | [`docker`] | `docker` | production: containers of a Docker engine or of Podman |
//! | [`process`] | `process` | development and tests: nothing to install, nothing isolated; Linux |
//!
//! Every backend has the same files: `mod.rs` (what it is), `config.rs` (its settings), `backend.rs` (the trait),
//! `error.rs` (its engine's errors in our words), `exec.rs` (commands).

#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used))]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(any(feature = "docker", all(feature = "process", target_os = "linux")))]
mod environment;

#[cfg(feature = "docker")]
pub mod docker;
#[cfg(all(feature = "process", target_os = "linux"))]
pub mod process;
