use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;

use super::OrphanHook;
use super::job::Job;
use super::lane::Lane;
use super::ledger::{Entry, Ledger};
use super::orphan::settle;
use super::request::{Reply, Request};
use crate::{ErrorKind, OwnershipStore, StoreError};

/// What every worker of a facade shares. Only threads of the facade hold it, so that the store is dropped by one of
/// them and never by an async task.
pub(super) struct Crew {
    pub(super) store: Arc<dyn OwnershipStore>,
    pub(super) ledger: Arc<Ledger>,
    pub(super) hook: Option<OrphanHook>,
}

impl Crew {
    /// Starts a worker of `lane` on `seat`.
    pub(super) fn start_worker(self: &Arc<Self>, lane: &Arc<Lane>, seat: usize) -> std::io::Result<()> {
        let (crew, lane) = (Arc::clone(self), Arc::clone(lane));
        thread::Builder::new()
            .name(format!("leasehold-{seat}"))
            .spawn(move || crew.work(&lane, seat))
            .map(drop)
    }

    fn work(&self, lane: &Lane, seat: usize) {
        while let Some(job) = lane.next(seat) {
            if let Request::Settle(orphan, entry) = &job.request {
                lane.orphaned.fetch_add(1, Ordering::Relaxed);
                settle(&*self.store, &self.ledger, orphan, *entry, self.hook.as_ref());
                job.abandon();
                continue;
            }
            let (reply, entry) = self.answer(&job);
            if matches!(&reply, Reply::Failed(_)) {
                lane.panicked.fetch_add(1, Ordering::Relaxed);
            }
            let Some(nobodys) = job.finish(reply) else { continue };
            if let (Some(orphan), Some(entry)) = (job.request.orphan_in(&nobodys), entry) {
                lane.orphaned.fetch_add(1, Ordering::Relaxed);
                settle(&*self.store, &self.ledger, &orphan, entry, self.hook.as_ref());
            }
        }
    }

    pub(super) fn close_store(&self) -> Result<(), StoreError> {
        catch_unwind(AssertUnwindSafe(|| self.store.close())).unwrap_or_else(|_| {
            Err(StoreError::new(ErrorKind::Panicked, "the store panicked while it was closed"))
        })
    }

    fn answer(&self, job: &Job) -> (Reply, Option<Entry>) {
        let Some(id) = job.request.tenure_of() else { return (job.request.perform(&*self.store), None) };
        let mut entry = self.ledger.enter(id);
        let mut reply = job.request.perform(&*self.store);
        while reply.is_refresh() && self.ledger.is_disturbed(entry) && !job.deadline.passed() {
            entry = self.ledger.renew(entry);
            reply = job.request.perform(&*self.store);
            thread::yield_now();
        }
        self.ledger.leave(entry);
        job.enter(entry);
        (reply, Some(entry))
    }
}
