use std::time::Duration;

use leasehold::{
    ClaimOutcome, DiscardOutcome, Fence, Intent, Lease, Moment, OwnerId, ReleaseOutcome, RenewOutcome,
    SandboxId, TakeOutcome,
};

/// One call on one sandbox. Operations on many sandboxes are one event for each, since records are independent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Which sandbox.
    pub id: SandboxId,
    /// Who asked.
    pub owner: OwnerId,
    /// The TTL of the handle that was asked.
    pub ttl: Duration,
    /// What was asked.
    pub asked: Asked,
    /// Before it was asked.
    pub called: Stamp,
    /// What was answered, and a stamp from after the answer; `None` when there never was one, because whoever asked is
    /// gone.
    pub answer: Option<(Stamp, Answer)>,
}

/// A point in a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Orders calls and answers: what was answered at a smaller number than something else was called at, came before it.
    pub order: u64,
    /// What the clock read: between the readings at its call and at its answer every operation reads its own.
    pub clock: Moment,
}

impl Stamp {
    /// A stamp whose order is the clock's own, as processes of one host share it.
    #[must_use]
    pub const fn at(clock: Moment) -> Self {
        Self { order: clock.as_nanos(), clock }
    }
}

/// What was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// `take`.
    Take,
    /// `claim`.
    Claim(Intent),
    /// `renew`.
    Renew,
    /// `renew_many`, of this sandbox among others.
    RenewMany,
    /// `release`.
    Release,
    /// `release_tenure`.
    ReleaseTenure(Fence),
    /// `inspect`.
    Inspect,
    /// `list`, as far as this sandbox goes.
    List,
    /// `discard`.
    Discard {
        /// Whether a readable lease too.
        force: bool,
    },
}

/// What was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// To a take.
    Take(TakeOutcome),
    /// To a claim.
    Claim(ClaimOutcome),
    /// To a renewal, alone or among many.
    Renew(RenewOutcome),
    /// To a release of either kind.
    Release(ReleaseOutcome),
    /// To a look, by `inspect` or `list`.
    Look(Option<Lease>),
    /// To a discard.
    Discard(DiscardOutcome),
    /// An error, in its own words. The operation may have taken effect once, at any time after its call, or never.
    Failed(String),
}

impl Event {
    /// How long it took; `None` for what was never answered.
    #[must_use]
    pub fn took(&self) -> Option<Duration> {
        self.answer.as_ref().map(|(answered, _)| answered.clock.since(self.called.clock))
    }

    /// The error, where that was the answer.
    #[must_use]
    pub fn error(&self) -> Option<&str> {
        match &self.answer {
            Some((_, Answer::Failed(why))) => Some(why),
            _ => None,
        }
    }
}
