//! Gateways as processes of their own, for examples and tests that kill them: the same program run again, told what to do
//! over a pipe, with a real store and real sandboxes.

mod gateway;
mod place;
mod remote;

pub use gateway::serve_if_asked;
pub use place::{Place, Timing};
pub use remote::{Failed, Handed, Remote, Seen};
