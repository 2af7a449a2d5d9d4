//! `leasehold meta`: proof that the kit and the gate can fail.

use std::io::Write;
use std::process::ExitCode;

use leasehold_conformance::CASES;
use leasehold_conformance::children::Again;
use leasehold_conformance::meta::{matrix, snapshot};

const USAGE: &str = "\
leasehold meta proves that the kit and the gate can fail.

Every case meets a store for every planted fault, and each fault has to be caught by the case that it names; each case has
to be named by one. Every canary of the gate has to trip, and what is sanctioned must not.

  --verbose   show each fault as it is done, and the whole matrix: which cases caught it
  --bless     write the matrix to the repository, as the one that the next run is compared with
  --help      this text
";

#[derive(Default)]
struct Asked {
    verbose: bool,
    bless: bool,
    help: bool,
}

/// Runs every case against every planted fault and says who caught what. Fails when a fault escapes the case that must
/// catch it, when a case is named by no fault, when the faultless models alarm, when the matrix is not the committed one,
/// or when a canary of the gate doesn't trip.
pub fn main(args: &[String]) -> ExitCode {
    let asked = match parse(args) {
        Ok(asked) if asked.help => {
            let _ = write!(std::io::stdout(), "{USAGE}");
            return ExitCode::SUCCESS;
        }
        Ok(asked) => asked,
        Err(why) => {
            let _ = writeln!(std::io::stderr(), "leasehold meta: {why}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    // One after the other, so that the canaries meet no thread of the faulty stores.
    let (kit, gate) = (kit(&asked), gate());
    if kit && gate { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn parse(args: &[String]) -> Result<Asked, String> {
    let mut asked = Asked::default();
    for arg in args {
        match arg.as_str() {
            "--verbose" => asked.verbose = true,
            "--bless" => asked.bless = true,
            "--help" | "-h" => asked.help = true,
            other => return Err(format!("{other:?} is no option of it")),
        }
    }
    Ok(asked)
}

/// Whether the kit catches what it must.
fn kit(asked: &Asked) -> bool {
    let matrix = matrix::run(&Again::program(), &mut |fault, took| {
        if asked.verbose {
            say(&format!("{:>8.1} ms  {fault}", took.as_secs_f64() * 1e3));
        }
    });
    if asked.verbose {
        say(&format!("\n{}", matrix.text()));
    }
    let findings = matrix.findings(CASES);
    findings.iter().for_each(|finding| say(finding));
    let as_committed = if asked.bless { bless(&matrix) } else { compare(&matrix) };
    say(&format!("faults: {} planted, {} caught", matrix.rows.len(), matrix.caught()));
    findings.is_empty() && as_committed
}

fn bless(matrix: &matrix::Matrix) -> bool {
    let blessed = snapshot::bless(matrix);
    match &blessed {
        Ok(path) => say(&format!("the matrix is written to {}", path.display())),
        Err(why) => say(&why.to_string()),
    }
    blessed.is_ok()
}

fn compare(matrix: &matrix::Matrix) -> bool {
    let differences = snapshot::differences(matrix);
    if !differences.is_empty() {
        say("the matrix is not the committed one:");
        differences.iter().for_each(|line| say(line));
        say(snapshot::HOW_TO_BLESS);
    }
    differences.is_empty()
}

/// Whether the gate sees what it must, and nothing else.
fn gate() -> bool {
    let canaries = leasehold_gate::canaries::run_all();
    canaries.failures.iter().for_each(|(name, why)| say(&format!("canary {name}: {why}")));
    canaries.not_run.iter().for_each(|(name, why)| say(&format!("canary {name} not run: {why}")));
    say(&canaries.to_string());
    canaries.is_sound()
}

fn say(text: &str) {
    let _ = writeln!(std::io::stdout(), "{text}");
}
