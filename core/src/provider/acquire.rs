//! One acquire, from the request to the hand-out. It runs as a task to its own safe end; whoever asked only waits for
//! the answer, so that dropping the question drops at most a hand-out.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{Either, select};
use parking_lot::Mutex;
use tokio::sync::{oneshot, watch};

use super::AcquireError;
use super::env::Env;
use super::event::{AcquirePath, Event};
use super::home::{CreateGuard, HomeError};
use super::identity::{anonymous_id, sandbox_id};
use super::inner::{Inner, panic_text};
use super::planted::Planted;
use super::registry::{Asked, Begin, NoHandOut, Shared, SlotAnswer};
use super::sandbox::{LostReason, Sandbox};
use crate::{
    BackendError, BackendErrorKind, BackendOperation, Condition, Identity, Moment, Mount, SandboxId,
    SandboxInfo, SandboxSpec, Seen, SessionKey, TakeOutcome,
};

/// What to acquire.
///
/// ```
/// use leasehold::{Acquire, SessionKey};
/// use std::time::Duration;
///
/// let request = Acquire::session(SessionKey::new("ada", "thread-7")?).within(Duration::from_secs(20));
/// # Ok::<(), leasehold::InvalidId>(())
/// ```
#[derive(Clone, Debug)]
pub struct Acquire {
    session: Option<SessionKey>,
    deadline: Duration,
    environment: BTreeMap<String, String>,
    mounts: Vec<Mount>,
}

impl Acquire {
    /// How long an acquire may take when nothing is said: 120 s.
    pub const DEFAULT_DEADLINE: Duration = Duration::from_secs(120);

    /// The sandbox of a session, wherever it is; made if there is none.
    #[must_use]
    pub fn session(session: SessionKey) -> Self {
        Self { session: Some(session), ..Self::anonymous() }
    }

    /// A new sandbox that is nobody's in particular.
    #[must_use]
    pub fn anonymous() -> Self {
        Self {
            session: None,
            deadline: Self::DEFAULT_DEADLINE,
            environment: BTreeMap::new(),
            mounts: Vec::new(),
        }
    }

    /// Given up after `deadline`: the longest that [`Provider::acquire`](super::Provider::acquire) takes. What has begun by
    /// then goes on to a safe end.
    #[must_use]
    pub fn within(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// With a variable in the environment of a sandbox that is made for this.
    #[must_use]
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.environment.insert(name.into(), value.into());
        self
    }

    /// With a directory that a sandbox which is made for this sees besides those of its session.
    #[must_use]
    pub fn mount(mut self, mount: Mount) -> Self {
        self.mounts.push(mount);
        self
    }
}

type Answer = Result<Sandbox, AcquireError>;

/// Whoever asked, as the task sees them.
struct Caller {
    answer: Mutex<Option<oneshot::Sender<Answer>>>,
    left: watch::Sender<bool>,
    doing: Mutex<&'static str>,
}

impl Caller {
    fn doing(&self, what: &'static str) {
        *self.doing.lock() = what;
    }

    /// Gives the answer; what nobody receives is dropped, and so let go of.
    fn answer(&self, answer: Answer) {
        if let Some(waiting) = self.answer.lock().take() {
            let _ = waiting.send(answer);
        }
    }

    fn has_left(&self) -> bool {
        *self.left.borrow()
    }

    async fn left(&self) {
        // The sender lives in `self`.
        let _ = self.left.subscribe().wait_for(|left| *left).await;
    }
}

/// Tells the task that its caller is gone, when dropped.
struct Leaves(Arc<Caller>);

impl Drop for Leaves {
    fn drop(&mut self) {
        self.0.left.send_replace(true);
    }
}

/// One acquire under way: what is wanted and by whom.
struct Quest {
    id: SandboxId,
    identity: Identity,
    mounts: Vec<Mount>,
    environment: BTreeMap<String, String>,
    ends: Moment,
    caller: Arc<Caller>,
}

/// How one round of an acquire ended short of a definite end.
enum Round {
    Done(Sandbox),
    /// From the start again, after a rest.
    Again(&'static str),
}

/// Ends the acquire in the registry, whatever happens, and lets a lease go that nothing was found or made for.
struct Underway<'a> {
    inner: &'a Arc<Inner>,
    id: &'a SandboxId,
    over: bool,
}

