use std::fmt;

/// What was being done when an error arose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Operation {
    /// Opening the store.
    Open,
    /// [`take`](crate::OwnershipStore::take).
    Take,
    /// [`claim`](crate::OwnershipStore::claim).
    Claim,
    /// [`renew`](crate::OwnershipStore::renew) or [`renew_many`](crate::OwnershipStore::renew_many).
    Renew,
    /// [`release`](crate::OwnershipStore::release) or [`release_tenure`](crate::OwnershipStore::release_tenure).
    Release,
    /// [`inspect`](crate::OwnershipStore::inspect).
    Inspect,
    /// [`list`](crate::OwnershipStore::list).
    List,
    /// [`discard`](crate::OwnershipStore::discard).
    Discard,
    /// [`close`](crate::OwnershipStore::close).
    Close,
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Open => "open",
            Self::Take => "take",
            Self::Claim => "claim",
            Self::Renew => "renew",
            Self::Release => "release",
            Self::Inspect => "inspect",
            Self::List => "list",
            Self::Discard => "discard",
            Self::Close => "close",
        })
    }
}

/// Where the time of a failed operation went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Stage {
    /// Waiting in a queue or for a connection of the pool: the server was never asked.
    Pool,
    /// Connecting and shaking hands: the operation was never sent.
    Connect,
    /// Waiting for a lock that somebody else holds: nothing was changed.
    Lock,
    /// Waiting for the answer: the effect may have happened.
    Reply,
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pool => "waiting for a free worker or connection",
            Self::Connect => "connecting",
            Self::Lock => "waiting for a lock",
            Self::Reply => "waiting for the reply",
        })
    }
}
