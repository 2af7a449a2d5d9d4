use std::fmt::Write;
use std::time::Duration;

use serde_json::{Value, json};

use crate::Verdict;
use crate::case::Case;
use crate::listed::Listed;

/// The version of the contract that the kit proves.
pub const CONTRACT: &str = "1.0";

/// How one case went.
#[derive(Clone, Debug)]
pub struct Line<C = Case> {
    /// The case.
    pub case: C,
    /// How it ended.
    pub verdict: Verdict,
    /// How long it took.
    pub took: Duration,
    /// How to repeat it there.
    pub repeat: String,
}

/// How a run went.
#[must_use = "a report may be one of failure"]
#[derive(Clone, Debug)]
pub struct Report<C = Case> {
    /// The name of what was proved.
    pub name: String,
    /// What chance went by.
    pub seed: u64,
    /// Every case that was asked for.
    pub lines: Vec<Line<C>>,
    /// What is wrong with the run itself: waivers that match nothing, ran out or are not needed.
    pub findings: Vec<String>,
}

impl<C: Listed> Report<C> {
    /// Whether nothing failed and something ran.
    #[must_use]
    pub fn is_success(&self) -> bool {
        !self.has_failed() && self.has_passed()
    }

    /// Whether a case failed, or there is something wrong with the run itself.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.lines.iter().any(|line| line.verdict.is_failure()) || !self.findings.is_empty()
    }

    /// Whether at least one rule was shown to hold. A run of which nothing can be said is no success.
    #[must_use]
    pub fn has_passed(&self) -> bool {
        self.count(|verdict| *verdict == Verdict::Passed) > 0
    }

    /// Whether something was left out that might have failed.
    #[must_use]
    pub fn is_partial(&self) -> bool {
        self.waived() + self.not_run() > 0
    }

    fn count(&self, which: impl Fn(&Verdict) -> bool) -> usize {
        self.lines.iter().filter(|line| which(&line.verdict)).count()
    }

    fn waived(&self) -> usize {
        self.count(|verdict| matches!(verdict, Verdict::Waived { .. }))
    }

    fn not_run(&self) -> usize {
        self.count(|verdict| matches!(verdict, Verdict::NotRun(_)))
    }

    /// The line at the top: the contract, how each tier went, and whether that is all.
    #[must_use]
    pub fn header(&self) -> String {
        let mut header = format!("{}: contract {CONTRACT}", self.name);
        for group in C::groups() {
            let of_group = || self.lines.iter().filter(|line| line.case.group() == group);
            let applicable =
                of_group().filter(|line| !matches!(line.verdict, Verdict::NotApplicable(_))).count();
            let passed = of_group().filter(|line| line.verdict == Verdict::Passed).count();
            let _ = match (of_group().count(), applicable) {
                (0, _) => write!(header, " · {group} not asked for"),
                (_, 0) => write!(header, " · {group} not declared"),
                _ => write!(header, " · {group} {passed}/{applicable}"),
            };
        }
        if self.is_partial() {
            let _ = write!(header, " · partial: {} waived, {} not run", self.waived(), self.not_run());
        }
        header
    }

    /// The line at the end.
    #[must_use]
    pub fn summary(&self) -> String {
        let passed = self.count(|verdict| *verdict == Verdict::Passed);
        let failed = self.count(Verdict::is_failure) + self.findings.len();
        let not_applicable = self.count(|verdict| matches!(verdict, Verdict::NotApplicable(_)));
        let (name, not_run) = (&self.name, self.not_run());
        format!(
            "{name}: {passed} passed, {failed} failed, {not_applicable} not applicable, {not_run} not run"
        )
    }

    /// The whole report for people.
    #[must_use]
    pub fn text(&self) -> String {
        crate::text::render(self)
    }

    /// The whole report for programs.
    #[must_use]
    pub fn json(&self) -> Value {
        json!({
            C::SUBJECT: self.name,
            "contract": CONTRACT,
            "seed": self.seed,
            "success": self.is_success(),
            "partial": self.is_partial(),
            "summary": self.summary(),
            "findings": self.findings,
            "cases": self.lines.iter().map(|line| line.json()).collect::<Vec<_>>(),
        })
    }
}

impl<C: Listed> Line<C> {
    fn json(&self) -> Value {
        let Self { case, verdict, took, repeat } = self;
        let (expected, until) = match verdict {
            Verdict::Failed { expected, .. } => (Some(expected), None),
            Verdict::Waived { until, .. } => (None, Some(until)),
            _ => (None, None),
        };
        json!({
            "case": case.id(),
            "clause": case.clause(),
            "family": case.family(),
            "tier": case.group(),
            "since": case.since(),
            "rule": case.rule(),
            "needs": case.needs(),
            "verdict": verdict.word(),
            "expected": expected,
            "detail": verdict.detail(),
            "until": until,
            "repeat": repeat,
            "ms": took.as_secs_f64() * 1e3,
        })
    }
}