impl Underway<'_> {
    async fn end(mut self) {
        self.over = true;
        if let Some(fence) =
            self.inner.registry.end_acquire(self.id, self.inner.now(), self.inner.env.awake())
            && !self.inner.guards.lack(Planted::FailedAcquireReleases)
        {
            self.inner.let_lease_go(self.id, fence).await;
        }
    }
}

impl Drop for Underway<'_> {
    /// Only a panic comes here without [`end`](Self::end).
    fn drop(&mut self) {
        if self.over {
            return;
        }
        let (inner, id) = (Arc::clone(self.inner), self.id.clone());
        inner.registry.broken_off(&id, inner.now());
        if let Some(fence) = inner.registry.end_acquire(&id, inner.now(), inner.env.awake()) {
            let env = Arc::clone(&inner.env);
            env.spawn(Box::pin(async move { inner.let_lease_go(&id, fence).await }));
        }
    }
}

/// The create lock; giving it back may block, so that is not done here.
struct CreateLock {
    guard: Option<CreateGuard>,
    env: Arc<dyn Env>,
}

impl Drop for CreateLock {
    fn drop(&mut self) {
        if let Some(guard) = self.guard.take() {
            self.env.offload(Box::new(move || drop(guard)));
        }
    }
}

/// Asks for a sandbox, and waits for the answer.
pub(super) async fn acquire(inner: &Arc<Inner>, request: Acquire) -> Answer {
    let (answer, answered) = oneshot::channel();
    let (left, _) = watch::channel(false);
    let caller =
        Arc::new(Caller { answer: Mutex::new(Some(answer)), left, doing: Mutex::new("waiting to begin") });
    let leaves = Leaves(Arc::clone(&caller));
    let (task, env) = (Arc::clone(inner), Arc::clone(&inner.env));
    env.spawn(Box::pin(async move { to_the_end(task, request, caller).await }));
    let answer = answered.await.unwrap_or(Err(AcquireError::Panicked));
    drop(leaves);
    answer
}

/// Answers by the deadline, and goes on to a safe end after it.
async fn to_the_end(inner: Arc<Inner>, request: Acquire, caller: Arc<Caller>) {
    let deadline = request.deadline;
    let id = Mutex::new(None);
    let work = AssertUnwindSafe(inner.acquire(request, &caller, &id)).catch_unwind();
    let settle = |result: std::thread::Result<Answer>| {
        let answer = result.unwrap_or_else(|panic| {
            inner.events.tell(Event::Panicked { doing: "acquiring", message: panic_text(&*panic) });
            Err(AcquireError::Panicked)
        });
        if let Err(error) = &answer {
            inner.events.tell(Event::NotAcquired { id: id.lock().clone(), why: error.to_string() });
        }
        caller.answer(answer);
    };
    match select(pin!(work), inner.env.sleep(deadline)).await {
        Either::Left((result, _)) => settle(result),
        Either::Right(((), work)) => {
            let doing = *caller.doing.lock();
            caller.answer(Err(inner.late(doing)));
            caller.left.send_replace(true);
            settle(work.await);
        }
    }
}

impl Inner {
    async fn acquire(
        self: &Arc<Self>,
        request: Acquire,
        caller: &Arc<Caller>,
        told_id: &Mutex<Option<SandboxId>>,
    ) -> Answer {
        if self.registry.is_closing() {
            return Err(AcquireError::ShuttingDown);
        }
        let quest = self.quest(request, caller).await?;
        *told_id.lock() = Some(quest.id.clone());
        caller.doing("waiting for another acquire of the same sandbox");
        let _turn = match select(pin!(self.keys.lock(&quest.id)), pin!(caller.left())).await {
            Either::Left((turn, _)) => turn,
            Either::Right(_) => return Err(self.gone(caller)),
        };
        let mut rest = Duration::from_millis(5);
        // What is known to be out of date is put right at once; only the second time something else is in the way.
        let mut first = true;
        loop {
            if caller.has_left() {
                return Err(self.gone(caller));
            }
            match self.round(&quest).await? {
                Round::Done(sandbox) => return Ok(sandbox),
                Round::Again(why) => {
                    tracing::debug!(id = %quest.id, why, "acquire goes back to the start");
                    caller.doing(why);
                    if std::mem::take(&mut first) && why != BEING_STOPPED {
                        continue;
                    }
                    let jitter = (self.env.random() % 1_000) as u32;
                    let pause = rest / 2 + rest * jitter / 2_000;
                    rest = (rest * 2).min(Duration::from_millis(500));
                    if let Either::Right(_) = select(self.env.sleep(pause), pin!(caller.left())).await {
                        return Err(self.late(why));
                    }
                }
            }
        }
    }

