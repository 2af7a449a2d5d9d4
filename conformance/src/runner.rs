use std::sync::Arc;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use leasehold::Deadline;

use crate::case::Case;
use crate::guard::guarded;
use crate::listed::Listed;
use crate::report::{Line, Report};
use crate::{Harness, Options, Verdict, Waiver, waiver};

/// How far a run is, for whoever shows it.
#[derive(Clone, Copy, Debug)]
pub enum Progress<'a, C = Case> {
    /// A case begins: which, as the how-manieth of how many.
    Began(&'a C, usize, usize),
    /// A case ended.
    Ended(&'a Line<C>),
}

/// Runs the cases that `options` ask for on `harness`; `told` hears of each as it begins and as it ends.
pub fn run_all(harness: &Arc<dyn Harness>, options: &Options, told: &mut dyn FnMut(Progress<'_>)) -> Report {
    let waivers = waivers(harness, options);
    run_each(harness.name(), &waivers, options, &|case| run_case(harness, case, options), told)
}

/// Runs the cases that `options` ask for, each by `run`.
pub(crate) fn run_each<C: Listed>(
    name: String,
    waivers: &[Waiver],
    options: &Options,
    run: &dyn Fn(&C) -> Verdict,
    told: &mut dyn FnMut(Progress<'_, C>),
) -> Report<C> {
    let wanted: Vec<&C> = C::all().iter().filter(|case| options.ask_for(*case)).collect();
    let mut lines = Vec::with_capacity(wanted.len());
    for (n, case) in wanted.iter().enumerate() {
        told(Progress::Began(case, n + 1, wanted.len()));
        let started = Deadline::after(options.patience);
        let verdict = waiver::waive(*case, run(case), waivers, options.today);
        let line =
            Line { case: **case, verdict, took: started.elapsed(), repeat: options.repeat_command(*case) };
        told(Progress::Ended(&line));
        lines.push(line);
    }
    let findings = waiver::findings(waivers, &lines, options.today);
    Report { name, seed: options.seed, lines, findings }
}

/// The waivers of the harness and those of the options.
pub(crate) fn waivers(harness: &Arc<dyn Harness>, options: &Options) -> Vec<Waiver> {
    // A harness that panics in this has no waivers, and its cases tell of the panic where it matters.
    let own = guarded("waivers", || harness.waivers()).unwrap_or_default();
    own.into_iter().chain(options.waivers.iter().cloned()).collect()
}

/// Runs one case on a thread of its own, and gives up on it when it takes too long.
pub fn run_case(harness: &Arc<dyn Harness>, case: &Case, options: &Options) -> Verdict {
    let run = {
        let (harness, case, seed) = (Arc::clone(harness), *case, options.seed);
        let again = options.again.clone();
        move || case.run_in(&*harness, seed, again.as_ref())
    };
    let patience = patience(harness, options).saturating_mul(rounds(case));
    bounded(&harness.name(), case.id, patience, options, run)
}

/// Runs `run` on a thread of its own for `patience` at most; what may not be left out is an error where it was not run.
pub(crate) fn bounded(
    name: &str,
    case: &str,
    patience: Duration,
    options: &Options,
    run: impl FnOnce() -> Verdict + Send + 'static,
) -> Verdict {
    let (tell, told) = mpsc::channel();
    // Nobody listens any more when the case was given up.
    let run = move || drop(tell.send(run()));
    if let Err(error) = thread::Builder::new().name(case.to_owned()).spawn(run) {
        return Verdict::HarnessError(format!("no thread for the case: {error}"));
    }
    let verdict = told.recv_timeout(patience).unwrap_or_else(|_| Verdict::Failed {
        expected: format!("an end within {patience:?}"),
        seen: "the case hung; its thread was left behind".to_owned(),
    });
    match verdict {
        Verdict::NotRun(why) => match options.required.asked_for(name, &why) {
            Some(name) => {
                Verdict::HarnessError(format!("not run, and LEASEHOLD_REQUIRE names {name}: {why}"))
            }
            None => Verdict::NotRun(why),
        },
        verdict => verdict,
    }
}

/// How often the case plays itself on each flavour of the runtime, where it is one that does.
fn rounds(case: &Case) -> u32 {
    #[cfg(feature = "facade")]
    if case.tier == crate::case::Tier::Facade {
        // A number that is none is for the case to complain about.
        return crate::facade::rounds().ok().and_then(|rounds| rounds.try_into().ok()).unwrap_or(1);
    }
    let _ = case;
    1
}

/// A case on a broken server may have to wait for a deadline a good many times.
fn patience(harness: &Arc<dyn Harness>, options: &Options) -> Duration {
    let deadline = guarded("capabilities", || harness.capabilities().deadline).unwrap_or_default();
    options.patience.max(deadline.saturating_mul(30))
}
