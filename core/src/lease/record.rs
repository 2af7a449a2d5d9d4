use std::fmt;
use std::time::Duration;

use super::Fence;
use crate::{Moment, OwnerId};

/// What the owner of a lease is doing with the sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// The owner is responsible for reaping it. A peer that wants to use it may take it at any time.
    Held,
    /// The owner is stopping it. Everyone is kept out until that is done or the time runs out.
    Teardown,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Held => "held",
            Self::Teardown => "teardown",
        })
    }
}

/// A lease as a store keeps it.
///
/// Once `expires` has come it counts as absent; what is left of it then is its fence, which the next tenure must
/// exceed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Who is responsible.
    pub owner: OwnerId,
    /// Responsible for it, or stopping it.
    pub phase: Phase,
    /// The tenure's fence. `None` only where a foreign program wrote the record without one; such a record is a
    /// peer's, whatever owner it names, since every record of ours carries a fence.
    pub fence: Option<Fence>,
    /// The first moment at which it is absent, by the clock of the store.
    pub expires: Moment,
}

impl Record {
    /// Whether it still counts at `now`. At the moment of expiry it does not.
    #[must_use]
    pub fn is_live(&self, now: Moment) -> bool {
        now < self.expires
    }

    /// The lease as it stands at `now`; `None` when it has run out.
    #[must_use]
    pub fn lease_at(&self, now: Moment) -> Option<Lease> {
        self.is_live(now).then(|| Lease {
            owner: self.owner.clone(),
            phase: self.phase,
            fence: self.fence,
            left: self.expires.since(now),
        })
    }
}

/// A lease as a look at it shows: who, what, and for how much longer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// Who is responsible.
    pub owner: OwnerId,
    /// Responsible for it, or stopping it.
    pub phase: Phase,
    /// The tenure's fence; `None` for a record that a foreign program wrote without one.
    pub fence: Option<Fence>,
    /// Time left unless it is refreshed: more than zero, at most the TTL it was written with.
    pub left: Duration,
}