    /// The hook, the id and the directories, none of it on a thread that polls tasks.
    async fn quest(self: &Arc<Self>, request: Acquire, caller: &Arc<Caller>) -> Result<Quest, AcquireError> {
        let ends = self.now() + request.deadline;
        if let (Some(hook), Some(session)) = (self.hook.clone(), request.session.clone()) {
            caller.doing("preparing");
            match self.offload(move || hook.call(&session)).await {
                Some(Ok(())) => {}
                Some(Err(error)) => {
                    tracing::warn!(%error, clause = "H10", "the preparation hook failed; going on")
                }
                None => tracing::warn!(clause = "H10", "the preparation hook panicked; going on"),
            }
        }
        caller.doing("asking the engine who it is");
        let engine = self.engine().await.map_err(AcquireError::Backend)?;
        let namespace = self.config.namespace.clone();
        let mut environment = self.environment.clone();
        environment.extend(request.environment);
        let Some(session) = request.session else {
            let identity = Identity { namespace, session: None, policy: None };
            let id = anonymous_id(&identity.namespace, &engine, self.env.random());
            let (mounts, caller) = (request.mounts, Arc::clone(caller));
            return Ok(Quest { id, identity, mounts, environment, ends, caller });
        };
        caller.doing("making its directories");
        let (home, key) = (Arc::clone(&self.home), session.clone());
        let derived = self.offload(move || {
            let prepared = home.prepare(&key)?;
            let identity = Identity { namespace, session: Some(key), policy: prepared.policy };
            Ok::<_, HomeError>((sandbox_id(&engine, &identity), identity, prepared.mounts))
        });
        let (id, identity, mut mounts) =
            derived.await.ok_or(AcquireError::Panicked)?.map_err(AcquireError::Home)?;
        mounts.extend(request.mounts);
        Ok(Quest { id, identity, mounts, environment, ends, caller: Arc::clone(caller) })
    }

    /// One round: in use here, warm here, running somewhere, or made (H6).
    async fn round(self: &Arc<Self>, quest: &Quest) -> Result<Round, AcquireError> {
        match self.registry.begin(&quest.id, &quest.identity) {
            Begin::Closing => Err(AcquireError::ShuttingDown),
            Begin::Foreign(identity) => Err(AcquireError::Foreign { whose: identity.to_string() }),
            Begin::Stopping(mut ended) => {
                quest.caller.doing(BEING_STOPPED);
                // An error says that the stop has ended.
                let wait = pin!(async { while ended.changed().await.is_ok() {} });
                match select(wait, pin!(quest.caller.left())).await {
                    Either::Left(_) => Ok(Round::Again(BEING_STOPPED)),
                    Either::Right(_) => Err(AcquireError::BeingDestroyed),
                }
            }
            Begin::Go(known) => {
                let underway = Underway { inner: self, id: &quest.id, over: false };
                let round = match known {
                    Some(shared) => self.reuse(quest, &shared).await,
                    None => self.find_or_make(quest).await,
                };
                underway.end().await;
                round
            }
        }
    }

    /// Takes the lease. Says how often it had been broken then, for the hand-out.
    async fn take(&self, quest: &Quest) -> Result<Result<u64, Round>, AcquireError> {
        let id = &quest.id;
        quest.caller.doing("taking the lease");
        self.registry.take_begins(id);
        match self.store.take(id).await {
            Ok(TakeOutcome::Taken { tenure, replaced }) => {
                let (broken, ask_again) = self.registry.taken(id, tenure, &replaced, self.now());
                if ask_again {
                    self.ask(id).await;
                }
                Ok(Ok(broken))
            }
            Ok(TakeOutcome::BeingDestroyed) => {
                self.registry.not_taken(id);
                Ok(Err(Round::Again(BEING_STOPPED)))
            }
            Err(error) => {
                self.registry.not_taken(id);
                // It may have happened: then the lease is found out now, and kept or let go of; or else later.
                if !self.ask(id).await {
                    self.registry.owe(id, None, self.now());
                }
                Err(AcquireError::StoreUnknown(error))
            }
        }
    }

