use std::fmt;
use std::sync::Arc;

use super::Identity;
use crate::{OwnerId, SandboxId, WallTime};

macro_rules! opaque_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            /// The engine's own text, taken as it is.
            pub fn new(text: impl Into<Arc<str>>) -> Self {
                Self(text.into())
            }

            /// The engine's own text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({})", stringify!($name), self.0)
            }
        }
    };
}

opaque_id! {
    /// One instance of a sandbox, by the engine's own id: never used again, unlike the sandbox's name.
    ///
    /// ```
    /// assert_eq!(leasehold::InstanceId::new("4f1d").as_str(), "4f1d");
    /// ```
    InstanceId
}

opaque_id! {
    /// One engine, by its own id.
    ///
    /// ```
    /// assert_eq!(leasehold::EngineId::new("QJ7D").to_string(), "QJ7D");
    /// ```
    EngineId
}

/// Where a sandbox can be reached, as the gateway has to write it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Endpoint {
    /// A host name or an address; an IPv6 address without brackets.
    pub host: String,
    /// The port, where it is one that speaks TCP.
    pub port: u16,
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

/// What a backend knows of one instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxInfo {
    /// The sandbox it is an instance of.
    pub id: SandboxId,
    /// Which instance.
    pub instance: InstanceId,
    /// Whose it is, in full, as it was written on it when it was made.
    pub identity: Identity,
    /// Which owner made it.
    pub creator: OwnerId,
    /// Where it can be reached, where that is known.
    pub endpoint: Option<Endpoint>,
    /// When it was made, in microseconds since 1970, where the engine says.
    pub created: Option<WallTime>,
    /// Whether it was condemned: it has no name any more, and its stop has begun or will.
    pub condemned: bool,
    /// Whether it runs.
    pub condition: Condition,
}

impl SandboxInfo {
    /// Whether it may be used as far as the engine goes: it runs and is not condemned.
    #[must_use]
    pub fn is_usable(&self) -> bool {
        !self.condemned && self.condition == Condition::Running
    }
}

/// What an instance that exists is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// It runs.
    Running,
    /// It exists and doesn't run, and may run again: paused, restarting, created and not started. Neither ready nor gone;
    /// the text is the engine's word for it.
    Stopped(String),
    /// It exists and its processes have ended for good: exited, dead, being removed. Nobody can be using it; the text is
    /// the engine's word for it.
    Ended(String),
}

/// The answer of a look at one instance. That it can't be told is an error, not a value.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "an instance may be gone"]
pub enum Seen {
    /// It exists.
    Present(SandboxInfo),
    /// It definitely doesn't exist any more.
    Gone,
}

/// How condemning ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condemned {
    /// It has no name any more.
    Condemned,
    /// It was gone already.
    Gone,
}

/// How destroying ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destroyed {
    /// It was stopped and removed.
    Destroyed,
    /// It was gone already.
    AlreadyGone,
}

/// Every instance of a namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BackendListing {
    /// Those that could be read.
    pub found: Vec<SandboxInfo>,
    /// Those of this namespace that could not.
    pub unreadable: Vec<Unreadable>,
}

/// An instance that is there and can't be understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// What the engine calls it.
    pub instance: InstanceId,
    /// What is wrong with it, and the way out.
    pub why: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_with_colons_is_bracketed() {
        let at = |host: &str| Endpoint { host: host.to_owned(), port: 80 }.to_string();
        assert_eq!((at("::1"), at("127.0.0.1")), ("[::1]:80".to_owned(), "127.0.0.1:80".to_owned()));
    }
}
