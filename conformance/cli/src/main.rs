//! The command `leasehold`: proves stores of leases, clause by clause.

#![forbid(unsafe_code)]

use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;

use leasehold_cli::harness::harness_for;
use leasehold_cli::harness::redis::RedisHarness;
use leasehold_conformance::cli::{self, OPTIONS};
use leasehold_conformance::meta::FaultyHarness;
use leasehold_conformance::{Harness, children};

const USAGE: &str = "\
leasehold proves that a store of sandbox leases keeps its contract.

  leasehold [conform] [URL…] [options]
  leasehold meta [--help]      prove that the kit can fail: a store for every fault, and who catches it (--verbose shows the
                               matrix, --bless commits it)
  leasehold sim [--help]       the provider in simulated worlds: every fault, every rule, seed by seed

Without a URL it proves the three embedded stores (memory, file, SQLite) in a fresh temporary directory. A URL names the
store to prove: memory:, file:/dir, sqlite:/path.db, redis://host:6379/0. It works in namespaces of its own there and
touches nothing that it did not make.
";

fn main() -> ExitCode {
    if let Some(name) = children::asked_for() {
        return child(&name);
    }
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    match args.first().map(String::as_str) {
        Some("meta") => return leasehold_cli::meta::main(&args[1..]),
        Some("sim") => return leasehold_cli::sim::main(&args[1..]),
        Some("conform") => drop(args.remove(0)),
        _ => {}
    }
    let mut asked = match cli::parse(args) {
        Ok(asked) => asked,
        Err(why) => return refuse(&why),
    };
    if asked.help {
        let _ = writeln!(std::io::stdout(), "{USAGE}\n{OPTIONS}");
        return ExitCode::SUCCESS;
    }
    let urls = if asked.rest.is_empty() { embedded() } else { asked.rest.clone() };
    let harnesses: Result<Vec<Arc<dyn Harness>>, String> = urls.iter().map(|url| harness_for(url)).collect();
    match harnesses {
        Ok(harnesses) => {
            asked.options.repeat = format!(
                "cargo run --release --{} --case {{case}} --seed {{seed}}",
                asked.rest.iter().map(|url| format!(" {}", redacted(url))).collect::<String>()
            );
            asked.options.again = Some(children::Again::program());
            cli::conform(&harnesses, &asked)
        }
        Err(why) => refuse(&why),
    }
}

/// What this program does when it was started by itself, as a child that opens the store of the harness `name`.
fn child(name: &str) -> ExitCode {
    if let Some(faulty) = FaultyHarness::named(name) {
        children::serve(&faulty);
        return ExitCode::SUCCESS;
    }
    let harness = match name {
        // Which server it is the parent says, with the address of the namespace.
        "redis" => Ok(Arc::new(RedisHarness::private()) as Arc<dyn Harness>),
        name => harness_for(&format!("{name}:")),
    };
    match harness {
        Ok(harness) => {
            children::serve(&*harness);
            ExitCode::SUCCESS
        }
        Err(why) => refuse(&why),
    }
}

/// The stores that need nothing but this process and a temporary directory.
fn embedded() -> Vec<String> {
    ["memory:", "file:", "sqlite:"].map(str::to_owned).to_vec()
}

fn redacted(url: &str) -> String {
    url.parse::<leasehold_stores::StoreUrl>().map_or_else(|_| "URL".to_owned(), |url| url.to_string())
}

fn refuse(why: &str) -> ExitCode {
    let _ = writeln!(std::io::stderr(), "leasehold: {why}");
    ExitCode::from(2)
}
