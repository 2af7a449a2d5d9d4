//! `ratios [--json FILE] [--rounds N] [GROUP…]`: what each store costs against its floor, and whether the holds are met.

use std::process::ExitCode;

use leasehold_benches::measure::Sample;
use leasehold_benches::rows::{Row, groups};
use leasehold_benches::table::{Line, head};

/// What the command line asks for.
struct Asked {
    json: Option<String>,
    rounds: usize,
    groups: Vec<String>,
}

fn main() -> ExitCode {
    let asked = match parse(std::env::args().skip(1)) {
        Ok(asked) => asked,
        Err(why) => return end(&why),
    };
    say(&head());
    let (mut lines, mut not_run) = (Vec::new(), Vec::new());
    for (name, rows) in groups() {
        if !asked.groups.is_empty() && !asked.groups.iter().any(|group| group == name) {
            continue;
        }
        match rows() {
            Ok(rows) => lines.extend(rows.into_iter().map(|row| measure(row, asked.rounds))),
            Err(why) => not_run.push(format!("{name}: {why}")),
        }
    }
    not_run.iter().for_each(|why| say(&format!("not run: {why}")));
    if let Some(file) = &asked.json {
        let rows: Vec<_> = lines.iter().map(Line::json).collect();
        let text = serde_json::json!({ "rows": rows, "not_run": not_run });
        if let Err(error) = std::fs::write(file, format!("{text:#}\n")) {
            return end(&format!("{file} can't be written: {error}"));
        }
    }
    let missed = lines.iter().filter(|line| !line.is_met()).count();
    say(&format!("{} rows, {missed} holds missed, {} groups not run", lines.len(), not_run.len()));
    if missed == 0 && !lines.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn measure(mut row: Row, rounds: usize) -> Line {
    let sample = Sample::take(rounds, &mut row.floor, &mut row.ours);
    let line = Line { name: row.name, floor: row.floor_name, hold: row.hold, sample };
    say(&line.text());
    line
}

fn parse(mut args: impl Iterator<Item = String>) -> Result<Asked, String> {
    let mut asked = Asked { json: None, rounds: 41, groups: Vec::new() };
    let known: Vec<_> = groups().into_iter().map(|(name, _)| name).collect();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--json" => asked.json = Some(args.next().ok_or("--json takes a file's name")?),
            "--rounds" => {
                let rounds = args.next().and_then(|n| n.parse().ok()).filter(|n| *n > 0);
                asked.rounds = rounds.ok_or("--rounds takes a whole number above zero")?;
            }
            group if known.contains(&group) => asked.groups.push(arg),
            other => {
                return Err(format!(
                    "{other:?} is neither an option nor a group; groups: {}",
                    known.join(", ")
                ));
            }
        }
    }
    Ok(asked)
}

fn end(why: &str) -> ExitCode {
    say(&format!("ratios: {why}"));
    ExitCode::FAILURE
}

#[expect(clippy::print_stdout, reason = "this is what the command is for")]
fn say(line: &str) {
    println!("{line}");
}
