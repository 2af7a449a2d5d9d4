//! Which case catches which fault.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

use super::{Fault, FaultyHarness};
use crate::{CASES, Harness, Options, Report, Verdict, run_all};

/// The kill matrix: for each fault the cases that failed on it.
#[must_use]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Matrix {
    /// By fault, in the order of the contract.
    pub caught_by: Vec<(Fault, Vec<&'static str>)>,
    /// What failed on the faultless model, which has to be nothing.
    pub false_alarms: Vec<String>,
}

/// Runs every case on the faultless model and on every faulty store; `told` hears of each fault as it is done.
pub fn run(told: &mut dyn FnMut(Fault)) -> Matrix {
    let failed = |report: &Report| -> Vec<&'static str> {
        report.lines.iter().filter(|line| line.verdict.is_failure()).map(|line| line.case.id).collect()
    };
    let faultless = prove(None);
    let alarms = faultless.lines.iter().filter(|line| line.verdict.is_failure());
    let words = |verdict: &Verdict| verdict.detail().unwrap_or_default().to_owned();
    let false_alarms = alarms.map(|line| format!("{}: {}", line.case.id, words(&line.verdict))).collect();
    let caught_by = Fault::ALL
        .iter()
        .map(|&fault| {
            let report = prove(Some(fault));
            told(fault);
            (fault, failed(&report))
        })
        .collect();
    Matrix { caught_by, false_alarms }
}

fn prove(fault: Option<Fault>) -> Report {
    let harness: Arc<dyn Harness> = Arc::new(FaultyHarness::new(fault));
    run_all(&harness, &Options::default(), &mut |_| {})
}

impl Matrix {
    /// Faults that no case caught.
    #[must_use]
    pub fn escaped(&self) -> Vec<Fault> {
        self.caught_by.iter().filter(|(_, cases)| cases.is_empty()).map(|(fault, _)| *fault).collect()
    }

    /// Faults that no case of the very clause they break caught, though others did.
    #[must_use]
    pub fn caught_elsewhere(&self) -> Vec<Fault> {
        let of_clause = |fault: Fault, cases: &[&str]| {
            cases.iter().any(|case| case.split('.').next() == Some(fault.clause()))
        };
        let elsewhere = self.caught_by.iter().filter(|(fault, cases)| !of_clause(*fault, cases));
        elsewhere.map(|(fault, _)| *fault).collect()
    }

    /// Cases that no fault needs.
    #[must_use]
    pub fn idle(&self) -> Vec<&'static str> {
        let catches = |id: &str| self.caught_by.iter().any(|(_, cases)| cases.contains(&id));
        CASES.iter().map(|case| case.id).filter(|id| !catches(id)).collect()
    }

    /// The matrix as it is committed. What depends on how threads happen to run is left out: for a fault that only races
    /// show, and for the cases of the race tier, whether it was caught is all that is said.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (fault, cases) in &self.caught_by {
            let _ = writeln!(text, "{fault}");
            let steady: Vec<_> = cases.iter().filter(|case| !case.starts_with('A')).collect();
            for case in &steady {
                let _ = writeln!(text, "    {case}");
            }
            if steady.is_empty() && !cases.is_empty() {
                let _ = writeln!(text, "    A, where it races");
            }
        }
        text
    }

    /// How many faults each clause has, for a short look.
    #[must_use]
    pub fn by_clause(&self) -> BTreeMap<&'static str, usize> {
        let mut counts = BTreeMap::new();
        for (fault, _) in &self.caught_by {
            *counts.entry(fault.clause()).or_default() += 1;
        }
        counts
    }
}
