//! The conformance kit: anyone proves a store of leases against the contract, clause by clause, or a backend that starts and
//! stops sandboxes against what a provider relies on.
//!
//! Write a [`Harness`] for your store, then either
//!
//! - `leasehold_conformance::conformance_suite!(MyHarness);` in a test file: one `#[test]` a case; or
//! - `leasehold_conformance::conformance_main!(MyHarness);` in a binary or example: the whole command line.
//!
//! | you want to | look at |
//! | --- | --- |
//! | have a store proved | [`Harness`], [`Namespace`], [`Faults`] |
//! | know what is proved | [`CASES`], and `docs/contract.md` |
//! | have a recorded history judged | the modules [`history`] and [`checker`] |
//! | run it from code | [`run_all`], [`Report`] |
//! | have a backend proved, not a store | the module `backend` (feature `backend`) |
//! | see that the kit can fail | the module `meta` (feature `meta`) |
//! | see the provider under every fault | the module `sim` (feature `sim`) |
//! | have a store proved behind the async facade | the module `facade` (feature `facade`) |
//! | have a store that is sure to block | the module `probes` (feature `facade`) |
//! | have a Redis server in a test | the module `servers` (feature `servers`) |

#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used))]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "backend")]
pub mod backend;
pub mod case;
mod cases;
mod chance;
pub mod checker;
pub mod children;
pub mod cli;
mod day;
#[cfg(feature = "facade")]
pub mod facade;
mod guard;
mod harness;
pub mod history;
mod kit;
mod listed;
#[cfg(feature = "meta")]
pub mod meta;
mod model;
mod options;
#[cfg(feature = "facade")]
pub mod probes;
pub mod race;
mod report;
mod require;
mod runner;
#[cfg(feature = "servers")]
pub mod servers;
#[cfg(feature = "sim")]
pub mod sim;
mod suite;
mod text;
mod time;
mod verdict;
mod waiver;

pub use cases::CASES;
pub use day::Day;
pub use guard::Guarded;
pub use harness::{Capabilities, Damage, Faults, Harness, Namespace, Outage, Unready};
pub use kit::{Kit, Store};
pub use listed::Listed;
pub use options::Options;
pub use report::{CONTRACT, Line, Report};
pub use require::{Required, is_required, not_run};
pub use runner::{Progress, run_all, run_case};
pub use suite::{prove_case, prove_waivers};
pub use verdict::Verdict;
pub use waiver::Waiver;

/// The whole command line for a store of one's own: options, reports, exit code.
///
/// ```ignore
/// leasehold_conformance::conformance_main!(MyHarness);
/// ```
#[macro_export]
macro_rules! conformance_main {
    ($harness:ty) => {
        fn main() -> ::std::process::ExitCode {
            $crate::cli::main(::std::sync::Arc::new(<$harness as ::std::default::Default>::default()))
        }
    };
}
