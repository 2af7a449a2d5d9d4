use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;

use super::progress::Ticker;
use super::{Asked, refuse, say};
use crate::case::Case;
use crate::listed::Listed;
use crate::{Harness, Progress, Report, run_all};

/// Runs what was asked on each harness in turn, prints the reports and says with which code to end: success only if
/// nothing failed and something ran.
pub fn conform(harnesses: &[Arc<dyn Harness>], asked: &Asked) -> ExitCode {
    let names: Vec<String> = harnesses.iter().map(|harness| harness.name()).collect();
    conform_by::<Case>(&names, asked, &|n, told| run_all(&harnesses[n], &asked.options, told))
}

/// What runs the cases of the n-th name, telling how far it is.
type Run<'a, C> = dyn Fn(usize, &mut dyn FnMut(Progress<'_, C>)) -> Report<C> + 'a;

/// The same for whatever is proved by cases of this sort: `run` runs those of the n-th name.
pub(crate) fn conform_by<C: Listed>(names: &[String], asked: &Asked, run: &Run<'_, C>) -> ExitCode {
    if asked.list {
        list::<C>(asked);
        return ExitCode::SUCCESS;
    }
    let quiet = asked.json.as_deref() == Some("-");
    let mut reports = Vec::new();
    for (n, name) in names.iter().enumerate() {
        let ticker = Ticker::new(name);
        let report = run(n, &mut |progress| ticker.tell(progress));
        ticker.clear();
        if !quiet {
            say(report.text().trim_end());
        }
        reports.push(report);
    }
    if !quiet && reports.len() > 1 {
        say("");
        reports.iter().for_each(|report| say(&report.summary()));
    }
    if let Some(file) = &asked.json
        && let Err(error) = write_json(&reports, file)
    {
        return refuse(&format!("the report can't be written to {file}: {error}"));
    }
    let failed = reports.iter().any(Report::has_failed);
    let ran = reports.iter().any(Report::has_passed);
    if ran && !failed { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn list<C: Listed>(asked: &Asked) {
    let clauses = C::all().iter().map(|case| case.clause().len()).max().unwrap_or_default().max(4);
    for case in C::all().iter().filter(|case| asked.options.ask_for(*case)) {
        let needs: Vec<String> = case.needs().iter().map(|need| format!(" [{need}]")).collect();
        say(&format!(
            "{:<clauses$} {:<10} {:<48} {}{}",
            case.clause(),
            case.group(),
            case.id(),
            case.rule(),
            needs.concat()
        ));
    }
}

fn write_json<C: Listed>(reports: &[Report<C>], file: &str) -> std::io::Result<()> {
    let json = serde_json::json!({ "reports": reports.iter().map(Report::json).collect::<Vec<_>>() });
    let text = format!("{json:#}\n");
    if file == "-" { std::io::stdout().write_all(text.as_bytes()) } else { std::fs::write(file, text) }
}
