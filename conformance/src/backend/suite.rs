//! What the tests of `backend_suite!` are made of.

use std::sync::Arc;

use super::runner::{run_case, waivers};
use super::{BackendCase, BackendHarness, CASES};
use crate::suite::judge;
use crate::{Listed, Options, waiver};

/// Proves one case by its id and panics unless the rule holds. `package` is the crate that the test is in, for the command
/// that repeats it.
///
/// # Panics
/// When the backend breaks the rule, the harness fails, or a waiver of the case is not needed.
pub fn prove_case(harness: impl BackendHarness, id: &str, package: &str) {
    let case = CASES.iter().find(|case| case.id == id).expect("the macro and the list are made of one table");
    let harness: Arc<dyn BackendHarness> = Arc::new(harness);
    let options = Options { repeat: format!("cargo test -p {package} -- {{test}}"), ..Options::default() };
    let waivers: Vec<_> =
        waivers(&harness, &options).into_iter().filter(|waiver| waiver.case == case.id()).collect();
    let verdict = waiver::waive(case, run_case(&harness, case, &options), &waivers, options.today);
    judge(&harness.name(), case, &verdict, !waivers.is_empty(), &options.repeat_command(case));
}

/// Proves that each waiver of the harness names a case that can be waived, has a reason and has not run out.
///
/// # Panics
/// When one doesn't.
pub fn prove_waivers(harness: impl BackendHarness) {
    let findings = waiver::findings::<BackendCase>(&harness.waivers(), &[], Options::default().today);
    assert!(findings.is_empty(), "{}: {}", harness.name(), findings.join("; "));
}
