use std::time::Duration;

use crate::{Damaged, DiscardOutcome, Moment, Reach, Reading, Record, SandboxId, Step, StoreError};

/// A medium that can change one record atomically: all that a store of one's own has to bring.
///
/// [`CellStore`](crate::CellStore) makes the whole [`OwnershipStore`](crate::OwnershipStore) of it by passing the
/// lease rules in as closures. The closure makes the answer, so a cell can't make one up; it is pure, so a cell may
/// run it again (compare-and-swap); and it gets the clock's reading from the cell, so a cell can read the clock once
/// it holds the record, which is the only time that is right.
///
/// What a cell must do:
///
/// 1. Get exclusive hold of the record, or read it together with something to compare and swap on. Bound the wait.
/// 2. *Then* read the clock that times the leases.
/// 3. Run the rule. Carry out its [`Write`](crate::Write), all of it or none. Then hand the answer up.
/// 4. Before a record is forgotten ([`Write::Remove`](crate::Write::Remove), a discard, sweeping up what ran out),
///    raise the high-water mark to its fence, and count that mark into
///    [`Reading::fence_floor`](crate::Reading) whenever a record is absent.
/// 5. What can't be read is [`ErrorKind::Corrupt`](crate::ErrorKind::Corrupt): never absent, never overwritten.
pub trait LeaseCell: Send + Sync + 'static {
    /// How far these records are seen.
    fn reach(&self) -> Reach;

    /// The grain of the clock that times the leases, zero where it is a nanosecond clock.
    fn quantum(&self) -> Duration {
        Duration::ZERO
    }

    /// `None` when moments of this cell are this host's boot clock. A cell whose readings come from a server's clock
    /// gives this host's boot time here, which is read before each call, so that a tenure's `valid_until` is on the
    /// host's clock and on the safe side.
    fn sent(&self) -> Option<Moment> {
        None
    }

    /// Changes one record atomically by `rule`. A rule that writes nothing must leave no trace, not even an empty
    /// record.
    ///
    /// # Errors
    /// Whatever kept the record from being read, or the change from being made.
    fn update<T>(
        &self,
        id: &SandboxId,
        rule: impl Fn(Option<&Record>, Reading) -> Step<T>,
    ) -> Result<T, StoreError>;

    /// Changes many records, each atomically, by the same rule, in the order asked.
    fn update_many<T>(
        &self,
        ids: &[SandboxId],
        rule: impl Fn(Option<&Record>, Reading) -> Step<T>,
    ) -> Vec<Result<T, StoreError>> {
        ids.iter().map(|id| self.update(id, &rule)).collect()
    }

    /// Looks at one record as of one reading, and changes nothing.
    ///
    /// # Errors
    /// Whatever kept the record from being read.
    fn view<T>(&self, id: &SandboxId, look: impl Fn(Option<&Record>, Reading) -> T) -> Result<T, StoreError> {
        self.update(id, |record, reading| Step {
            write: crate::Write::Nothing,
            answer: look(record, reading),
        })
    }

    /// Shows every record to `each`, with a reading under which it was so; those that ran out may be among them.
    /// Records that can't be read are shown as [`Damaged`] and hide no other.
    ///
    /// # Errors
    /// Whatever kept the list as a whole from being read. A list that failed midway is an error, not a shorter list.
    fn scan(
        &self,
        each: &mut dyn FnMut(Result<(SandboxId, Record, Reading), Damaged>),
    ) -> Result<(), StoreError>;

    /// Removes one record, whoever's; one that is live and readable only with `force`.
    ///
    /// # Errors
    /// Whatever kept the record from being removed.
    fn discard(&self, id: &SandboxId, force: bool) -> Result<DiscardOutcome, StoreError>;

    /// Lets go of files and connections; called once.
    ///
    /// # Errors
    /// Whatever went wrong in closing; the cell is not used again all the same.
    fn close(&self) -> Result<(), StoreError> {
        Ok(())
    }
}
