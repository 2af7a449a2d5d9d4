use std::sync::OnceLock;

use leasehold::{Deadline, Stage, StoreError};
use redis::{ServerErrorKind, Value, cmd};

use super::connection::Connection;
use super::error::Explain;

/// A script that the server runs as one step.
///
/// Each begins with a `#!lua` line. None says `no-writes`, not even those that only look: a replica then refuses them all
/// instead of answering from what may be old. `allow-oom` stands where a full server must not stand in the way: nothing
/// there adds a lease.
pub(super) struct Script {
    code: &'static str,
    hash: OnceLock<String>,
}

macro_rules! script {
    ($flags:literal, $($part:literal),+) => {
        Script {
            code: concat!("#!lua", $flags, "\n", $(include_str!(concat!("scripts/", $part, ".lua")), "\n"),+),
            hash: OnceLock::new(),
        }
    };
}

pub(super) static TAKE: Script = script!("", "read", "judge", "mark", "begin", "take");
pub(super) static CLAIM: Script = script!("", "read", "judge", "mark", "begin", "refresh", "claim");
/// The claim of a tenure adds nothing: it replaces what is there or leaves it. A stop goes on in a full server.
pub(super) static CLAIM_TENURE: Script =
    script!(" flags=allow-oom", "read", "judge", "mark", "begin", "refresh", "claim");
pub(super) static RENEW: Script = script!(" flags=allow-oom", "read", "judge", "mark", "refresh", "renew");
pub(super) static RELEASE: Script = script!(" flags=allow-oom", "read", "judge", "mark", "release");
pub(super) static INSPECT: Script = script!(" flags=allow-oom", "read", "inspect");
pub(super) static LIST: Script = script!(" flags=allow-oom", "read", "list");
pub(super) static DISCARD: Script = script!(" flags=allow-oom", "read", "judge", "mark", "discard");

impl Script {
    /// Runs it by its hash, and whole where the server doesn't know that: it was restarted, or told to forget. Then it
    /// ran nothing, so sending the whole script repeats nothing, and the server knows it from then on.
    ///
    /// # Errors
    /// What the server says instead of running it, and whatever befell the connection.
    pub(super) fn run(
        &self,
        connection: &mut Connection,
        keys: &[String],
        arguments: &[&str],
        deadline: Deadline,
        explain: &Explain,
    ) -> Result<Value, StoreError> {
        let by_hash = command("EVALSHA", self.hash(), keys, arguments);
        let mut answer = connection.call(&by_hash, deadline, Stage::Reply, explain)?;
        if is_unknown(&answer) {
            let whole = command("EVAL", self.code, keys, arguments);
            answer = connection.call(&whole, deadline, Stage::Reply, explain)?;
        }
        match answer {
            Value::ServerError(error) => Err(explain.server(&error)),
            answer => Ok(answer),
        }
    }

    fn hash(&self) -> &str {
        self.hash.get_or_init(|| redis::Script::new(self.code).get_hash().to_owned())
    }
}

fn is_unknown(answer: &Value) -> bool {
    matches!(answer, Value::ServerError(error) if error.kind() == Some(ServerErrorKind::NoScript))
}

fn command(verb: &str, script: &str, keys: &[String], arguments: &[&str]) -> Vec<u8> {
    cmd(verb).arg(script).arg(keys.len()).arg(keys).arg(arguments).get_packed_command()
}
