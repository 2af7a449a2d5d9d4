use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use leasehold::Deadline;

use crate::case::{Case, Tier};
use crate::report::{Line, Report};
use crate::require::is_required;
use crate::{CASES, Harness, Kit, Verdict, Waiver};

/// What to run, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// Only this tier.
    pub tier: Option<Tier>,
    /// Only cases whose id begins so; a clause, or a whole id.
    pub case: Option<String>,
    /// What chance goes by.
    pub seed: u64,
    /// How long a case may take before it counts as hung.
    pub patience: Duration,
    /// Failures that are borne for a while.
    pub waivers: Vec<Waiver>,
    /// Today, as `YYYY-MM-DD`, for the waivers' sake.
    pub today: String,
    /// How a failing case is repeated, with `{case}` and `{seed}` to be filled in.
    pub repeat: String,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            tier: None,
            case: None,
            seed: Self::SEED,
            patience: Duration::from_secs(120),
            waivers: Vec::new(),
            today: String::new(),
            repeat: "--case {case} --seed {seed}".to_owned(),
        }
    }
}

impl Options {
    /// The seed of a run that is given none, so that two runs do the same.
    pub const SEED: u64 = 1;

    fn wants(&self, case: &Case) -> bool {
        let named = self.case.as_deref().is_none_or(|asked| {
            case.id == asked
                || case.clause() == asked
                || case.id.strip_prefix(asked).is_some_and(|rest| rest.starts_with('_'))
        });
        named && self.tier.is_none_or(|tier| tier == case.tier)
    }
}

/// Runs the cases that `options` ask for on `harness`; `told` hears of each as it ends.
pub fn run_all(harness: &Arc<dyn Harness>, options: &Options, told: &mut dyn FnMut(&Line)) -> Report {
    let mut lines = Vec::new();
    for case in CASES.iter().filter(|case| options.wants(case)) {
        let started = Deadline::after(options.patience);
        let verdict = waive(case, run_case(harness, case, options), options);
        let repeat = options.repeat.replace("{case}", case.id).replace("{seed}", &options.seed.to_string());
        let line = Line { case: *case, verdict, took: started.elapsed(), repeat };
        told(&line);
        lines.push(line);
    }
    let findings = crate::waiver::findings(&options.waivers, &lines, &options.today);
    Report { name: harness.name(), seed: options.seed, lines, findings }
}

/// Runs one case on a thread of its own, and gives up on it when it takes too long.
pub fn run_case(harness: &Arc<dyn Harness>, case: &Case, options: &Options) -> Verdict {
    let (harness, case, seed) = (Arc::clone(harness), *case, options.seed);
    let (tell, told) = mpsc::channel();
    let run = move || {
        let run = || match Kit::new(&*harness, seed) {
            Ok(kit) => (case.run)(&kit),
            Err(stop) => Err(stop),
        };
        let verdict = catch_unwind(AssertUnwindSafe(run)).map(Verdict::from).unwrap_or_else(|panic| {
            let said = panic.downcast_ref::<String>().cloned();
            let said = said.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            let seen = format!("a panic: {}", said.unwrap_or_default());
            Verdict::Failed { expected: case.rule.to_owned(), seen }
        });
        // Nobody listens any more when the case was given up.
        let _ = tell.send(verdict);
    };
    if let Err(error) = thread::Builder::new().name(case.id.to_owned()).spawn(run) {
        return Verdict::HarnessError(format!("no thread for the case: {error}"));
    }
    let verdict = told.recv_timeout(options.patience).unwrap_or_else(|_| Verdict::Failed {
        expected: format!("an end within {:?}", options.patience),
        seen: "the case hangs".to_owned(),
    });
    match verdict {
        Verdict::NotRun(why) if required(&why) => {
            Verdict::HarnessError(format!("required, and not run: {why}"))
        }
        verdict => verdict,
    }
}

fn required(why: &str) -> bool {
    ["redis", "docker", "gate"].into_iter().any(|name| why.contains(name) && is_required(name))
}

fn waive(case: &Case, verdict: Verdict, options: &Options) -> Verdict {
    let waiver = options.waivers.iter().find(|waiver| waiver.covers(case, &options.today));
    match (verdict, waiver) {
        (Verdict::Failed { .. }, Some(waiver)) if case.tier != Tier::Core => {
            Verdict::Waived { reason: waiver.reason.clone(), until: waiver.until.clone() }
        }
        (verdict, _) => verdict,
    }
}

/// Proves one case by its id and panics unless the rule holds: what the tests of `conformance_suite!` are made of.
///
/// # Panics
/// When the store breaks the rule, or the harness fails.
pub fn prove_case<H: Harness + Clone>(harness: &H, id: &str, package: &str) {
    let case = CASES.iter().find(|case| case.id == id).expect("the macro and the list are made of one table");
    let harness: Arc<dyn Harness> = Arc::new(harness.clone());
    let seed =
        std::env::var("LEASEHOLD_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(Options::SEED);
    let options = Options { seed, ..Options::default() };
    match run_case(&harness, case, &options) {
        Verdict::Passed => {}
        verdict @ (Verdict::NotApplicable(_) | Verdict::NotRun(_)) => {
            let why = verdict.detail().unwrap_or_default();
            eprintln!("{}: {verdict}: {why}", case.id);
        }
        Verdict::Failed { expected, seen } => {
            let name = case.id.to_lowercase().replace('.', "_");
            panic!(
                "{} on {}\n     rule: {}\n expected: {expected}\n     seen: {seen}\n   repeat: LEASEHOLD_SEED={seed} \
                 cargo test -p {package} {name}",
                case.id,
                harness.name(),
                case.rule
            );
        }
        verdict => {
            panic!("{} on {}: {verdict}: {}", case.id, harness.name(), verdict.detail().unwrap_or_default())
        }
    }
}
