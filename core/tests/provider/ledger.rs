//! The store as a gateway sees it through a bad network: calls that fail, hang, lose their answers or come late. Under it
//! are the real leases behind the real facade.

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use leasehold::{
    AsyncOwnershipStore, ClaimOutcome, CloseReport, DiscardOutcome, Env, ErrorKind, Fence, Intent, Lease,
    Listing, Offloaded, OwnerId, Reach, ReleaseOutcome, RenewOutcome, SandboxId, StoreError, TakeOutcome,
    Ttl,
};
use parking_lot::Mutex;

use crate::world::World;
use crate::yard::Gate;

/// Which call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Op {
    Take,
    Claim,
    Heartbeat,
    Renew,
    RenewMany,
    Release,
    ReleaseTenure,
    Inspect,
    List,
    Discard,
}

/// What happens to a call of the store.
#[derive(Clone)]
pub(crate) enum Trouble {
    /// It fails and nothing happened.
    Fails,
    /// It happens and the answer is lost.
    LosesItsAnswer,
    /// It fails, and takes effect when the gate is opened.
    HappensLate(Gate),
    /// It waits, before it does anything, until the gate is opened.
    Waits(Gate),
    /// It happens, and the answer waits until the gate is opened.
    AnswersLate(Gate),
    /// It panics, and nothing happened.
    Panics,
    /// It happens, and then it panics.
    HappensAndPanics,
}

#[derive(Default)]
struct Acts {
    troubles: Vec<(String, Op, Option<SandboxId>, Trouble)>,
    calls: Vec<(String, Op)>,
    /// Owners whose every call hangs until its deadline.
    cut_off: BTreeSet<String>,
    /// Owners whose store can't be closed.
    close_badly: BTreeSet<String>,
}

/// What happens to whose calls. Clones are the same.
#[derive(Clone, Default)]
pub(crate) struct Script(Arc<Mutex<Acts>>);

impl Script {
    /// What happens to the next such call of `owner`. Several are used up one by one.
    pub(crate) fn next(&self, owner: &str, op: Op, trouble: Trouble) {
        self.0.lock().troubles.push((owner.to_owned(), op, None, trouble));
    }

    /// The same for calls about `id` alone.
    pub(crate) fn next_of(&self, owner: &str, op: Op, id: &SandboxId, trouble: Trouble) {
        self.0.lock().troubles.push((owner.to_owned(), op, Some(id.clone()), trouble));
    }

    /// From here on every call of `owner` hangs until its deadline.
    pub(crate) fn cut_off(&self, owner: &str) {
        self.0.lock().cut_off.insert(owner.to_owned());
    }

    pub(crate) fn reconnect(&self, owner: &str) {
        self.0.lock().cut_off.remove(owner);
    }

    /// Closing the store of `owner` will fail.
    pub(crate) fn closes_badly(&self, owner: &str) {
        self.0.lock().close_badly.insert(owner.to_owned());
    }

    /// How often `owner` made such a call.
    pub(crate) fn calls(&self, owner: &str, op: Op) -> usize {
        self.0.lock().calls.iter().filter(|(who, what)| who == owner && *what == op).count()
    }

    fn act(&self, owner: &str, op: Op, ids: &[SandboxId]) -> Option<Trouble> {
        let mut acts = self.0.lock();
        acts.calls.push((owner.to_owned(), op));
        let at = acts.troubles.iter().position(|(who, what, id, _)| {
            who == owner && *what == op && id.as_ref().is_none_or(|id| ids.contains(id))
        });
        at.map(|at| acts.troubles.remove(at).3)
    }

    fn is_cut_off(&self, owner: &str) -> bool {
        self.0.lock().cut_off.contains(owner)
    }
}

/// The store of one owner.
pub(crate) struct Ledger {
    store: Arc<Offloaded>,
    world: World,
    script: Script,
}

type Effect<T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send>>;

impl Ledger {
    pub(crate) fn new(store: Offloaded, world: World, script: Script) -> Self {
        Self { store: Arc::new(store), world, script }
    }

