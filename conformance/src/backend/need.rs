use std::fmt;

use leasehold::BackendOperation;

use super::BackendKit;
use crate::case::{Check, Stop};

/// What a case of a backend can't do without.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BackendNeed {
    /// A shell in the sandbox.
    Shell,
    /// A harness that ends instances behind the backend's back.
    Kill,
    /// A harness that pauses instances behind the backend's back.
    Pause,
    /// A harness that makes the engine unreachable.
    Outage,
    /// A harness that loses the answer of this operation.
    LostReply(BackendOperation),
    /// A harness that makes things of somebody else.
    Foreign,
    /// A harness that makes instances which can't be understood.
    Unreadable,
    /// A sandbox that never becomes ready.
    NeverReady,
    /// A sandbox that ends before it is ready.
    Ending,
    /// A directory of this host that a sandbox may mount.
    SharedDirectory,
}

impl BackendNeed {
    /// Not applicable where it is missing.
    pub(super) fn met(self, kit: &BackendKit) -> Check {
        let (abilities, site) = (kit.abilities(), kit.site());
        let there = match self {
            Self::Shell => abilities.shell.is_some(),
            Self::Kill => abilities.kill,
            Self::Pause => abilities.pause,
            Self::Outage => abilities.outage,
            Self::LostReply(operation) => abilities.lost_replies.contains(&operation),
            Self::Foreign => abilities.foreign,
            Self::Unreadable => abilities.unreadable,
            Self::NeverReady => site.unready(kit.spec("a")).is_some(),
            Self::Ending => site.ending(kit.spec("a")).is_some(),
            Self::SharedDirectory => site.shared_directory().is_some(),
        };
        if there { Ok(()) } else { Err(Stop::NotApplicable(format!("backend and harness offer no {self}"))) }
    }
}

impl fmt::Display for BackendNeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shell => f.write_str("shell in the sandbox"),
            Self::Kill => f.write_str("instance that ends by itself"),
            Self::Pause => f.write_str("instance that is paused"),
            Self::Outage => f.write_str("engine that is down"),
            Self::LostReply(operation) => write!(f, "lost answer of {operation}"),
            Self::Foreign => f.write_str("foreign things"),
            Self::Unreadable => f.write_str("instance that can't be read"),
            Self::NeverReady => f.write_str("sandbox that never becomes ready"),
            Self::Ending => f.write_str("sandbox that ends before it is ready"),
            Self::SharedDirectory => f.write_str("directory to mount"),
        }
    }
}
