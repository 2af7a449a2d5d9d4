use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::rules::{self, Asker};
use crate::{
    ClaimOutcome, DiscardOutcome, ErrorKind, Fence, FenceExhausted, Intent, Lease, LeaseCell, Listing,
    Moment, Operation, OwnerId, OwnershipStore, Reach, Reading, Record, ReleaseOutcome, RenewOutcome,
    SandboxId, Step, StoreError, TakeOutcome, Tenure, Ttl,
};

/// The [`OwnershipStore`] made of a [`LeaseCell`], as one owner sees it.
///
/// ```no_run
/// # use leasehold::{CellStore, LeaseCell, OwnerId, OwnershipStore, SandboxId, StoreError, Ttl};
/// # fn open(cell: impl LeaseCell) -> Result<(), Box<dyn std::error::Error>> {
/// let store = CellStore::new(cell, OwnerId::generate(), Ttl::from_secs_f64(60.0)?);
/// let taken = store.take(&"sbx-1".parse()?)?;
/// # let _ = taken; Ok(()) }
/// ```
pub struct CellStore<C> {
    cell: C,
    owner: OwnerId,
    ttl: Ttl,
    closed: AtomicBool,
}

impl<C: LeaseCell> CellStore<C> {
    /// The store that `owner` sees in `cell`, with leases of `ttl`.
    #[must_use]
    pub fn new(cell: C, owner: OwnerId, ttl: Ttl) -> Self {
        Self { cell, owner, ttl, closed: AtomicBool::new(false) }
    }

    /// The cell itself.
    pub fn cell(&self) -> &C {
        &self.cell
    }

    fn asker(&self) -> Asker<'_> {
        Asker { owner: &self.owner, ttl: self.ttl }
    }

    fn ask<T>(
        &self,
        operation: Operation,
        id: &SandboxId,
        rule: impl Fn(Option<&Record>, Reading) -> Step<T>,
    ) -> Result<T, StoreError> {
        self.open().and_then(|()| self.cell.update(id, rule)).map_err(|e| e.during(operation, Some(id)))
    }

    fn open(&self) -> Result<(), StoreError> {
        if self.closed.load(Ordering::Acquire) {
            return Err(StoreError::new(ErrorKind::Closed, "the store was closed; open it again"));
        }
        Ok(())
    }

    /// Until when an owner may rely on `tenure`, on this host's clock.
    fn on_our_clock(&self, sent: Option<Moment>, tenure: &mut Tenure) {
        if let Some(sent) = sent {
            tenure.valid_until = sent + self.ttl.as_duration();
        }
    }
}

fn exhausted(operation: Operation, id: &SandboxId) -> impl FnOnce(FenceExhausted) -> StoreError + '_ {
    move |cause| {
        StoreError::new(ErrorKind::Corrupt, cause.to_string()).with_source(cause).during(operation, Some(id))
    }
}

impl<C: LeaseCell> OwnershipStore for CellStore<C> {
    fn owner(&self) -> &OwnerId {
        &self.owner
    }

    fn ttl(&self) -> Ttl {
        self.ttl
    }

    fn reach(&self) -> Reach {
        self.cell.reach()
    }

    fn quantum(&self) -> Duration {
        self.cell.quantum()
    }

    fn take(&self, id: &SandboxId) -> Result<TakeOutcome, StoreError> {
        let sent = self.cell.sent();
        let asked =
            self.ask(Operation::Take, id, |before, reading| rules::take(before, self.asker(), reading))?;
        let mut outcome = asked.map_err(exhausted(Operation::Take, id))?;
        if let TakeOutcome::Taken { tenure, .. } = &mut outcome {
            self.on_our_clock(sent, tenure);
        }
        Ok(outcome)
    }

    fn claim(&self, id: &SandboxId, intent: Intent) -> Result<ClaimOutcome, StoreError> {
        let sent = self.cell.sent();
        let rule = |before: Option<&Record>, reading| rules::claim(before, intent, self.asker(), reading);
        let mut outcome = self.ask(Operation::Claim, id, rule)?.map_err(exhausted(Operation::Claim, id))?;
        if let ClaimOutcome::Claimed { tenure, .. } = &mut outcome {
            self.on_our_clock(sent, tenure);
        }
        Ok(outcome)
    }

    fn renew(&self, id: &SandboxId) -> Result<RenewOutcome, StoreError> {
        let sent = self.cell.sent();
        let rule = |before: Option<&Record>, reading| rules::renew(before, self.asker(), reading);
        let mut outcome = self.ask(Operation::Renew, id, rule)?;
        if let RenewOutcome::Renewed(tenure) = &mut outcome {
            self.on_our_clock(sent, tenure);
        }
        Ok(outcome)
    }

    fn renew_many(&self, ids: &[SandboxId]) -> Vec<Result<RenewOutcome, StoreError>> {
        let named = |e: StoreError, id| e.during(Operation::Renew, Some(id));
        if let Err(closed) = self.open() {
            return ids.iter().map(|id| Err(named(closed.clone(), id))).collect();
        }
        let sent = self.cell.sent();
        let rule = |before: Option<&Record>, reading| rules::renew(before, self.asker(), reading);
        let mut outcomes = self.cell.update_many(ids, rule);
        for (outcome, id) in outcomes.iter_mut().zip(ids) {
            match outcome {
                Ok(RenewOutcome::Renewed(tenure)) => self.on_our_clock(sent, tenure),
                Ok(_) => {}
                Err(e) => *e = named(e.clone(), id),
            }
        }
        outcomes
    }

    fn release(&self, id: &SandboxId) -> Result<ReleaseOutcome, StoreError> {
        self.ask(Operation::Release, id, |before, reading| {
            rules::release(before, None, self.asker(), reading)
        })
    }

    fn release_tenure(&self, id: &SandboxId, fence: Fence) -> Result<ReleaseOutcome, StoreError> {
        let rule =
            |before: Option<&Record>, reading| rules::release(before, Some(fence), self.asker(), reading);
        self.ask(Operation::Release, id, rule)
    }

    fn inspect(&self, id: &SandboxId) -> Result<Option<Lease>, StoreError> {
        self.open()
            .and_then(|()| self.cell.view(id, rules::inspect))
            .map_err(|e| e.during(Operation::Inspect, Some(id)))
    }

    fn list(&self) -> Result<Listing, StoreError> {
        let mut listing = Listing::default();
        let mut sort = |found: Result<(SandboxId, Record, Reading), _>| match found {
            Ok((id, record, reading)) => {
                listing.leases.extend(record.lease_at(reading.now).map(|lease| (id, lease)));
            }
            Err(damaged) => listing.damaged.push(damaged),
        };
        self.open().and_then(|()| self.cell.scan(&mut sort)).map_err(|e| e.during(Operation::List, None))?;
        Ok(listing)
    }

    fn discard(&self, id: &SandboxId, force: bool) -> Result<DiscardOutcome, StoreError> {
        self.open()
            .and_then(|()| self.cell.discard(id, force))
            .map_err(|e| e.during(Operation::Discard, Some(id)))
    }

    fn close(&self) -> Result<(), StoreError> {
        if self.closed.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        self.cell.close().map_err(|e| e.during(Operation::Close, None))
    }
}

impl<C> fmt::Debug for CellStore<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CellStore")
            .field("owner", &self.owner)
            .field("ttl", &self.ttl)
            .finish_non_exhaustive()
    }
}
