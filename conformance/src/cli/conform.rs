use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;

use super::progress::Ticker;
use super::{Asked, refuse, say};
use crate::{CASES, Harness, Report, run_all};

/// Runs what was asked on each harness in turn, prints the reports and says with which code to end: success only if
/// nothing failed and something ran.
pub fn conform(harnesses: &[Arc<dyn Harness>], asked: &Asked) -> ExitCode {
    if asked.list {
        list(asked);
        return ExitCode::SUCCESS;
    }
    let quiet = asked.json.as_deref() == Some("-");
    let mut reports = Vec::new();
    for harness in harnesses {
        let ticker = Ticker::new(&harness.name());
        let report = run_all(harness, &asked.options, &mut |progress| ticker.tell(progress));
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

fn list(asked: &Asked) {
    for case in CASES.iter().filter(|case| asked.options.wants(case)) {
        let needs: Vec<String> = case.needs.iter().map(|need| format!(" [{need}]")).collect();
        say(&format!(
            "{:<4} {:<10} {:<48} {}{}",
            case.clause(),
            case.tier,
            case.id,
            case.rule,
            needs.concat()
        ));
    }
}

fn write_json(reports: &[Report], file: &str) -> std::io::Result<()> {
    let json = serde_json::json!({ "reports": reports.iter().map(Report::json).collect::<Vec<_>>() });
    let text = format!("{json:#}\n");
    if file == "-" { std::io::stdout().write_all(text.as_bytes()) } else { std::fs::write(file, text) }
}
