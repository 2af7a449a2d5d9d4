//! The kit for backends: anyone proves a [`SandboxBackend`](leasehold::SandboxBackend) against what a provider relies on.
//!
//! Write a [`BackendHarness`] for your backend, then either
//!
//! - `leasehold_conformance::backend_suite!(MyHarness);` in a test file: one `#[test]` a case; or
//! - `leasehold_conformance::backend_main!(MyHarness);` in a binary or example: the whole command line.
//!
//! | you want to | look at |
//! | --- | --- |
//! | have a backend proved | [`BackendHarness`], [`Site`], [`Abilities`], and `docs/implementing-a-backend.md` |
//! | know what is proved | [`CASES`] |
//! | run it from code | [`run_all`], [`BackendReport`] |
//! | see a backend that keeps every rule | [`ModelBackend`], [`ModelHarness`] |
//! | see that the kit can fail | the module `faulty` (features `backend` and `meta`) |
//!
//! Each case has a [`Site`] of its own, runs on a runtime of its own with several threads, gives no call longer than
//! [`Abilities::patience`], and at its end destroys all that it finds in the namespaces it opened: what is left then is a
//! failure too.

mod abilities;
mod case;
mod cases;
mod cli;
#[cfg(feature = "meta")]
pub mod faulty;
mod handle;
mod harness;
mod kit;
mod model;
mod need;
mod runner;
mod suite;

pub use abilities::Abilities;
pub use case::{BackendCase, BackendReport, Proof};
pub use cases::CASES;
pub use cli::main;
pub use handle::Handle;
pub use harness::{BackendHarness, LAST_WORDS, Site, own_namespace};
pub use kit::BackendKit;
pub use model::{ModelBackend, ModelEngine, ModelHarness, ModelSite};
pub use need::BackendNeed;
pub use runner::{run_all, run_case};
pub use suite::{prove_case, prove_waivers};

/// The whole command line for a backend of one's own: options, reports, exit code.
///
/// ```ignore
/// leasehold_conformance::backend_main!(MyHarness);
/// ```
#[macro_export]
macro_rules! backend_main {
    ($harness:ty) => {
        fn main() -> ::std::process::ExitCode {
            $crate::backend::main(::std::sync::Arc::new(<$harness as ::std::default::Default>::default()))
        }
    };
}
