//! The facade tier can fail: whichever operation a facade runs on the thread that polls, O1 names it; and called inline,
//! every operation of every probe trips the gate.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use leasehold::{
    AsyncOwnershipStore, ClaimOutcome, CloseReport, DiscardOutcome, Fence, Intent, Lease, Listing, OwnerId,
    OwnershipStore, Reach, ReleaseOutcome, RenewOutcome, SandboxId, StoreError, TakeOutcome, Ttl,
};
use leasehold_conformance::case::{Check, Stop};
use leasehold_conformance::facade::{Call, Flavour, blocking_calls, prove_by_system_calls, prove_by_threads};
use leasehold_conformance::probes::{FileProbe, LockProbe, SleepProbe, SocketProbe, SqliteProbe};
use leasehold_conformance::{Harness, Kit, not_run};
use leasehold_gate as gate;

/// A facade that runs on the polling thread what it is told to, and everything else where it belongs.
struct Inline {
    /// The operations, by their names.
    here: Vec<&'static str>,
    /// There until the facade is dropped.
    store: Option<Arc<dyn OwnershipStore>>,
}

/// As an operation's name, the end of the store itself.
const DROP: &str = "drop";

impl Inline {
    fn shared(here: &[&'static str], store: Arc<dyn OwnershipStore>) -> Arc<dyn AsyncOwnershipStore> {
        Arc::new(Self { here: here.to_vec(), store: Some(store) })
    }

    fn store(&self) -> &Arc<dyn OwnershipStore> {
        self.store.as_ref().expect("it is there until the facade is dropped")
    }

    async fn run<T: Send + 'static>(
        &self,
        name: &str,
        ask: impl FnOnce(&dyn OwnershipStore) -> T + Send + 'static,
    ) -> T {
        if self.here.contains(&name) {
            return ask(&**self.store());
        }
        let store = Arc::clone(self.store());
        tokio::task::spawn_blocking(move || ask(&*store)).await.unwrap()
    }
}

impl Drop for Inline {
    fn drop(&mut self) {
        let store = self.store.take();
        if !self.here.contains(&DROP) {
            tokio::task::spawn_blocking(move || drop(store));
        }
    }
}

#[async_trait]
impl AsyncOwnershipStore for Inline {
    fn owner(&self) -> &OwnerId {
        self.store().owner()
    }

    fn ttl(&self) -> Ttl {
        self.store().ttl()
    }

    fn reach(&self) -> Reach {
        self.store().reach()
    }

    fn quantum(&self) -> Duration {
        self.store().quantum()
    }

    fn deadline(&self) -> Duration {
        Duration::from_secs(60)
    }

    async fn take(&self, id: &SandboxId) -> Result<TakeOutcome, StoreError> {
        let id = id.clone();
        self.run("take", move |store| store.take(&id)).await
    }

    async fn claim(&self, id: &SandboxId, intent: Intent) -> Result<ClaimOutcome, StoreError> {
        let id = id.clone();
        self.run("claim", move |store| store.claim(&id, intent)).await
    }

    async fn heartbeat(&self, id: &SandboxId, fence: Fence) -> Result<ClaimOutcome, StoreError> {
        let id = id.clone();
        self.run("heartbeat", move |store| store.claim(&id, Intent::DestroyTenure(fence))).await
    }

    async fn renew(&self, id: &SandboxId) -> Result<RenewOutcome, StoreError> {
        let id = id.clone();
        self.run("renew", move |store| store.renew(&id)).await
    }

    async fn renew_many(&self, ids: Vec<SandboxId>) -> Vec<Result<RenewOutcome, StoreError>> {
        self.run("renew_many", move |store| store.renew_many(&ids)).await
    }

    async fn release(&self, id: &SandboxId) -> Result<ReleaseOutcome, StoreError> {
        let id = id.clone();
        self.run("release", move |store| store.release(&id)).await
    }

    async fn release_tenure(&self, id: &SandboxId, fence: Fence) -> Result<ReleaseOutcome, StoreError> {
        let id = id.clone();
        self.run("release_tenure", move |store| store.release_tenure(&id, fence)).await
    }