    /// The instance is tracked here: take, look, hand out.
    async fn reuse(self: &Arc<Self>, quest: &Quest, shared: &Arc<Shared>) -> Result<Round, AcquireError> {
        let path =
            if self.registry.is_held(&quest.id) { AcquirePath::Reused } else { AcquirePath::Reclaimed };
        let broken = match self.take(quest).await? {
            Ok(broken) => broken,
            Err(round) => return Ok(round),
        };
        let instance = &shared.info.instance;
        quest.caller.doing("looking at its instance");
        let limit = self.config.backend_deadline;
        let seen = if self.guards.lack(Planted::LookAfterTake) {
            Ok(Seen::Present(shared.info.clone()))
        } else {
            self.within(limit, BackendOperation::Inspect, &quest.id, self.backend.inspect(instance)).await
        };
        let info = match seen {
            Ok(Seen::Gone) if self.guards.lack(Planted::GoneSeen) => shared.info.clone(),
            Ok(Seen::Gone) => {
                self.registry.drop_instance(&quest.id, instance, LostReason::Gone);
                return Ok(Round::Again("its instance was gone"));
            }
            Err(_) if self.guards.lack(Planted::HealthUnknown) => {
                self.registry.drop_instance(&quest.id, instance, LostReason::Gone);
                return Ok(Round::Again("its instance was gone"));
            }
            Ok(Seen::Present(info)) if info.condemned && !self.guards.lack(Planted::CondemnedSeen) => {
                self.registry.drop_instance(&quest.id, instance, LostReason::Stopped);
                return Ok(Round::Again("its instance was condemned"));
            }
            Ok(Seen::Present(info)) if info.identity != quest.identity => {
                self.registry.drop_instance(&quest.id, instance, LostReason::Replaced);
                return Err(AcquireError::Foreign { whose: info.identity.to_string() });
            }
            Ok(Seen::Present(info)) => match &info.condition {
                Condition::Running => info,
                Condition::Ended(_) => return self.dispose_of_ended(quest).await,
                Condition::Stopped(_) => self.ready(quest, &info).await?,
            },
            // Tracked here and the lease is ours: that the engine can't say how it is does not take it away (H11).
            Err(error) => {
                self.events
                    .tell(Event::EngineUnknown { doing: "looking at a sandbox that is tracked", error });
                shared.info.clone()
            }
        };
        self.registry.track(&quest.id, info.clone(), false, self.now());
        Ok(self.hand_out(quest, &info, broken, path))
    }

    /// Nothing is tracked here: under the create lock and the lease, found or made.
    async fn find_or_make(self: &Arc<Self>, quest: &Quest) -> Result<Round, AcquireError> {
        let _lock = match &quest.identity.session {
            Some(_) => Some(self.create_lock(quest).await?),
            None => None,
        };
        let broken = match self.take(quest).await? {
            Ok(broken) => broken,
            Err(round) => return Ok(round),
        };
        quest.caller.doing("looking for a running one");
        match self.discover(&quest.id).await.map_err(AcquireError::Backend)? {
            Some(info) => self.found(quest, info, broken).await,
            None => self.make(quest, broken).await,
        }
    }

    async fn found(
        self: &Arc<Self>,
        quest: &Quest,
        info: SandboxInfo,
        broken: u64,
    ) -> Result<Round, AcquireError> {
        if info.identity != quest.identity {
            return Err(AcquireError::Foreign { whose: info.identity.to_string() });
        }
        self.registry.track(&quest.id, info.clone(), false, self.now());
        if let Condition::Ended(_) = &info.condition {
            return self.dispose_of_ended(quest).await;
        }
        let info = self.ready(quest, &info).await?;
        self.confirmed(quest, &info, broken, AcquirePath::Discovered).await
    }

    async fn make(self: &Arc<Self>, quest: &Quest, broken: u64) -> Result<Round, AcquireError> {
        self.slot(quest).await?;
        if quest.caller.has_left() {
            return Err(self.gone(&quest.caller));
        }
        quest.caller.doing("making a new one");
        let spec = SandboxSpec {
            id: quest.id.clone(),
            identity: quest.identity.clone(),
            creator: self.owner.clone(),
            mounts: quest.mounts.clone(),
            environment: quest.environment.clone(),
        };
        let limit = self.config.create_deadline;
        // From here to a definite answer it may exist, also when this task never comes to hear one.
        let doubted = self.registry.create_begins(&quest.id, self.now());
        let made = self.within(limit, BackendOperation::Create, &quest.id, self.backend.create(&spec)).await;
        let info = match made {
            Ok(info) => info,
            Err(error) if error.kind() == BackendErrorKind::Conflict => {
                self.registry.not_created(&quest.id, doubted);
                self.registry.return_slot(&quest.id);
                return Ok(Round::Again("somebody else was making it"));
            }
            Err(error) if error.may_have_happened() && !self.guards.lack(Planted::CreateUnknown) => {
                // The reaper finds out, under the lease that is kept for it.
                self.registry.suspect(&quest.id, self.now());
                return Err(AcquireError::Backend(error));
            }
            Err(error) => {
                self.registry.not_created(&quest.id, doubted);
                return Err(AcquireError::Backend(error));
            }
        };
        self.registry.track(&quest.id, info.clone(), true, self.now());
        let info = match self.ready(quest, &info).await {
            Ok(info) => info,
            Err(error) => {
                self.dispose(quest, &info).await;
                return Err(error);
            }
        };
        let round = self.confirmed(quest, &info, broken, AcquirePath::Created).await;
        if self.registry.is_closing() && !matches!(round, Ok(Round::Done(_))) {
            self.dispose(quest, &info).await;
            return Err(AcquireError::ShuttingDown);
        }
        round
    }

