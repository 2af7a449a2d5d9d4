//! What the tests of `conformance_suite!` are made of.

use std::sync::Arc;

use crate::case::Case;
use crate::children::Again;
use crate::listed::Listed;
use crate::runner::{run_case, waivers};
use crate::{CASES, Harness, Options, Verdict, waiver};

/// The test of `conformance_suite!` that a child process runs.
const ENTRY: &str = "entry_of_child_processes";

/// Proves one case by its id and panics unless the rule holds.
///
/// `package` is the crate that the test is in, for the command that repeats it, and `module` where in it, so that children
/// find their entry beside it. `LEASEHOLD_SEED` sets the seed.
///
/// # Panics
/// When the store breaks the rule, the harness fails, or a waiver of the case is not needed.
pub fn prove_case(harness: impl Harness, id: &str, package: &str, module: &str) {
    let case = CASES.iter().find(|case| case.id == id).expect("the macro and the list are made of one table");
    let harness: Arc<dyn Harness> = Arc::new(harness);
    let repeat = format!("LEASEHOLD_SEED={{seed}} cargo test -p {package} -- {{test}}");
    let again = Some(Again::test(module, ENTRY));
    let options = Options { seed: seed(), again, repeat, ..Options::default() };
    let waivers: Vec<_> =
        waivers(&harness, &options).into_iter().filter(|waiver| waiver.case == case.id).collect();
    let verdict = waiver::waive(case, run_case(&harness, case, &options), &waivers, options.today);
    judge(&harness.name(), case, &verdict, !waivers.is_empty(), &options.repeat_command(case));
}

/// Panics where `verdict` on `case` is a failure, or where a waiver of it is not needed.
pub(crate) fn judge<C: Listed>(name: &str, case: &C, verdict: &Verdict, waived: bool, repeat: &str) {
    let (id, rule, detail) = (case.id(), case.rule(), verdict.detail().unwrap_or_default());
    match verdict {
        Verdict::Passed | Verdict::NotApplicable(_) if waived => {
            panic!("the waiver of {id} is no longer needed on {name}: {verdict}")
        }
        Verdict::Passed => {}
        Verdict::NotApplicable(_) | Verdict::NotRun(_) => eprintln!("{id} on {name}: {verdict}: {detail}"),
        Verdict::Waived { reason, until } => eprintln!("{id} on {name}: waived until {until}: {reason}"),
        Verdict::Failed { expected, seen } => panic!(
            "{id} on {name}\n     rule: {rule}\n expected: {expected}\n     seen: {seen}\n   repeat: {repeat}"
        ),
        Verdict::HarnessError(_) => panic!("{id} on {name}: harness error: {detail}\n   repeat: {repeat}"),
    }
}

/// Proves that each waiver of the harness names a case that can be waived, has a reason and has not run out.
///
/// # Panics
/// When one doesn't.
pub fn prove_waivers(harness: impl Harness) {
    let findings = waiver::findings::<Case>(&harness.waivers(), &[], Options::default().today);
    assert!(findings.is_empty(), "{}: {}", harness.name(), findings.join("; "));
}

pub(crate) fn seed() -> u64 {
    match std::env::var("LEASEHOLD_SEED") {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("LEASEHOLD_SEED={text:?} is not a whole number")),
        Err(_) => Options::SEED,
    }
}
