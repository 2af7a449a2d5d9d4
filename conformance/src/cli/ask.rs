use std::time::Duration;

use crate::Options;
use crate::case::{Case, Tier};
use crate::listed::Listed;

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
  --tier T         only this tier: core, race, model, durability, or facade where it is built in
  --case ID        only this case, or all cases of this clause
  --seed N         what chance goes by (default 1)
  --patience SECS  how long a case may take before it counts as hung (default 120)
  --json FILE      the report as JSON too; - for standard output, and nothing else there
  --list           say which cases there are, each with its clause, and run none
  --help           say this";

/// Reads the command line, without the program's name.
///
/// ```
/// use leasehold_conformance::cli::parse;
///
/// let asked = parse(["--case", "T1", "--seed", "7"].map(str::to_owned))?;
/// assert_eq!((asked.options.case.as_deref(), asked.options.seed), (Some("T1"), 7));
/// assert!(parse(["--case".to_owned(), "Q1".to_owned()]).is_err());
/// # Ok::<(), String>(())
/// ```
///
/// # Errors
/// What is wrong with it and what would be right.
pub fn parse(args: impl IntoIterator<Item = String>) -> Result<Asked, String> {
    parse_for::<Case>(args)
}

/// The same for cases of this sort.
///
/// # Errors
/// What is wrong with it and what would be right.
pub(crate) fn parse_for<C: Listed>(args: impl IntoIterator<Item = String>) -> Result<Asked, String> {
    let mut asked =
        Asked { options: Options::default(), json: None, list: false, help: false, rest: Vec::new() };
    let mut args = args.into_iter();
    while let Some(arg) = args.next() {
        let mut value = |what: &str| args.next().ok_or_else(|| format!("{arg} takes {what}"));
        match arg.as_str() {
            "--tier" => asked.options.tier = Some(tier(&value(&format!("a tier: {}", tiers()))?)?),
            "--case" => {
                asked.options.case = Some(case::<C>(value("a case or a clause; --list has them all")?)?)
            }
            "--seed" => asked.options.seed = number("the seed", &value("a whole number")?)?,
            "--patience" => {
                let seconds = number("the patience", &value("a whole number of seconds")?)?;
                asked.options.patience = Duration::from_secs(seconds);
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

fn tier(name: &str) -> Result<Tier, String> {
    let known = Tier::ALL.into_iter().find(|tier| tier.name() == name);
    known.ok_or_else(|| format!("{name:?} is not a tier; write {}", tiers()))
}

/// The tiers that there are in this build, in words.
fn tiers() -> String {
    let [first @ .., last] = Tier::ALL.map(Tier::name);
    format!("{} or {last}", first.join(", "))
}

fn case<C: Listed>(id: String) -> Result<String, String> {
    if C::all().iter().any(|case| case.id() == id || case.clause() == id) {
        return Ok(id);
    }
    Err(format!("there is no case or clause {id:?}; --list has them all"))
}

fn number(what: &str, text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("{what} {text:?} is not a whole number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(line: &str) -> Result<Asked, String> {
        parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn every_option_is_read() {
        let asked =
            ask("--tier race --case A1 --seed 9 --patience 5 --json out.json --list redis://h/0").unwrap();
        assert_eq!((asked.options.tier, asked.options.seed), (Some(Tier::Race), 9));
        assert_eq!(asked.options.patience, Duration::from_secs(5));
        assert_eq!((asked.json.as_deref(), asked.list, asked.help), (Some("out.json"), true, false));
        assert_eq!(asked.rest, ["redis://h/0"]);
    }

    #[test]
    fn what_is_wrong_is_named_together_with_the_way_out() {
        for (line, named, way_out) in [
            ("--tier fast", "\"fast\"", "core, race, model"),
            ("--tier", "--tier", "a tier"),
            ("--case T99", "\"T99\"", "--list"),
            ("--seed -1", "\"-1\"", "whole number"),
            ("--patience 1.5", "\"1.5\"", "whole number"),
            ("--json", "--json", "a file's name"),
            ("--fast", "--fast", "--help"),
        ] {
            let why = ask(line).unwrap_err();
            assert!(why.contains(named) && why.contains(way_out), "{line}: {why}");
        }
    }

    #[test]
    fn every_tier_can_be_asked_for() {
        for known in Tier::ALL {
            assert_eq!(tier(known.name()), Ok(known));
            assert!(OPTIONS.contains(known.name()));
        }
    }
}