    /// Waits until it can be used.
    async fn ready(&self, quest: &Quest, info: &SandboxInfo) -> Result<SandboxInfo, AcquireError> {
        quest.caller.doing("waiting until it is ready");
        let patience = self.config.ready_deadline;
        let call = self.backend.wait_ready(&info.instance, patience);
        // A little more than its patience, so that the backend's better error comes first.
        let limit = patience + self.config.backend_deadline;
        let ready = self.within(limit, BackendOperation::WaitReady, &quest.id, call).await;
        match ready.map_err(AcquireError::Backend)? {
            info if info.condition == Condition::Running => Ok(info),
            info => {
                let text = format!("it was said to be ready, and is {:?}", info.condition);
                let error = BackendError::new(BackendErrorKind::NotReady, text);
                Err(AcquireError::Backend(error.during(BackendOperation::WaitReady).of(&quest.id)))
            }
        }
    }

    /// The second look after it was made or found (H8): the lease still holds, and the name is still this instance's.
    async fn confirmed(
        self: &Arc<Self>,
        quest: &Quest,
        info: &SandboxInfo,
        broken: u64,
        path: AcquirePath,
    ) -> Result<Round, AcquireError> {
        quest.caller.doing("checking it once more");
        if self.guards.lack(Planted::SecondLook) {
            return Ok(self.hand_out(quest, info, broken, path));
        }
        let Some(then) = self.registry.snapshot(&quest.id) else {
            return Ok(Round::Again("it was forgotten"));
        };
        let asked = Asked::new(&quest.id, then);
        let answer = self.store.renew(&quest.id).await;
        let failed = answer.as_ref().err().cloned();
        self.heard(&asked, answer).await;
        if let Some(error) = failed {
            return Err(AcquireError::StoreUnknown(error));
        }
        match self.discover(&quest.id).await.map_err(AcquireError::Backend)? {
            Some(found) if found.instance == info.instance && found.is_usable() => {
                self.registry.track(&quest.id, info.clone(), false, self.now());
                Ok(self.hand_out(quest, info, broken, path))
            }
            _ => {
                self.registry.drop_instance(&quest.id, &info.instance, LostReason::Replaced);
                Ok(Round::Again("the name was another instance's by then"))
            }
        }
    }

    fn hand_out(
        self: &Arc<Self>,
        quest: &Quest,
        info: &SandboxInfo,
        broken: u64,
        path: AcquirePath,
    ) -> Round {
        match self.registry.hand_out(&quest.id, &info.instance, broken, self.now()) {
            Ok((holder, shared)) => {
                self.events.tell(Event::Acquired {
                    id: quest.id.clone(),
                    instance: info.instance.clone(),
                    session: quest.identity.session.clone(),
                    path,
                });
                Round::Done(Sandbox::new(self, shared, holder))
            }
            Err(NoHandOut::Broken) => Round::Again("the lease was lost or ran out meanwhile (H2)"),
            Err(NoHandOut::Expired) => Round::Again("no time was left of the lease (H2)"),
            Err(NoHandOut::Reserved) => Round::Again(BEING_STOPPED),
            Err(NoHandOut::Changed) => Round::Again("its instance changed meanwhile (H8)"),
            Err(NoHandOut::Closing) => Round::Again("the provider is shutting down"),
        }
    }

