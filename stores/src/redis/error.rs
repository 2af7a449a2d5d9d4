use std::io;
use std::time::Duration;

use leasehold::{ErrorKind, Stage, StoreError};
use redis::{RedisError, ServerError};

/// Makes the driver's, the socket's and the server's errors ours. It knows the server's place for the texts, and nothing
/// that is secret.
#[derive(Clone, Debug)]
pub(super) struct Explain {
    place: String,
}

impl Explain {
    /// As much of the server's own words as an error repeats, in characters.
    const WORDS: usize = 200;

    pub(super) fn new(place: String) -> Self {
        Self { place }
    }

    /// No answer within the deadline.
    pub(super) fn late(&self, allowed: Duration, stage: Stage) -> StoreError {
        let way_out = match stage {
            Stage::Pool => "all its connections were in use; a server that hangs or a pool that is too small",
            Stage::Connect => "is it up, and does a firewall drop packets to it",
            _ => "is it overloaded, suspended or running a slow command",
        };
        let detail = format!("{} did not answer within {allowed:?}: {way_out}", self.place);
        StoreError::new(ErrorKind::Timeout, detail).at(stage)
    }

    /// The socket failed.
    pub(super) fn io(&self, error: io::Error, allowed: Duration, stage: Stage) -> StoreError {
        let place = &self.place;
        let (kind, detail) = match error.kind() {
            io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => return self.late(allowed, stage),
            io::ErrorKind::PermissionDenied => {
                (ErrorKind::Denied, format!("{place}: this user may not connect to it"))
            }
            io::ErrorKind::InvalidInput => (ErrorKind::Invalid, format!("{place}: no such address")),
            // The codes of EMFILE and ENFILE on every Unix.
            _ if matches!(error.raw_os_error(), Some(23 | 24)) => (
                ErrorKind::Full,
                format!("{place}: no file handle is left for a connection; raise the limit"),
            ),
            _ if stage == Stage::Connect => (
                ErrorKind::Unavailable,
                format!("{place} can't be reached; is it up, and is that its address"),
            ),
            _ => return self.broken(stage).with_source(error),
        };
        StoreError::new(kind, detail).at(stage).with_source(error)
    }

    /// Reading a reply failed.
    pub(super) fn driver(&self, error: RedisError, allowed: Duration, stage: Stage) -> StoreError {
        if error.is_timeout() {
            self.late(allowed, stage)
        } else if error.is_io_error() {
            self.broken(stage).with_source(error)
        } else {
            self.gibberish(stage, "what came back is no Redis reply")
        }
    }

    fn broken(&self, stage: Stage) -> StoreError {
        let detail = format!("{} broke the connection before it answered", self.place);
        StoreError::new(ErrorKind::Unavailable, detail).at(stage)
    }

    /// The answer is none that the question can have.
    pub(super) fn gibberish(&self, stage: Stage, why: &str) -> StoreError {
        let detail = format!("{}: {why}; is it a Redis server, and no proxy in between", self.place);
        StoreError::new(ErrorKind::Unavailable, detail).at(stage)
    }

    /// The server is of a kind or a version that won't do.
    pub(super) fn unsupported(&self, why: &str) -> StoreError {
        StoreError::new(ErrorKind::Unsupported, format!("{}: {why}", self.place)).at(Stage::Connect)
    }

    /// The server refused the handshake. Its own words are repeated only where they can't quote what was sent, since that
    /// had the password in it.
    pub(super) fn refused_login(&self, error: &ServerError) -> StoreError {
        let place = &self.place;
        let words = error.details().unwrap_or_default();
        let told = match (error.code(), words) {
            ("ERR", words) if words.starts_with("unknown command") => {
                return self
                    .unsupported("it does not know HELLO; this store needs Redis 7 or later, or Valkey");
            }
            ("NOPROTO", _) => return self.unsupported("it speaks another protocol than RESP 2"),
            ("ERR", words) if words.contains("without any password configured") => StoreError::new(
                ErrorKind::Denied,
                format!("{place} has no password; leave it out of the URL"),
            ),
            ("ERR", words) if words.contains("DB index is out of range") => {
                StoreError::new(ErrorKind::Invalid, format!("{place}: it has no such database"))
            }
            ("ERR", words) if words.contains("max number of clients") => StoreError::new(
                ErrorKind::Full,
                format!("{place} has no connection left; raise its maxclients or lower the pool"),
            ),
            ("ERR" | "WRONGTYPE", _) => {
                StoreError::new(ErrorKind::Unavailable, format!("{place} refused the handshake"))
            }
            _ => self.server(error),
        };
        told.at(Stage::Connect)
    }

    /// The server answered with an error.
    pub(super) fn server(&self, error: &ServerError) -> StoreError {
        let place = &self.place;
        let words: String = error
            .details()
            .unwrap_or_default()
            .chars()
            .filter(|c| !c.is_control())
            .take(Self::WORDS)
            .collect();
        let tell = |kind, way_out: &str| StoreError::new(kind, format!("{place} {way_out}"));
        match error.code() {
            "NOAUTH" => {
                tell(ErrorKind::Denied, "asks for a password; put it into the URL: redis://user:password@…")
            }
            "WRONGPASS" => tell(ErrorKind::Denied, "does not accept the user and the password of the URL"),
            "NOPERM" => {
                tell(ErrorKind::Denied, &format!("denied it to this user; extend the user's rules: {words}"))
            }
            // What a script may not do is reported under the general code.
            "ERR"
                if words.contains("ACL failure in script")
                    || words.starts_with("The user executing the script") =>
            {
                tell(ErrorKind::Denied, &format!("denied it to this user; extend the user's rules: {words}"))
            }
            "READONLY" => {
                tell(ErrorKind::Unavailable, "is a replica and may be behind; the URL must name the primary")
            }
            "LOADING" => tell(ErrorKind::Unavailable, "is loading its data; it answers when that is done"),
            "MASTERDOWN" => {
                tell(ErrorKind::Unavailable, "is a replica that lost its primary; wait for the failover")
            }
            "CLUSTERDOWN" | "TRYAGAIN" => {
                tell(ErrorKind::Unavailable, "is part of a cluster that is down or moving")
            }
            "MOVED" | "ASK" | "CROSSSLOT" => tell(
                ErrorKind::Unsupported,
                "is a node of a Redis Cluster and has only part of the keys; this store needs a single server",
            ),
            "BUSY" => {
                tell(ErrorKind::Unavailable, "is busy with somebody's slow script; SCRIPT KILL ends it")
            }
            "NOREPLICAS" => {
                tell(ErrorKind::Unavailable, "has fewer replicas in step than it is told to write with")
            }
            "MISCONF" => tell(
                ErrorKind::Unavailable,
                "can't save its data and takes no writes; look at its disk and its log",
            ),
            "OOM" => tell(ErrorKind::Full, "has used up its maxmemory; give it more, or remove other keys"),
            "ERR" if words.starts_with("unknown command") => tell(
                ErrorKind::Unsupported,
                &format!("lacks a command; it may be renamed or no Redis: {words}"),
            ),
            code => tell(ErrorKind::Unavailable, &format!("answered {code} {words}")),
        }
    }
}
