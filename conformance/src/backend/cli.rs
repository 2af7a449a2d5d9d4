use std::process::ExitCode;
use std::sync::Arc;

use super::{BackendCase, BackendHarness, run_all};
use crate::cli::{conform_by, parse_for, refuse, say};

/// How the options are used.
const OPTIONS: &str = "\
  --case ID        only this case, or all cases of what stands before its dot
  --patience SECS  how long a case may take before it counts as hung (default 120)
  --json FILE      the report as JSON too; - for standard output, and nothing else there
  --list           say which cases there are, and run none
  --help           say this";

/// The command line of a backend of one's own; see [`backend_main!`](crate::backend_main).
pub fn main(harness: Arc<dyn BackendHarness>) -> ExitCode {
    let mut args = std::env::args();
    let program = args.next().unwrap_or_default();
    match parse_for::<BackendCase>(args) {
        Ok(asked) if asked.help => {
            say(&format!(
                "Proves the backend {} against what a provider relies on.\n\n{OPTIONS}",
                harness.name()
            ));
            ExitCode::SUCCESS
        }
        Ok(asked) if asked.options.tier.is_some() => refuse("backends have no tiers; --case chooses cases"),
        Ok(asked) if !asked.rest.is_empty() => {
            refuse(&format!("{:?} is not an option; --help has them all", asked.rest[0]))
        }
        Ok(mut asked) => {
            asked.options.repeat = format!("{program} --case {{case}}");
            conform_by(&[harness.name()], &asked, &|_, told| run_all(&harness, &asked.options, told))
        }
        Err(why) => refuse(&why),
    }
}
