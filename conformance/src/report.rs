use std::fmt::Write;
use std::time::Duration;

use serde_json::{Value, json};

use crate::case::{Case, Tier};
use crate::{CASES, Verdict};

/// The version of the contract that the kit proves.
pub const CONTRACT: &str = "1.0";

/// How one case went.
#[derive(Clone, Debug)]
pub struct Line {
    /// The case.
    pub case: Case,
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
pub struct Report {
    /// The store's name.
    pub name: String,
    /// What chance went by.
    pub seed: u64,
    /// Every case that was asked for.
    pub lines: Vec<Line>,
    /// What is wrong with the run itself: waivers that match nothing, ran out or are not needed.
    pub findings: Vec<String>,
}

impl Report {
    /// Whether nothing failed and something ran.
    #[must_use]
    pub fn is_success(&self) -> bool {
        let failed = self.lines.iter().any(|line| line.verdict.is_failure());
        !failed && self.findings.is_empty() && self.count(|verdict| *verdict == Verdict::Passed) > 0
    }

    /// Whether something was left out that might have failed.
    #[must_use]
    pub fn is_partial(&self) -> bool {
        self.count(|verdict| matches!(verdict, Verdict::NotRun(_) | Verdict::Waived { .. })) > 0
    }

    fn count(&self, which: impl Fn(&Verdict) -> bool) -> usize {
        self.lines.iter().filter(|line| which(&line.verdict)).count()
    }

    /// The line at the top: contract and tiers.
    #[must_use]
    pub fn header(&self) -> String {
        let mut header = format!("{}: contract {CONTRACT}", self.name);
        for tier in Tier::ALL {
            let of_tier = || self.lines.iter().filter(|line| line.case.tier == tier);
            let all = of_tier().filter(|line| !matches!(line.verdict, Verdict::NotApplicable(_))).count();
            let passed = of_tier().filter(|line| line.verdict == Verdict::Passed).count();
            let known = CASES.iter().any(|case| case.tier == tier);
            match (known, of_tier().count()) {
                (false, _) => {}
                (true, 0) => header.push_str(&format!(" · {tier} not asked for")),
                _ => header.push_str(&format!(" · {tier} {passed}/{all}")),
            }
        }
        header
    }

    /// The line at the end.
    #[must_use]
    pub fn summary(&self) -> String {
        let passed = self.count(|verdict| *verdict == Verdict::Passed);
        let failed = self.count(Verdict::is_failure) + self.findings.len();
        let not_applicable = self.count(|verdict| matches!(verdict, Verdict::NotApplicable(_)));
        let not_run = self.count(|verdict| matches!(verdict, Verdict::NotRun(_)));
        let partial = if self.is_partial() { " (partial)" } else { "" };
        let name = &self.name;
        format!(
            "{name}: {passed} passed, {failed} failed, {not_applicable} not applicable, {not_run} not run{partial}"
        )
    }

    /// The whole report for people.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = format!("\n{}\n", self.header());
        let mut family = "";
        for line in &self.lines {
            if line.case.family() != family {
                family = line.case.family();
                let _ = writeln!(text, "\n  {family}");
            }
            let millis = line.took.as_secs_f64() * 1e3;
            let _ = writeln!(
                text,
                "    {:<7} {:<46} {millis:>8.1} ms  {}",
                line.verdict, line.case.id, line.case.rule
            );
            if let Verdict::NotApplicable(why) | Verdict::NotRun(why) = &line.verdict {
                let _ = writeln!(text, "            {why}");
            }
        }
        for line in self.lines.iter().filter(|line| line.verdict.is_failure()) {
            let _ = writeln!(text, "\n  {} {}", line.verdict, line.case.id);
            let _ = writeln!(text, "        rule: {}", line.case.rule);
            if let Verdict::Failed { expected, .. } = &line.verdict {
                let _ = writeln!(text, "    expected: {expected}");
            }
            let _ = writeln!(text, "        seen: {}", line.verdict.detail().unwrap_or_default());
            let _ = writeln!(text, "      repeat: {}", line.repeat);
        }
        for finding in &self.findings {
            let _ = writeln!(text, "\n  FAIL {finding}");
        }
        let _ = writeln!(text, "\n{}", self.summary());
        text
    }

    /// The whole report for programs.
    #[must_use]
    pub fn json(&self) -> Value {
        let line = |line: &Line| {
            let expected = match &line.verdict {
                Verdict::Failed { expected, .. } => json!(expected),
                _ => Value::Null,
            };
            json!({
                "case": line.case.id, "clause": line.case.clause(), "tier": line.case.tier.name(),
                "since": line.case.since, "rule": line.case.rule, "verdict": line.verdict.word(),
                "expected": expected, "detail": line.verdict.detail(), "repeat": line.repeat,
                "ms": line.took.as_secs_f64() * 1e3,
            })
        };
        json!({
            "store": self.name, "contract": CONTRACT, "seed": self.seed, "success": self.is_success(),
            "partial": self.is_partial(), "findings": self.findings, "cases": self.lines.iter().map(line).collect::<Vec<_>>(),
        })
    }
}
