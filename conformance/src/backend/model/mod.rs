//! A backend in memory that keeps every rule: what the kit is held against, and the shortest example of one.
//!
//! Sandboxes are rows of a table and commands are a few words of shell, played by a task each. It needs a tokio runtime.

mod backend;
mod commands;
mod engine;
mod harness;
mod script;

pub use backend::ModelBackend;
pub use engine::ModelEngine;
pub use harness::{ModelHarness, ModelSite};

#[cfg(feature = "meta")]
pub(super) use backend::missing;
#[cfg(feature = "meta")]
pub(super) use engine::Instance;
#[cfg(feature = "meta")]
pub(super) use harness::ABILITIES;