    /// A slot for one more, made by evicting the oldest warm one if need be (G2).
    async fn slot(self: &Arc<Self>, quest: &Quest) -> Result<(), AcquireError> {
        let begun = self.now();
        let patience = quest.ends.since(begun) / 2;
        loop {
            quest.caller.doing(WAITING_FOR_ROOM);
            let mut freed = pin!(self.registry.freed.notified());
            freed.as_mut().enable();
            let may_evict = !self.pause.is_on(self.now());
            match self.registry.reserve_slot(&quest.id, may_evict, self.now()) {
                SlotAnswer::Got => return Ok(()),
                SlotAnswer::Evict(stop) => {
                    // Whether it succeeded shows in the slots.
                    let _ = self.stop(*stop).await;
                    continue;
                }
                // Half of the time is left for the making.
                SlotAnswer::Full if self.config.exceed_capacity && self.now().since(begun) >= patience => {
                    self.registry.exceed_capacity(&quest.id);
                    self.events.tell(Event::CapacityExceeded { id: quest.id.clone() });
                    return Ok(());
                }
                SlotAnswer::Full => {}
            }
            // Sandboxes come of age with time alone, so it is looked at again now and then.
            let pause = self.config.reap_interval.min(patience.max(Duration::from_millis(1)));
            let wake = select(freed, self.env.sleep(pause));
            if let Either::Right(_) = select(wake, pin!(quest.caller.left())).await {
                return Err(self.late(WAITING_FOR_ROOM));
            }
        }
    }

    /// The right to make it, across processes. It is tried again and again, so that waiting holds no thread.
    async fn create_lock(&self, quest: &Quest) -> Result<CreateLock, AcquireError> {
        quest.caller.doing("waiting for the create lock");
        let mut rest = Duration::from_millis(2);
        loop {
            let (home, id) = (Arc::clone(&self.home), quest.id.clone());
            let tried = self.offload(move || home.try_lock(&id)).await.ok_or(AcquireError::Panicked)?;
            if let Some(guard) = tried.map_err(AcquireError::Home)? {
                return Ok(CreateLock { guard: Some(guard), env: Arc::clone(&self.env) });
            }
            if let Either::Right(_) = select(self.env.sleep(rest), pin!(quest.caller.left())).await {
                return Err(self.gone(&quest.caller));
            }
            rest = (rest * 2).min(Duration::from_millis(100));
        }
    }

    pub(super) async fn discover(&self, id: &SandboxId) -> Result<Option<SandboxInfo>, BackendError> {
        let limit = self.config.backend_deadline;
        self.within(limit, BackendOperation::Discover, id, self.backend.discover(id)).await
    }

    /// Its processes have ended: it is removed under the lease, and a new one is made.
    async fn dispose_of_ended(self: &Arc<Self>, quest: &Quest) -> Result<Round, AcquireError> {
        quest.caller.doing("removing what had ended");
        match self.registry.reserve_ended(&quest.id, self.now()) {
            Ok(stop) => match self.stop(stop).await {
                Ok(()) => Ok(Round::Again("what was there had ended")),
                Err(super::DestroyError::Backend(error)) => Err(AcquireError::Backend(error)),
                Err(super::DestroyError::StoreUnknown(error)) => Err(AcquireError::StoreUnknown(error)),
                Err(_) => Ok(Round::Again("what had ended could not be removed yet")),
            },
            Err(_) => Ok(Round::Again("what had ended could not be removed yet")),
        }
    }

    /// The deadline passed, or the caller left, while something was going on.
    fn late(&self, doing: &'static str) -> AcquireError {
        match doing {
            WAITING_FOR_ROOM => AcquireError::AtCapacity { retry_after: self.config.reap_interval },
            BEING_STOPPED => AcquireError::BeingDestroyed,
            doing => AcquireError::DeadlinePassed { doing },
        }
    }

    fn gone(&self, caller: &Caller) -> AcquireError {
        self.late(*caller.doing.lock())
    }

    /// What was made can't be handed out: it is stopped, or left to the reaper.
    async fn dispose(self: &Arc<Self>, quest: &Quest, info: &SandboxInfo) {
        match self.registry.reserve_made(&quest.id, self.now()) {
            Ok(stop) => {
                // Whatever comes of it, it stays tracked until it is gone.
                let _ = self.stop(stop).await;
            }
            Err(refusal) => tracing::debug!(id = %quest.id, %refusal, "not disposed of yet"),
        }
        self.registry.doom(&quest.id, &info.instance);
    }
}

const BEING_STOPPED: &str = "waiting for a stop to end";
const WAITING_FOR_ROOM: &str = "waiting for room";
