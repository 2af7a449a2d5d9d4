//! Which case catches which fault.

use std::fmt::Write;
use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::Duration;

use leasehold::Deadline;

use super::{Fault, FaultyHarness};
use crate::case::{Case, Tier};
use crate::children::Again;
use crate::{CASES, Harness, Options, Verdict, run_case};

/// How often a race that must catch its fault is run until it does: on a busy machine threads may miss each other.
const RACES: usize = 5;

/// The kill matrix: for each fault the cases that failed on it.
///
/// A case of the race tier is run against a fault only where the fault names it, since what else it catches is up to how
/// threads happen to meet. All other cells are the same in every run.
#[must_use]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Matrix {
    /// By fault, in the order of [`Fault::ALL`].
    pub rows: Vec<Row>,
    /// What failed on the faultless models, which has to be nothing.
    pub false_alarms: Vec<String>,
    /// The cases that passed on neither faultless model, and why: what was not run proves nothing.
    pub unproved: Vec<(&'static str, String)>,
}

/// One fault and what caught it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The fault.
    pub fault: Fault,
    /// The cases that failed, in the order of the contract.
    pub caught_by: Vec<&'static str>,
}

/// The cases that a plain store is proved by, and so those of the matrix. Those of the facade tier are about what stands
/// before a store, and are proved by faults of their own.
pub fn cases() -> impl Iterator<Item = &'static Case> {
    CASES.iter().filter(|case| of_plain_stores(case))
}

fn of_plain_stores(case: &Case) -> bool {
    case.tier.name() != "facade"
}

/// Runs every case on the faultless models and on every faulty store, on all cores; `told` hears of each fault as it is
/// done, and how long it took. `again` says how this program is run again as a child, for the cases about other processes;
/// the child serves [`FaultyHarness::named`].
pub fn run(again: &Again, told: &mut dyn FnMut(Fault, Duration)) -> Matrix {
    let options = Options { again: Some(again.clone()), ..Options::default() };
    let jobs: Vec<Job> = [Job::Shared, Job::Faultless]
        .into_iter()
        .chain(Fault::ALL.iter().copied().map(Job::Faulty))
        .collect();
    let (next, (tell, done)) = (AtomicUsize::new(0), mpsc::channel());
    let workers = thread::available_parallelism().map_or(1, NonZero::get);
    let (mut rows, mut models) = (Vec::new(), Vec::new());
    thread::scope(|scope| {
        for worker in 0..workers {
            let (jobs, next, options, tell) = (&jobs, &next, &options, tell.clone());
            let work = move || work(jobs, next, options, &tell);
            let started = thread::Builder::new().name(format!("faults {worker}")).spawn_scoped(scope, work);
            started.expect("a machine that has no thread for this has none for the cases either");
        }
        drop(tell);
        for result in &done {
            match result {
                Done::Faulty(row, took) => {
                    told(row.fault, took);
                    rows.push(row);
                }
                Done::Faultless(verdicts) => models.push(verdicts),
            }
        }
    });
    rows.sort_by_key(|row| row.fault);
    Matrix { rows, false_alarms: false_alarms(&models), unproved: unproved(&models) }
}

#[derive(Clone, Copy)]
enum Job {
    Faultless,
    Shared,
    Faulty(Fault),
}

/// What each case comes to on a faultless model.
type Verdicts = Vec<(&'static Case, Verdict)>;

enum Done {
    Faultless(Verdicts),
    Faulty(Row, Duration),
}

fn work(jobs: &[Job], next: &AtomicUsize, options: &Options, tell: &Sender<Done>) {
    while let Some(job) = jobs.get(next.fetch_add(1, Ordering::SeqCst)) {
        let result = match *job {
            Job::Faultless => Done::Faultless(all(FaultyHarness::new(None), options)),
            Job::Shared => Done::Faultless(all(FaultyHarness::shared(), options)),
            Job::Faulty(fault) => {
                let since = Deadline::after(Duration::ZERO);
                let row = Row { fault, caught_by: caught_by(fault, options) };
                Done::Faulty(row, since.elapsed())
            }
        };
        if tell.send(result).is_err() {
            return;
        }
    }
}

fn all(harness: FaultyHarness, options: &Options) -> Verdicts {
    let asked = asked_of(&harness);
    let harness: Arc<dyn Harness> = Arc::new(harness);
    asked.map(|case| (case, run_case(&harness, case, options))).collect()
}

fn caught_by(fault: Fault, options: &Options) -> Vec<&'static str> {
    let harness = FaultyHarness::new(Some(fault));
    let asked = asked_of(&harness);
    let harness: Arc<dyn Harness> = Arc::new(harness);
    let fails = |case: &Case| matches!(run_case(&harness, case, options), Verdict::Failed { .. });
    let catches = |case: &&Case| match (case.tier, case.id == fault.case()) {
        (Tier::Race, true) => (0..RACES).any(|_| fails(case)),
        (Tier::Race, false) => false,
        _ => fails(case),
    };
    asked.filter(catches).map(|case| case.id).collect()
}

