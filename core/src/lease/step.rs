use super::Record;
use crate::Moment;

/// What a cell reads for a rule, after it got hold of the record: the time, and where new fences start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Now, by the clock that times the leases of this store. Read after the lock was got, never before: time spent
    /// waiting for a lock counts.
    pub now: Moment,
    /// The smallest fence a new tenure may get: above the store's high-water mark, and not below the microseconds
    /// that the clock which seeds fences shows. A cell may leave the mark out while the record itself is there, since
    /// the rule exceeds that record's own fence anyway.
    pub fence_floor: u64,
}

/// What a cell has to write, and what to answer once that is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step<T> {
    /// The change to the record.
    pub write: Write,
    /// The answer, true only once the change is made.
    pub answer: T,
}

/// A change to one record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Write {
    /// None: not a byte, not the remaining time.
    Nothing,
    /// The same record with a later expiry. A cell may do it in place.
    Extend(Moment),
    /// This record in the place of whatever is there.
    Put(Record),
    /// No record. Before a cell forgets one, its fence goes into the high-water mark.
    Remove,
}