    async fn call<T: Send + 'static>(
        &self,
        op: Op,
        ids: &[SandboxId],
        effect: impl FnOnce(Arc<Offloaded>) -> Effect<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let owner = self.store.owner().as_str();
        let lost = || StoreError::new(ErrorKind::Unavailable, "made to fail");
        self.world.note(format!("store: {op:?}"));
        let trouble = self.script.act(owner, op, ids);
        self.world.through_turnstile().await;
        if self.script.is_cut_off(owner) {
            self.world.sleep(self.store.deadline()).await;
            return Err(StoreError::new(ErrorKind::Timeout, "made to hang"));
        }
        let store = Arc::clone(&self.store);
        let happen = {
            let world = self.world.clone();
            async move {
                let _busy = world.busy();
                effect(store).await
            }
        };
        let answer = match trouble {
            None => happen.await,
            Some(Trouble::Fails) => Err(lost()),
            Some(Trouble::LosesItsAnswer) => {
                let _ = happen.await;
                Err(lost())
            }
            Some(Trouble::HappensLate(gate)) => {
                tokio::spawn(async move {
                    gate.pass().await;
                    let _ = happen.await;
                });
                Err(lost())
            }
            Some(Trouble::Waits(gate)) => {
                gate.pass().await;
                happen.await
            }
            Some(Trouble::AnswersLate(gate)) => {
                let answer = happen.await;
                gate.pass().await;
                answer
            }
            Some(Trouble::HappensAndPanics) => {
                let _ = happen.await;
                panic!("made to panic after {op:?}");
            }
            Some(Trouble::Panics) => panic!("made to panic in {op:?}"),
        };
        self.world.through_turnstile().await;
        answer
    }
}

macro_rules! one {
    ($self:ident, $op:expr, $id:ident, |$store:ident, $name:ident| $effect:expr) => {{
        let ids = std::slice::from_ref($id);
        let $name = $id.clone();
        $self.call($op, ids, move |$store| Box::pin(async move { $effect.await })).await
    }};
}

#[async_trait]
impl AsyncOwnershipStore for Ledger {
    fn owner(&self) -> &OwnerId {
        self.store.owner()
    }

    fn ttl(&self) -> Ttl {
        self.store.ttl()
    }

    fn reach(&self) -> Reach {
        self.store.reach()
    }

    fn quantum(&self) -> Duration {
        self.store.quantum()
    }

    fn deadline(&self) -> Duration {
        self.store.deadline()
    }

    async fn take(&self, id: &SandboxId) -> Result<TakeOutcome, StoreError> {
        one!(self, Op::Take, id, |store, id| store.take(&id))
    }

    async fn claim(&self, id: &SandboxId, intent: Intent) -> Result<ClaimOutcome, StoreError> {
        one!(self, Op::Claim, id, |store, id| store.claim(&id, intent))
    }

    async fn heartbeat(&self, id: &SandboxId, fence: Fence) -> Result<ClaimOutcome, StoreError> {
        one!(self, Op::Heartbeat, id, |store, id| store.heartbeat(&id, fence))
    }

    async fn renew(&self, id: &SandboxId) -> Result<RenewOutcome, StoreError> {
        one!(self, Op::Renew, id, |store, id| store.renew(&id))
    }

    async fn renew_many(&self, ids: Vec<SandboxId>) -> Vec<Result<RenewOutcome, StoreError>> {
        let (asked, count) = (ids.clone(), ids.len());
        let effect = move |store: Arc<Offloaded>| -> Effect<Vec<Result<RenewOutcome, StoreError>>> {
            Box::pin(async move { Ok(store.renew_many(asked).await) })
        };
        match self.call(Op::RenewMany, &ids, effect).await {
            Ok(answers) => answers,
            Err(error) => vec![Err(error); count],
        }
    }

    async fn release(&self, id: &SandboxId) -> Result<ReleaseOutcome, StoreError> {
        one!(self, Op::Release, id, |store, id| store.release(&id))
    }

    async fn release_tenure(&self, id: &SandboxId, fence: Fence) -> Result<ReleaseOutcome, StoreError> {
        one!(self, Op::ReleaseTenure, id, |store, id| store.release_tenure(&id, fence))
    }

    async fn inspect(&self, id: &SandboxId) -> Result<Option<Lease>, StoreError> {
        one!(self, Op::Inspect, id, |store, id| store.inspect(&id))
    }

    async fn list(&self) -> Result<Listing, StoreError> {
        self.call(Op::List, &[], |store| Box::pin(async move { store.list().await })).await
    }

    async fn discard(&self, id: &SandboxId, force: bool) -> Result<DiscardOutcome, StoreError> {
        one!(self, Op::Discard, id, |store, id| store.discard(&id, force))
    }

    async fn close(&self, deadline: Duration) -> CloseReport {
        self.world.note("store: Close");
        if self.script.is_cut_off(self.store.owner().as_str()) {
            self.world.sleep(deadline).await;
            let mut report = CloseReport::default();
            report.running = 1;
            return report;
        }
        let _busy = self.world.busy();
        let mut report = self.store.close(deadline).await;
        if self.script.0.lock().close_badly.contains(self.store.owner().as_str()) {
            report.error = Some(StoreError::new(ErrorKind::Unavailable, "made not to close"));
        }
        report
    }
}
