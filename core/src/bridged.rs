use std::fmt;
use std::future::Future;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};

use crate::{
    Damaged, DiscardOutcome, ErrorKind, LeaseCell, Moment, Reach, Reading, Record, SandboxId, Stage, Step,
    StoreError,
};

/// A [`LeaseCell`] whose driver is async (sqlx, tokio-postgres, an async Redis client).
///
/// The same five duties as a [`LeaseCell`]'s, which see. Its futures are polled by one thread each and need not be `Send`.
/// They may be dropped at the deadline, at any await point: a transaction must be one that rolls back when it is dropped.
pub trait AsyncLeaseCell: Send + Sync + 'static {
    /// See [`LeaseCell::reach`].
    fn reach(&self) -> Reach;

    /// See [`LeaseCell::quantum`].
    fn quantum(&self) -> Duration {
        Duration::ZERO
    }

    /// See [`LeaseCell::sent`].
    fn sent(&self) -> Option<Moment> {
        None
    }

    /// See [`LeaseCell::update`].
    fn update<T>(
        &self,
        id: &SandboxId,
        rule: impl Fn(Option<&Record>, Reading) -> Step<T>,
    ) -> impl Future<Output = Result<T, StoreError>>;

    /// See [`LeaseCell::update_many`].
    fn update_many<T>(
        &self,
        ids: &[SandboxId],
        rule: impl Fn(Option<&Record>, Reading) -> Step<T>,
    ) -> impl Future<Output = Vec<Result<T, StoreError>>> {
        async move {
            let mut outcomes = Vec::with_capacity(ids.len());
            for id in ids {
                outcomes.push(self.update(id, &rule).await);
            }
            outcomes
        }
    }

    /// See [`LeaseCell::scan`]; everything at once, since a callback can't await.
    fn scan(&self) -> impl Future<Output = Result<Vec<Found>, StoreError>>;

    /// See [`LeaseCell::discard`].
    fn discard(
        &self,
        id: &SandboxId,
        force: bool,
    ) -> impl Future<Output = Result<DiscardOutcome, StoreError>>;

    /// See [`LeaseCell::close`].
    fn close(&self) -> impl Future<Output = Result<(), StoreError>> {
        async { Ok(()) }
    }
}

/// What a scan finds: a record under a reading, or one that can't be read.
pub type Found = Result<(SandboxId, Record, Reading), Damaged>;

/// Makes a store of a cell whose driver is async: a [`LeaseCell`] that runs the driver on a runtime of its own.
///
/// [`CellStore`](crate::CellStore) and [`Offloaded`](crate::Offloaded) then go around it as around any other. The detour
/// over a sync store costs little beside a network's round trip, and it buys that the driver's runtime is never the
/// gateway's: neither can starve the other.
///
/// ```text
/// gateway's task ── Offloaded ──▶ worker thread ── block_on ──▶ the driver's future
///                                                       ▲
///                                       IO and timers ──┘ one runtime thread of the cell's own
/// ```
///
/// Every call is bounded by the deadline; past it the future is dropped and the effect may have happened.
pub struct Bridged<C> {
    cell: C,
    /// `None` only while it is dropped.
    runtime: Option<Runtime>,
    deadline: Duration,
}

impl<C: AsyncLeaseCell> Bridged<C> {
    /// Starts the runtime thread and lets `connect` make the cell on it, within `deadline`, which bounds every call from
    /// then on.
    ///
    /// Must not be called by a task of another runtime; it blocks, as opening any store does.
    ///
    /// # Errors
    /// [`ErrorKind::Full`] when the thread could not be started, [`ErrorKind::Timeout`] past the deadline, and whatever
    /// `connect` says.
    pub fn connect<F>(deadline: Duration, connect: impl FnOnce() -> F) -> Result<Self, StoreError>
    where
        F: Future<Output = Result<C, StoreError>>,
    {
        let mut builder = Builder::new_multi_thread();
        let runtime = builder.worker_threads(1).thread_name("leasehold-driver").enable_all().build();
        let runtime = runtime.map_err(|cause| {
            StoreError::new(ErrorKind::Full, "the driver's runtime could not be started").with_source(cause)
        })?;
        // `connect` may spawn, so it is called where the runtime can be found.
        let cell = bounded(&runtime, deadline, Stage::Connect, async { connect().await })?;
        Ok(Self { cell, runtime: Some(runtime), deadline })
    }

    fn run<T>(&self, future: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
        bounded(self.runtime(), self.deadline, Stage::Reply, future)
    }

    fn runtime(&self) -> &Runtime {
        self.runtime.as_ref().expect("the runtime lives as long as the cell")
    }
}

fn bounded<T>(
    runtime: &Runtime,
    deadline: Duration,
    stage: Stage,
    future: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    runtime.block_on(async {
        tokio::time::timeout(deadline, future).await.unwrap_or_else(|_| {
            let text = format!("the driver did not answer within {deadline:?}");
            Err(StoreError::new(ErrorKind::Timeout, text).at(stage))
        })
    })
}

impl<C: AsyncLeaseCell> LeaseCell for Bridged<C> {
    fn reach(&self) -> Reach {
        self.cell.reach()
    }

    fn quantum(&self) -> Duration {
        self.cell.quantum()
    }

    fn sent(&self) -> Option<Moment> {
        self.cell.sent()
    }

    fn update<T>(
        &self,
        id: &SandboxId,
        rule: impl Fn(Option<&Record>, Reading) -> Step<T>,
    ) -> Result<T, StoreError> {
        self.run(self.cell.update(id, rule))
    }

    fn update_many<T>(
        &self,
        ids: &[SandboxId],
        rule: impl Fn(Option<&Record>, Reading) -> Step<T>,
    ) -> Vec<Result<T, StoreError>> {
        let all = self.run(async { Ok(self.cell.update_many(ids, rule).await) });
        all.unwrap_or_else(|error| ids.iter().map(|_| Err(error.clone())).collect())
    }

    fn scan(&self, each: &mut dyn FnMut(Found)) -> Result<(), StoreError> {
        self.run(self.cell.scan())?.into_iter().for_each(each);
        Ok(())
    }

    fn discard(&self, id: &SandboxId, force: bool) -> Result<DiscardOutcome, StoreError> {
        self.run(self.cell.discard(id, force))
    }

    fn close(&self) -> Result<(), StoreError> {
        self.run(self.cell.close())
    }
}

impl<C> Drop for Bridged<C> {
    /// Without waiting for what the driver still does, so that it may be dropped anywhere.
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl<C> fmt::Debug for Bridged<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bridged").field("deadline", &self.deadline).finish_non_exhaustive()
    }
}