    async fn inspect(&self, id: &SandboxId) -> Result<Option<Lease>, StoreError> {
        let id = id.clone();
        self.run("inspect", move |store| store.inspect(&id)).await
    }

    async fn list(&self) -> Result<Listing, StoreError> {
        self.run("list", |store| store.list()).await
    }

    async fn discard(&self, id: &SandboxId, force: bool) -> Result<DiscardOutcome, StoreError> {
        let id = id.clone();
        self.run("discard", move |store| store.discard(&id, force)).await
    }

    async fn close(&self, _: Duration) -> CloseReport {
        let mut report = CloseReport::default();
        report.error = self.run("close", |store| store.close()).await.err();
        report
    }
}

fn probes() -> [Box<dyn Harness>; 5] {
    [
        Box::new(FileProbe),
        Box::new(SocketProbe),
        Box::new(LockProbe),
        Box::new(SleepProbe),
        Box::new(SqliteProbe),
    ]
}

/// Each operation once, by name.
fn operations() -> Vec<&'static str> {
    let mut names: Vec<_> = Call::ALL.into_iter().map(Call::name).collect();
    names.dedup();
    names
}

fn by_system_calls(harness: &dyn Harness, here: &[&'static str]) -> Check {
    let kit = Kit::new(harness, 1)?;
    prove_by_system_calls(&kit, &|store| Ok(Inline::shared(here, Arc::from(store))))
}

fn by_threads(harness: &dyn Harness, here: &[&'static str]) -> Check {
    let kit = Kit::new(harness, 1)?;
    prove_by_threads(&kit, &|store| Ok(Inline::shared(here, Arc::from(store))))
}

/// The operations that blocked, in order and each as often as it did.
fn tripped(harness: &dyn Harness, here: &[&'static str], flavour: Flavour) -> Vec<Call> {
    let kit = Kit::new(harness, 1).unwrap();
    let store = Inline::shared(here, kit.open("me", Kit::TESTED).unwrap());
    blocking_calls(store, flavour, 0).unwrap().into_iter().map(|(call, _)| call).collect()
}

#[track_caller]
fn must_fail_and_name(check: Check, operation: &str, what: &str) {
    match check {
        Err(Stop::Failed { seen, .. }) => assert!(seen.contains(operation), "{what}: {seen}"),
        other => panic!("{what}: {other:?}"),
    }
}

fn gate_is_there() -> bool {
    gate::require().map_err(|why| not_run("gate", why)).is_ok()
}

#[test]
fn a_facade_that_offloads_everything_passes() {
    assert_eq!(by_threads(&SleepProbe, &[]), Ok(()));
    if gate_is_there() {
        assert_eq!(by_system_calls(&SleepProbe, &[]), Ok(()));
    }
}

#[test]
fn whichever_operation_runs_inline_its_system_calls_tell() {
    if !gate_is_there() {
        return;
    }
    for probe in probes() {
        for operation in operations() {
            let what = format!("{operation} of the {}, inline", probe.name());
            must_fail_and_name(by_system_calls(&*probe, &[operation]), operation, &what);
            let named: BTreeSet<_> =
                tripped(&*probe, &[operation], Flavour::CurrentThread).into_iter().map(Call::name).collect();
            assert_eq!(named, BTreeSet::from([operation]), "{what}, and no other");
        }
    }
}

#[test]
fn whichever_operation_runs_inline_its_thread_tells() {
    for operation in operations() {
        // A heartbeat reaches the store as a claim.
        let reaches = if operation == "heartbeat" { "claim" } else { operation };
        must_fail_and_name(by_threads(&SleepProbe, &[operation]), reaches, operation);
    }
    must_fail_and_name(by_threads(&SleepProbe, &[DROP]), "it is", "a store dropped where tasks are polled");
}

#[test]
fn called_inline_every_operation_of_every_probe_trips_the_gate() {
    if !gate_is_there() {
        return;
    }
    let everything = operations();
    for probe in probes() {
        for flavour in Flavour::ALL {
            let tripped = tripped(&*probe, &everything, flavour);
            let missed: Vec<_> = Call::ALL.into_iter().filter(|call| !tripped.contains(call)).collect();
            assert_eq!(missed, [], "{} on {flavour}", probe.name());
        }
    }
}
