//! All of them, one after the other.

use super::canary::{Canary, Finding};
use super::report::CanaryReport;
use crate::status;

/// Tries every canary, inline and offloaded, and every piece of sanctioned work, on a current-thread runtime of its
/// own. Not to be called from within a runtime. Takes about a second.
///
/// # Panics
///
/// When no runtime can be made, or the gate is blind.
pub fn run_all() -> CanaryReport {
    let mut report = CanaryReport::default();
    if let Err(unavailable) = status::require() {
        report.note("the gate", Finding::NotRun { need: "gate", why: unavailable.to_string() });
        return report;
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a current-thread runtime needs nothing that could be missing");
    runtime.block_on(async {
        for canary in super::all() {
            if report.note(canary.name(), both_ways(canary).await) {
                report.tripped += 1;
            }
        }
        for work in super::sanctioned() {
            if report.note(work.name(), work.run().await) {
                report.sanctioned += 1;
            }
        }
    });
    report
}

async fn both_ways(canary: &Canary) -> Finding {
    match canary.inline().await {
        Finding::Sound => match canary.offloaded().await {
            Finding::Wrong(how) => Finding::Wrong(format!("offloaded: {how}")),
            finding => finding,
        },
        finding => finding,
    }
}
