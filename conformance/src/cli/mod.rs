//! The command line of the kit, for the command `leasehold` and for stores of one's own.
//!
//! [`parse`] reads it, [`conform`] does what it asks for on any number of harnesses, and [`main`] is both for one. Six
//! options don't need a parser crate, which would be the largest dependency of whoever proves a store.

mod ask;
mod conform;
mod progress;

use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;

#[cfg(feature = "backend")]
pub(crate) use ask::parse_for;
pub use ask::{Asked, OPTIONS, parse};
pub use conform::conform;
#[cfg(feature = "backend")]
pub(crate) use conform::conform_by;

use crate::Harness;
use crate::children::{Again, serve_if_asked};

/// The command line of a store of one's own; see [`conformance_main!`](crate::conformance_main).
pub fn main(harness: Arc<dyn Harness>) -> ExitCode {
    if serve_if_asked(&*harness) {
        return ExitCode::SUCCESS;
    }
    let mut args = std::env::args();
    let program = args.next().unwrap_or_default();
    match parse(args) {
        Ok(asked) if asked.help => {
            say(&format!("Proves the store {} against the lease contract.\n\n{OPTIONS}", harness.name()));
            ExitCode::SUCCESS
        }
        Ok(asked) if !asked.rest.is_empty() => {
            refuse(&format!("{:?} is not an option; --help has them all", asked.rest[0]))
        }
        Ok(mut asked) => {
            asked.options.repeat = format!("{program} --case {{case}} --seed {{seed}}");
            asked.options.again = Some(Again::program());
            conform(&[harness], &asked)
        }
        Err(why) => refuse(&why),
    }
}

pub(crate) fn refuse(why: &str) -> ExitCode {
    let _ = writeln!(std::io::stderr(), "{why}");
    ExitCode::from(2)
}

pub(crate) fn say(text: &str) {
    // A reader that went away (`| head`) is no reason to panic.
    let _ = writeln!(std::io::stdout(), "{text}");
}
