use std::sync::Arc;

use super::{BackendCase, BackendHarness, BackendReport};
use crate::guard::guarded;
use crate::runner::{bounded, run_each};
use crate::{Options, Progress, Verdict, Waiver};

/// Runs the cases that `options` ask for on the backend of `harness`; `told` hears of each as it begins and as it ends.
///
/// ```
/// use leasehold_conformance::Options;
/// use leasehold_conformance::backend::{BackendHarness, ModelHarness, run_all};
/// use std::sync::Arc;
///
/// let harness: Arc<dyn BackendHarness> = Arc::new(ModelHarness::default());
/// let options = Options { case: Some("condemn".to_owned()), ..Options::default() };
/// let report = run_all(&harness, &options, &mut |_| {});
/// assert!(report.is_success(), "{}", report.text());
/// ```
pub fn run_all(
    harness: &Arc<dyn BackendHarness>,
    options: &Options,
    told: &mut dyn FnMut(Progress<'_, BackendCase>),
) -> BackendReport {
    let waivers = waivers(harness, options);
    run_each(harness.name(), &waivers, options, &|case| run_case(harness, case, options), told)
}

/// Runs one case on a thread and a runtime of its own, and gives up on it when it takes too long.
pub fn run_case(harness: &Arc<dyn BackendHarness>, case: &BackendCase, options: &Options) -> Verdict {
    let patience = guarded("abilities", || harness.abilities().patience).unwrap_or_default();
    let patience = options.patience.max(patience.saturating_mul(10));
    let (kept, run) = (Arc::clone(harness), *case);
    bounded(&harness.name(), case.id, patience, options, move || run.run(&*kept))
}

/// The waivers of the harness and those of the options.
pub(super) fn waivers(harness: &Arc<dyn BackendHarness>, options: &Options) -> Vec<Waiver> {
    // A harness that panics in this has no waivers, and its cases tell of the panic where it matters.
    let own = guarded("waivers", || harness.waivers()).unwrap_or_default();
    own.into_iter().chain(options.waivers.iter().cloned()).collect()
}
