use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use leasehold::{Clock, Fence, OwnershipStore, SandboxId, StoreError};

use super::{Answer, Asked, Event, Stamp};

/// Stands before a store, carries out what it is told to, and hands on each call and its answer.
///
/// One for each thread, all with the same [`Order`].
pub struct Recorder<'a> {
    store: &'a dyn OwnershipStore,
    clock: &'a dyn Clock,
    order: Order,
    written: &'a mut (dyn FnMut(Event) + Send),
}

/// What puts calls and answers of different threads in order.
#[derive(Clone, Debug)]
pub enum Order {
    /// A number that all count up: for the threads of one process, also where the clock stands still.
    Counted(Arc<AtomicU64>),
    /// The clock itself, which processes of one host share.
    Timed,
}

impl Order {
    /// A number that all who have a clone count up.
    #[must_use]
    pub fn counted() -> Self {
        Self::Counted(Arc::default())
    }
}

impl<'a> Recorder<'a> {
    /// A recorder before `store`. `clock` is the one that the store's handles were opened with, or this host's.
    pub fn new(
        store: &'a dyn OwnershipStore,
        clock: &'a dyn Clock,
        order: Order,
        written: &'a mut (dyn FnMut(Event) + Send),
    ) -> Self {
        Self { store, clock, order, written }
    }

    /// Asks it of one sandbox.
    ///
    /// [`Asked::RenewMany`] and [`Asked::List`] are calls about many; of one they are about that one alone.
    pub fn ask(&mut self, id: &SandboxId, asked: Asked) -> Answer {
        match asked {
            Asked::RenewMany => return self.renew_many(std::slice::from_ref(id)).remove(0),
            Asked::List => return self.list(std::slice::from_ref(id)).remove(0),
            _ => {}
        }
        let called = self.before();
        let answer = asked.of(self.store, id).unwrap_or_else(|e| Answer::Failed(format!("{e:?}")));
        let answered = self.after();
        self.write(id, asked, called, answered, answer.clone());
        answer
    }

    /// Renews all of `ids` in one call.
    ///
    /// # Panics
    /// When the store gives another number of outcomes than there are ids.
    pub fn renew_many(&mut self, ids: &[SandboxId]) -> Vec<Answer> {
        let called = self.before();
        let outcomes = self.store.renew_many(ids);
        let answered = self.after();
        assert_eq!(outcomes.len(), ids.len(), "renew_many gives an outcome for each id");
        let answer = |outcome: Result<_, StoreError>| match outcome {
            Ok(outcome) => Answer::Renew(outcome),
            Err(error) => Answer::Failed(format!("{error:?}")),
        };
        let answers: Vec<Answer> = outcomes.into_iter().map(answer).collect();
        for (id, answer) in ids.iter().zip(&answers) {
            self.write(id, Asked::RenewMany, called, answered, answer.clone());
        }
        answers
    }

    /// Lists, and writes down what that says of each of `ids`, and of whatever else is listed.
    ///
    /// An id that is listed twice, or as damaged, counts as a failure: neither is an answer about that id.
    pub fn list(&mut self, ids: &[SandboxId]) -> Vec<Answer> {
        let called = self.before();
        let listing = self.store.list();
        let answered = self.after();
        let listing = match listing {
            Ok(listing) => listing,
            Err(error) => {
                let failed = Answer::Failed(format!("{error:?}"));
                ids.iter().for_each(|id| self.write(id, Asked::List, called, answered, failed.clone()));
                return ids.iter().map(|_| failed.clone()).collect();
            }
        };
        let said = |id: &SandboxId| {
            let damaged = listing.damaged.iter().find(|damaged| damaged.id.as_ref() == Some(id));
            let mut shown = listing.leases.iter().filter(|(listed, _)| listed == id).map(|(_, lease)| lease);
            match (damaged, shown.next(), shown.next()) {
                (Some(damaged), ..) => Answer::Failed(format!("{:?}", damaged.error)),
                (None, Some(_), Some(_)) => Answer::Failed("listed twice".to_owned()),
                (None, lease, _) => Answer::Look(lease.cloned()),
            }
        };
        for (id, _) in listing.leases.iter().filter(|(id, _)| !ids.contains(id)) {
            self.write(id, Asked::List, called, answered, said(id));
        }
        let answers: Vec<Answer> = ids.iter().map(said).collect();
        for (id, answer) in ids.iter().zip(&answers) {
            self.write(id, Asked::List, called, answered, answer.clone());
        }
        answers
    }

    // The order is taken before the clock at a call and after it at an answer, so that both enclose the store's reading.
    fn before(&self) -> Stamp {
        match &self.order {
            Order::Timed => Stamp::at(self.clock.now()),
            Order::Counted(next) => {
                let order = next.fetch_add(1, Ordering::SeqCst);
                Stamp { order, clock: self.clock.now() }
            }
        }
    }

    fn after(&self) -> Stamp {
        let clock = self.clock.now();
        match &self.order {
            Order::Timed => Stamp::at(clock),
            Order::Counted(next) => Stamp { order: next.fetch_add(1, Ordering::SeqCst), clock },
        }
    }

    fn write(&mut self, id: &SandboxId, asked: Asked, called: Stamp, answered: Stamp, answer: Answer) {
        (self.written)(Event {
            id: id.clone(),
            owner: self.store.owner().clone(),
            ttl: self.store.ttl().as_duration(),
            asked,
            called,
            answer: Some((answered, answer)),
        });
    }
}

impl Answer {
    /// The fence that it shows, of whoever's tenure.
    #[must_use]
    pub fn fence(&self) -> Option<Fence> {
        use leasehold::{ClaimOutcome, DiscardOutcome, RenewOutcome, TakeOutcome};
        match self {
            Self::Take(TakeOutcome::Taken { tenure, .. })
            | Self::Claim(ClaimOutcome::Claimed { tenure, .. })
            | Self::Renew(RenewOutcome::Renewed(tenure)) => Some(tenure.fence),
            Self::Look(Some(lease)) | Self::Discard(DiscardOutcome::Refused(lease)) => lease.fence,
            _ => None,
        }
    }
}
