//! `leasehold sim`: the provider in simulated worlds, seed by seed.

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use leasehold::Deadline;
use leasehold_conformance::sim::{Search, Story};

const USAGE: &str = "\
leasehold sim runs the real provider in simulated worlds: several gateways, one store, one engine, virtual time, and
everything that can go wrong. Every rule is looked at after every step; the same seed does the same thing, always.

  --seeds N      how many seeds to try (1000)
  --seed S       one seed alone, told from beginning to end
  --first S      the first seed of many (0)
  --gateways G   how many gateways (3)
  --planted      remove guards of the provider one at a time, and say in how many seeds each is found out
                 (needs a build with --features planted)
";

struct Asked {
    search: Search,
    one: Option<u64>,
    planted: bool,
}

/// Runs the simulation. Fails when a rule is broken, or when a removed guard is not found out.
pub fn main(args: &[String]) -> ExitCode {
    let asked = match parse(args) {
        Ok(Some(asked)) => asked,
        Ok(None) => {
            say(USAGE);
            return ExitCode::SUCCESS;
        }
        Err(why) => {
            say(&format!("leasehold sim: {why}\n\n{USAGE}"));
            return ExitCode::from(2);
        }
    };
    // A panic of the provider is a finding that the story tells; the default message beside it helps nobody.
    std::panic::set_hook(Box::new(|_| {}));
    if asked.planted {
        return planted(asked.search);
    }
    if let Some(seed) = asked.one {
        return one(seed, asked.search.gateways);
    }
    let begun = Deadline::after(Duration::ZERO);
    let found = asked.search.run();
    let took = begun.elapsed().as_secs_f64();
    say(&format!(
        "{} seeds, {} gateways: {} broken; {:.0} seeds/s, {:.0} virtual minutes in {took:.1} s, {} steps",
        found.tried,
        asked.search.gateways,
        found.broken.len(),
        found.tried as f64 / took,
        found.time.as_secs_f64() / 60.0,
        found.steps
    ));
    let Some((seed, _)) = found.broken.first() else { return ExitCode::SUCCESS };
    found.broken.iter().for_each(|(seed, rule)| say(&format!("seed {seed}: {rule}")));
    say(&format!("\n{}", Story::of(*seed, asked.search.gateways)));
    ExitCode::FAILURE
}

/// One seed: its whole story when all is well, the shortest one when it isn't.
fn one(seed: u64, gateways: usize) -> ExitCode {
    let outcome = leasehold_conformance::sim::simulate(seed, gateways, true);
    match outcome.broken {
        None => {
            outcome.story.iter().for_each(|line| say(line));
            say(&format!("seed {seed}: no rule was broken in {:?}, {} steps", outcome.time, outcome.steps));
            ExitCode::SUCCESS
        }
        Some(_) => {
            say(&Story::of(seed, gateways).to_string());
            ExitCode::FAILURE
        }
    }
}

#[cfg(feature = "planted")]
fn planted(search: Search) -> ExitCode {
    use leasehold_conformance::sim::planted::{hunt, table};
    let begun = Deadline::after(Duration::ZERO);
    let hunted = hunt(search, &mut |hunted| say(&hunted.to_string()));
    say(&format!("\n{}\n{:.1} s", table(&hunted), begun.elapsed().as_secs_f64()));
    let escaped = hunted.iter().filter(|hunted| hunted.found_in.is_empty()).count();
    if escaped == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

#[cfg(not(feature = "planted"))]
fn planted(_: Search) -> ExitCode {
    say("leasehold sim: this build has no guards that can be removed; \
         cargo run --release --features planted -- sim --planted");
    ExitCode::from(2)
}

fn parse(args: &[String]) -> Result<Option<Asked>, String> {
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let search = Search { first: 0, seeds: 1_000, gateways: 3, threads };
    let mut asked = Asked { search, one: None, planted: false };
    let mut args = args.iter();
    while let Some(option) = args.next() {
        let mut number = || {
            let text = args.next().ok_or_else(|| format!("{option} needs a number"))?;
            text.replace('_', "").parse::<u64>().map_err(|why| format!("{option} {text:?}: {why}"))
        };
        match option.as_str() {
            "--seeds" => asked.search.seeds = number()?,
            "--seed" => asked.one = Some(number()?),
            "--first" => asked.search.first = number()?,
            "--gateways" => asked.search.gateways = number()? as usize,
            "--planted" => asked.planted = true,
            "--help" | "-h" => return Ok(None),
            other => return Err(format!("unknown option {other:?}")),
        }
    }
    if !(1..=26).contains(&asked.search.gateways) {
        return Err(format!("--gateways {} is not from 1 to 26", asked.search.gateways));
    }
    if asked.search.seeds == 0 {
        return Err("--seeds 0 tries nothing".to_owned());
    }
    Ok(Some(asked))
}

fn say(text: &str) {
    let _ = writeln!(std::io::stdout(), "{text}");
}
