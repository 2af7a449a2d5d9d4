use leasehold::Phase;

use super::operation::Operation;
use super::timing::Timing;

/// What may be there at one point of a history, of one sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct State {
    pub(super) place: Place,
    /// The largest fence so far, or less: the next tenure's is above it.
    pub(super) mark: u64,
}

/// What is in the place of the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Place {
    /// Anything: what came before was not looked at.
    Unknown,
    /// Nothing.
    Absent,
    /// A record, which may have run out.
    There(Kept),
}

/// A record, as far as the history tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Kept {
    pub(super) owner: u32,
    pub(super) phase: Phase,
    /// `None` while no answer has shown it: an operation that failed began this tenure.
    pub(super) fence: Option<u64>,
    /// Its expiry is at least this, on our clock …
    pub(super) low: u64,
    /// … and at most this.
    pub(super) high: u64,
}

impl State {
    /// A sandbox that nobody ever touched.
    pub(super) const FRESH: Self = Self { place: Place::Absent, mark: 0 };

    /// A sandbox of which nothing is known.
    pub(super) const UNKNOWN: Self = Self { place: Place::Unknown, mark: 0 };

    pub(super) fn with(self, place: Place) -> Self {
        Self { place, ..self }
    }

    /// The fence of the record that is there, where it is known.
    pub(super) fn fence(&self) -> Option<u64> {
        match self.place {
            Place::There(kept) => kept.fence,
            Place::Unknown | Place::Absent => None,
        }
    }
}

impl Kept {
    /// The same, known to be live at a reading of `op`; `None` when it can't be.
    pub(super) fn live(self, op: &Operation, timing: Timing) -> Option<Self> {
        // Some reading ≥ from is below expiry + late.
        let low = self.low.max((op.from + 1).saturating_sub(timing.late()));
        (low <= self.high).then_some(Self { low, ..self })
    }

    /// The same, known to have run out at a reading of `op`; `None` when it can't have.
    pub(super) fn dead(self, op: &Operation, timing: Timing) -> Option<Self> {
        let high = self.high.min(op.until.saturating_add(timing.early()));
        (self.low <= high).then_some(Self { high, ..self })
    }

    /// The same, whose fence is `fence`; `None` when it isn't. A fence that was not known may turn out to be any above
    /// those before it.
    pub(super) fn known_as(self, fence: u64, mark: u64) -> Option<Self> {
        let fits = self.fence.map_or(fence >= mark, |known| known == fence);
        fits.then_some(Self { fence: Some(fence), ..self })
    }
}
