//! A report as people read it: a table by family of clauses, then each failure with all there is to know of it.

use std::fmt::{self, Write};

use crate::Verdict;
use crate::listed::Listed;
use crate::report::{Line, Report};

pub(crate) fn render<C: Listed>(report: &Report<C>) -> String {
    let mut text = String::new();
    // Writing to a string can't fail.
    let _ = write(&mut text, report);
    text
}

fn write<C: Listed>(text: &mut String, report: &Report<C>) -> fmt::Result {
    writeln!(text, "\n{}", report.header())?;
    let width = report.lines.iter().map(|line| line.case.id().len()).max().unwrap_or_default();
    let mut family = "";
    for line in &report.lines {
        if line.case.family() != family {
            family = line.case.family();
            writeln!(text, "\n  {family}")?;
        }
        row(text, line, width)?;
    }
    report.lines.iter().filter(|line| line.verdict.is_failure()).try_for_each(|line| failure(text, line))?;
    for finding in &report.findings {
        writeln!(text, "\n  FAIL {finding}")?;
    }
    if !report.has_passed() {
        writeln!(text, "\n  No case passed, so nothing is shown about this {}.", C::SUBJECT)?;
    }
    writeln!(text, "\n{}", report.summary())
}

fn row<C: Listed>(text: &mut String, line: &Line<C>, width: usize) -> fmt::Result {
    let Line { case, verdict, took, .. } = line;
    let millis = took.as_secs_f64() * 1e3;
    let word = verdict.word();
    writeln!(text, "    {word:<7} {:<width$} {millis:>8.1} ms  {}", case.id(), case.rule())?;
    match verdict {
        Verdict::NotApplicable(why) | Verdict::NotRun(why) => writeln!(text, "            {why}"),
        Verdict::Waived { reason, until } => writeln!(text, "            until {until}: {reason}"),
        _ => Ok(()),
    }
}

fn failure<C: Listed>(text: &mut String, line: &Line<C>) -> fmt::Result {
    let Line { case, verdict, repeat, .. } = line;
    writeln!(text, "\n  {verdict} {}", case.id())?;
    said(text, "rule", case.rule())?;
    if let Verdict::Failed { expected, .. } = verdict {
        said(text, "expected", expected)?;
    }
    said(text, "seen", verdict.detail().unwrap_or_default())?;
    said(text, "repeat", repeat)
}

/// What is said, under the name of what it is; further lines stand beneath the first.
fn said(text: &mut String, name: &str, what: &str) -> fmt::Result {
    writeln!(text, "    {name:>8}: {}", what.replace('\n', "\n              "))
}
