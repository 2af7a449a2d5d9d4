//! The command line of the kit, for the command `leasehold` and for stores of one's own.

use std::io::{IsTerminal, Write};
use std::process::ExitCode;
use std::sync::Arc;

use crate::case::Tier;
use crate::runner::{Options, run_all};
use crate::{CASES, Harness};

/// What the command line asks for.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Which cases, and how.
    pub options: Options,
    /// Where the JSON report goes.
    pub json: Option<String>,
    /// Only say which cases there are.
    pub list: bool,
    /// Only say how it is used.
    pub help: bool,
    /// What is neither an option nor an option's value.
    pub rest: Vec<String>,
}

/// How the options are used.
pub const OPTIONS: &str = "\
  --tier T     only this tier: core, race or model
  --case ID    only this case, or all cases of this clause
  --seed N     what chance goes by (default 1)
  --json FILE  the report as JSON too; - for standard output
  --list       say which cases there are, each with its clause, and run none
  --help       say this";

/// Reads the command line.
///
/// # Errors
/// What is wrong with it and what would be right.
pub fn parse(args: impl IntoIterator<Item = String>) -> Result<Asked, String> {
    let mut asked =
        Asked { options: Options::default(), json: None, list: false, help: false, rest: Vec::new() };
    let mut args = args.into_iter();
    while let Some(arg) = args.next() {
        let mut value = |what: &str| args.next().ok_or_else(|| format!("{arg} takes {what}"));
        match arg.as_str() {
            "--tier" => {
                let name = value("a tier: core, race or model")?;
                let tier = Tier::ALL.into_iter().find(|tier| tier.name() == name);
                let known = || format!("{name:?} is not a tier; write core, race or model");
                asked.options.tier = Some(tier.ok_or_else(known)?);
            }
            "--case" => {
                let id = value("a case or a clause; --list has them all")?;
                if !CASES.iter().any(|case| case.id == id || case.clause() == id) {
                    return Err(format!("there is no case or clause {id:?}; --list has them all"));
                }
                asked.options.case = Some(id);
            }
            "--seed" => {
                let text = value("a whole number")?;
                let number = text.parse().map_err(|_| format!("the seed {text:?} is not a whole number"))?;
                asked.options.seed = number;
            }
            "--json" => asked.json = Some(value("a file's name, or -")?),
            "--list" => asked.list = true,
            "--help" | "-h" => asked.help = true,
            option if option.starts_with('-') => {
                return Err(format!("unknown option {option}; --help has them all"));
            }
            _ => asked.rest.push(arg),
        }
    }
    Ok(asked)
}

/// Runs what was asked on each harness in turn, prints the reports and says with which code to end.
pub fn conform(harnesses: &[Arc<dyn Harness>], asked: &Asked) -> ExitCode {
    if asked.list {
        CASES.iter().for_each(|case| {
            say(&format!("{:<4} {:<10} {:<46} {}", case.clause(), case.tier, case.id, case.rule))
        });
        return ExitCode::SUCCESS;
    }
    let (mut reports, mut success) = (Vec::new(), !harnesses.is_empty());
    for harness in harnesses {
        let mut progress = Progress::new(&harness.name());
        let report = run_all(harness, &asked.options, &mut |line| progress.tell(line.case.id));
        progress.clear();
        if asked.json.as_deref() != Some("-") {
            say(report.text().trim_end());
        }
        success &= report.is_success();
        reports.push(report);
    }
    if let Some(file) = &asked.json {
        let json =
            serde_json::json!({ "reports": reports.iter().map(crate::Report::json).collect::<Vec<_>>() });
        let text = format!("{json:#}\n");
        let written = if file == "-" {
            std::io::stdout().write_all(text.as_bytes())
        } else {
            std::fs::write(file, text)
        };
        if let Err(error) = written {
            say(&format!("the report can't be written to {file}: {error}"));
            return ExitCode::FAILURE;
        }
    } else if reports.len() > 1 {
        say("");
        reports.iter().for_each(|report| say(&report.summary()));
    }
    if success { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The command line of a store of one's own; see [`conformance_main!`](crate::conformance_main).
pub fn main(harness: Arc<dyn Harness>) -> ExitCode {
    match parse(std::env::args().skip(1)) {
        Ok(asked) if asked.help => {
            say(&format!("Proves {} against the lease contract.\n\n{OPTIONS}", harness.name()));
            ExitCode::SUCCESS
        }
        Ok(asked) if !asked.rest.is_empty() => {
            say(&format!("{:?} is not an option; --help has them all", asked.rest[0]));
            ExitCode::from(2)
        }
        Ok(asked) => conform(&[harness], &asked),
        Err(why) => {
            say(&why);
            ExitCode::from(2)
        }
    }
}

/// A line on a terminal that says what is being done, and leaves no trace.
struct Progress {
    name: String,
    shown: bool,
}

impl Progress {
    fn new(name: &str) -> Self {
        Self { name: name.to_owned(), shown: std::io::stderr().is_terminal() }
    }

    fn tell(&mut self, done: &str) {
        if self.shown {
            let _ = write!(std::io::stderr(), "\r\x1b[K{}: {done}", self.name);
        }
    }

    fn clear(&mut self) {
        if self.shown {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}

fn say(text: &str) {
    // A reader that went away (`| head`) is no reason to panic.
    let _ = writeln!(std::io::stdout(), "{text}");
}
