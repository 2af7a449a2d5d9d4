//! Blocking work that must trip the gate, and honest work that must not.
//!
//! A gate that sees nothing passes every test. So it is proved from both sides: each [`Canary`] is one kind of blocking
//! work, which must trip the gate when it is done in a poll, under the name of the call it is known by, and must not
//! when it is offloaded; each [`Sanctioned`] is one kind of honest async work, which must not trip it at all.
//!
//! ```no_run
//! let report = leasehold_gate::canaries::run_all();
//! println!("{report}"); // canaries: 45 tripped, 18 sanctioned
//! assert!(report.is_sound());
//! ```

mod canary;
mod contexts;
mod drivers;
mod files;
mod ground;
mod locks;
mod processes;
mod redis_server;
mod report;
mod run;
mod sanctioned;
mod sockets;

pub use canary::{Canary, Finding};
pub use report::CanaryReport;
pub use run::run_all;
pub use sanctioned::Sanctioned;

/// Every kind of blocking work.
///
/// ```
/// use leasehold_gate::canaries;
///
/// assert!(canaries::all().len() >= 30);
/// assert!(canaries::all().iter().any(|canary| canary.name() == "fsync"));
/// ```
pub fn all() -> &'static [Canary] {
    use std::sync::LazyLock;
    static ALL: LazyLock<Vec<Canary>> = LazyLock::new(|| {
        [
            files::CANARIES,
            locks::CANARIES,
            sockets::CANARIES,
            processes::CANARIES,
            drivers::CANARIES,
            contexts::CANARIES,
        ]
        .concat()
    });
    &ALL
}

/// Every kind of honest work.
///
/// ```
/// use leasehold_gate::canaries;
///
/// assert!(canaries::sanctioned().iter().any(|work| work.name() == "a timer"));
/// ```
pub fn sanctioned() -> &'static [Sanctioned] {
    sanctioned::ALL
}
