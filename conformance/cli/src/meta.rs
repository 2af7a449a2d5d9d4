//! `leasehold meta`: proof that the kit can fail.

use std::io::Write;
use std::process::ExitCode;

use leasehold::Deadline;
use leasehold_conformance::meta::matrix;

/// Runs every case against every planted fault and says who caught what. Fails when a fault escapes, when the
/// faultless model alarms, or when a canary of the gate doesn't trip.
pub fn main(args: &[String]) -> ExitCode {
    let verbose = match args {
        [] => false,
        [one] if one == "--verbose" => true,
        _ => {
            say("leasehold meta takes --verbose and nothing else");
            return ExitCode::from(2);
        }
    };
    let mut since = Deadline::after(std::time::Duration::ZERO);
    let matrix = matrix::run(&mut |fault| {
        if verbose {
            say(&format!("{:>8.1} ms  {fault}", since.elapsed().as_secs_f64() * 1e3));
        }
        since = Deadline::after(std::time::Duration::ZERO);
    });
    if verbose {
        say(&format!("\n{}", matrix.text()));
    }
    let (escaped, elsewhere, idle) = (matrix.escaped(), matrix.caught_elsewhere(), matrix.idle());
    matrix.false_alarms.iter().for_each(|alarm| say(&format!("false alarm on the faultless model: {alarm}")));
    escaped.iter().for_each(|fault| say(&format!("not caught: {fault}")));
    elsewhere.iter().for_each(|fault| say(&format!("caught, but by no case of its own clause: {fault}")));
    idle.iter().for_each(|case| say(&format!("no fault is caught by {case}")));
    let planted = matrix.caught_by.len();
    say(&format!("faults: {planted} planted, {} caught", planted - escaped.len()));
    let canaries = leasehold_gate::canaries::run_all();
    canaries.failures.iter().for_each(|(name, why)| say(&format!("canary {name}: {why}")));
    canaries.not_run.iter().for_each(|(name, why)| say(&format!("canary {name} not run: {why}")));
    say(&canaries.to_string());
    let good =
        canaries.is_sound() && matrix.false_alarms.is_empty() && escaped.is_empty() && elsewhere.is_empty();
    if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn say(text: &str) {
    let _ = writeln!(std::io::stdout(), "{text}");
}