/// The cases that `harness` is asked for. A world in files is slow, and within one process it is like any other: such a
/// store is asked about its reach alone.
fn asked_of(harness: &FaultyHarness) -> impl Iterator<Item = &'static Case> + use<> {
    let is_shared = harness.is_shared();
    cases().filter(move |case| !is_shared || case.family() == "reach")
}

fn false_alarms(models: &[Verdicts]) -> Vec<String> {
    let failed = models.iter().flatten().filter(|(_, verdict)| verdict.is_failure());
    failed.map(|(case, verdict)| format!("{}: {}", case.id, verdict.detail().unwrap_or_default())).collect()
}

fn unproved(models: &[Verdicts]) -> Vec<(&'static str, String)> {
    let of = |id: &str| -> Vec<&Verdict> {
        models.iter().flatten().filter(|(case, _)| case.id == id).map(|(_, verdict)| verdict).collect()
    };
    let why = |verdicts: &[&Verdict]| {
        verdicts.iter().find_map(|verdict| verdict.detail()).unwrap_or("it was not run").to_owned()
    };
    let proved = |verdicts: &[&Verdict]| verdicts.contains(&&Verdict::Passed);
    cases()
        .map(|case| (case.id, of(case.id)))
        .filter(|(_, v)| !proved(v))
        .map(|(id, v)| (id, why(&v)))
        .collect()
}

impl Matrix {
    /// What is wrong with a kit that has `cases`: a fault that its case does not catch, a case that no fault names, a case
    /// that alarms on a faultless model or never passed on one. Nothing, for the kit as it is; something, for the kit
    /// without any one of its cases.
    #[must_use]
    pub fn findings(&self, cases: &[Case]) -> Vec<String> {
        let there = |id: &str| cases.iter().any(|case| case.id == id);
        let alarms = self.false_alarms.iter().map(|why| format!("false alarm on a faultless model: {why}"));
        let unproved = self.unproved.iter().filter(|(id, _)| there(id));
        let unproved = unproved.map(|(id, why)| format!("{id} passed on no faultless model: {why}"));
        let caught = |row: &&Row| row.is_caught() && there(row.fault.case());
        let escaped = self.rows.iter().filter(|row| !caught(row));
        let escaped = escaped.map(|row| format!("{} does not catch {}", row.fault.case(), row.fault));
        let idle = cases.iter().filter(|case| of_plain_stores(case) && !is_named(case.id));
        let idle = idle.map(|case| format!("no fault is planted for {}", case.id));
        alarms.chain(unproved).chain(escaped).chain(idle).collect()
    }

    /// How many faults their own cases caught.
    #[must_use]
    pub fn caught(&self) -> usize {
        self.rows.iter().filter(|row| row.is_caught()).count()
    }

    /// The matrix as it is committed: a line a fault, with the case that must catch it and then whatever else did.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::from(HEAD);
        for row in &self.rows {
            let must = row.fault.case();
            let held = if row.is_caught() { must.to_owned() } else { format!("{must} (escaped)") };
            let _ = write!(text, "{}: {held} |", row.fault.name());
            for case in row.caught_by.iter().filter(|case| **case != must) {
                let _ = write!(text, " {case}");
            }
            text.push('\n');
        }
        text
    }
}

/// What stands above the matrix.
const HEAD: &str = "\
# Which case catches which fault: the fault, the case that must catch it, and behind the bar whatever else does. A race is
# run only against the faults that name it. Written by `leasehold meta --bless`.
";

impl Row {
    /// Whether the case that must catch it did.
    #[must_use]
    pub fn is_caught(&self) -> bool {
        self.caught_by.contains(&self.fault.case())
    }
}

fn is_named(id: &str) -> bool {
    Fault::ALL.iter().any(|fault| fault.case() == id)
}
