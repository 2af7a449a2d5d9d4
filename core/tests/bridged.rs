//! A cell whose driver is async, as a store: a database that lives in a task of its own and is asked over a channel.

use std::collections::BTreeMap;
use std::time::Duration;

use leasehold::{
    AsyncLeaseCell, AsyncOwnershipStore, Bridged, CellStore, ClaimOutcome, DiscardOutcome, ErrorKind, Found,
    Intent, Moment, OffloadConfig, Offloaded, OwnerId, OwnershipStore, Reach, Reading, Record, RenewOutcome,
    SandboxId, Step, StoreError, Ttl, Write,
};
use tokio::sync::{mpsc, oneshot};

/// Compare and swap: `(id, expected version, new record)`, answered with the row as it stands and whether it was changed.
type Query = (SandboxId, Option<(u64, Option<Record>)>, oneshot::Sender<(u64, Option<Record>, bool)>);

/// An async driver: it has nothing but a channel, so every call needs the runtime to be answered.
struct Driver {
    ask: mpsc::Sender<Query>,
}

async fn serve(mut asked: mpsc::Receiver<Query>) {
    let mut rows: BTreeMap<SandboxId, (u64, Option<Record>)> = BTreeMap::new();
    while let Some((id, change, answer)) = asked.recv().await {
        if id.as_str() == "silent" {
            std::mem::forget(answer);
            continue;
        }
        tokio::task::yield_now().await;
        let row = rows.entry(id).or_default();
        let mut changed = false;
        if let Some((expected, record)) = change
            && expected == row.0
        {
            *row = (row.0 + 1, record);
            changed = true;
        }
        let _ = answer.send((row.0, row.1.clone(), changed));
    }
}

impl Driver {
    async fn query(
        &self,
        id: &SandboxId,
        change: Option<(u64, Option<Record>)>,
    ) -> Result<(u64, Option<Record>, bool), StoreError> {
        let gone = |_| StoreError::new(ErrorKind::Unavailable, "the database is gone");
        let (answer, answered) = oneshot::channel();
        self.ask.send((id.clone(), change, answer)).await.map_err(|_| gone(()))?;
        answered.await.map_err(|_| gone(()))
    }
}

impl AsyncLeaseCell for Driver {
    fn reach(&self) -> Reach {
        Reach::Process
    }

    async fn update<T>(
        &self,
        id: &SandboxId,
        rule: impl Fn(Option<&Record>, Reading) -> Step<T>,
    ) -> Result<T, StoreError> {
        loop {
            let (version, record, _) = self.query(id, None).await?;
            let reading = Reading { now: Moment::from_nanos(1), fence_floor: version + 1 };
            let Step { write, answer } = rule(record.as_ref(), reading);
            let next = match (write, record) {
                (Write::Nothing, _) => return Ok(answer),
                (Write::Extend(expires), Some(record)) => Some(Record { expires, ..record }),
                (Write::Put(record), _) => Some(record),
                (Write::Remove | Write::Extend(_), _) => None,
            };
            if self.query(id, Some((version, next))).await?.2 {
                return Ok(answer);
            }
        }
    }

    async fn scan(&self) -> Result<Vec<Found>, StoreError> {
        Ok(Vec::new())
    }

    async fn discard(&self, _: &SandboxId, _: bool) -> Result<DiscardOutcome, StoreError> {
        Ok(DiscardOutcome::Absent)
    }
}

fn store(deadline: Duration) -> CellStore<Bridged<Driver>> {
    let connect = || async {
        let (ask, asked) = mpsc::channel(8);
        tokio::spawn(serve(asked));
        Ok(Driver { ask })
    };
    let cell = Bridged::connect(deadline, connect).unwrap();
    CellStore::new(cell, OwnerId::new("me").unwrap(), Ttl::from_secs_f64(60.0).unwrap())
}

fn id(text: &str) -> SandboxId {
    text.parse().unwrap()
}

#[test]
fn it_is_a_store_like_any_other() {
    let store = store(Duration::from_secs(20));
    assert!(matches!(store.claim(&id("a"), Intent::Keep), Ok(ClaimOutcome::Claimed { .. })));
    assert!(store.inspect(&id("a")).unwrap().is_some());
    let outcomes = store.renew_many(&[id("a"), id("b")]);
    assert!(matches!(outcomes[..], [Ok(RenewOutcome::Renewed(_)), Ok(RenewOutcome::Lapsed)]));
    store.close().unwrap();
}

#[test]
fn racing_swaps_leave_one_winner() {
    let store = store(Duration::from_secs(20));
    let barrier = std::sync::Barrier::new(8);
    let fences: Vec<_> = std::thread::scope(|scope| {
        let takers: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| {
                    barrier.wait();
                    match store.take(&id("a")).unwrap() {
                        leasehold::TakeOutcome::Taken { tenure, .. } => tenure.fence,
                        other => panic!("{other:?}"),
                    }
                })
            })
            .collect();
        takers.into_iter().map(|taker| taker.join().unwrap()).collect()
    });
    let distinct: std::collections::BTreeSet<_> = fences.iter().collect();
    assert_eq!(distinct.len(), 8, "no take was lost to another: {fences:?}");
    assert_eq!(store.inspect(&id("a")).unwrap().unwrap().fence.as_ref(), distinct.last().copied());
}

#[test]
fn a_driver_that_says_nothing_is_given_up_at_the_deadline() {
    let store = store(Duration::from_millis(20));
    let error = store.take(&id("silent")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert!(error.may_have_happened());
    let outcomes = store.renew_many(&[id("silent"), id("a")]);
    assert!(outcomes.iter().all(Result::is_err), "whose answer is certain can't be known");
}

#[tokio::test]
async fn behind_the_facade_it_runs_beside_the_gateways_own_runtime() {
    let facade = tokio::task::spawn_blocking(|| {
        Offloaded::new(store(Duration::from_secs(20)), OffloadConfig::default()).unwrap()
    });
    let facade = facade.await.unwrap();
    assert!(matches!(facade.claim(&id("a"), Intent::Keep).await, Ok(ClaimOutcome::Claimed { .. })));
    assert!(facade.close(Duration::from_secs(20)).await.is_clean());
    drop(facade);
}
