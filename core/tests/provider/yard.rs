//! A backend in memory, whose every call can be counted, held up, made to fail or to lose its answer.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use leasehold::{
    BackendError, BackendErrorKind, BackendListing, BackendOperation, Command, Condemned, Condition,
    Destroyed, EngineId, Execution, Exit, InstanceId, Namespace, Output, SandboxBackend, SandboxId,
    SandboxInfo, SandboxSpec, Seen,
};
use parking_lot::Mutex;
use tokio::sync::Semaphore;

use crate::world::World;

/// What happens to the next calls of one operation.
#[derive(Clone)]
pub(crate) enum Mishap {
    /// It fails and nothing happened.
    Fails,
    /// It happens and the answer is lost.
    LosesItsAnswer,
    /// It waits here, before it does anything, until the gate is opened.
    Waits(Gate),
    /// It happens, and the answer waits here until the gate is opened.
    AnswersLate(Gate),
    /// It panics, and nothing happened.
    Panics,
    /// It happens, and then it panics.
    HappensAndPanics,
    /// It happens, and the call panics before there is anything to await. Only a create does so.
    HappensAtOnceAndPanics,
}

/// Where calls wait until they are let through.
#[derive(Clone)]
pub(crate) struct Gate {
    arrived: Arc<Semaphore>,
    open: Arc<Semaphore>,
}

impl Gate {
    pub(crate) fn new() -> Self {
        Self { arrived: Arc::new(Semaphore::new(0)), open: Arc::new(Semaphore::new(0)) }
    }

    /// Until somebody waits at it. That nobody comes is a failure; half a minute is more than anything here may take.
    pub(crate) async fn arrived(&self) {
        let somebody = tokio::time::timeout(Duration::from_secs(30), self.arrived.acquire()).await;
        somebody.expect("somebody comes to the gate").unwrap().forget();
    }

    /// Lets one through.
    pub(crate) fn open(&self) {
        self.open.add_permits(1);
    }

    pub(crate) async fn pass(&self) {
        self.arrived.add_permits(1);
        self.open.acquire().await.unwrap().forget();
    }
}

#[derive(Default)]
struct Ground {
    instances: BTreeMap<String, SandboxInfo>,
    mishaps: Vec<(BackendOperation, Mishap)>,
    calls: Vec<(BackendOperation, String)>,
    /// Instances that are there and that no list names.
    hidden: Vec<InstanceId>,
}

/// One engine. Clones are the same.
#[derive(Clone)]
pub(crate) struct Yard {
    world: World,
    namespace: Namespace,
    engine: &'static str,
    ground: Arc<Mutex<Ground>>,
    next: Arc<AtomicU64>,
}

impl Yard {
    pub(crate) fn new(world: World, engine: &'static str) -> Self {
        let (ground, next) = (Arc::default(), Arc::default());
        Self { world, namespace: Namespace::new("test").unwrap(), engine, ground, next }
    }

    /// What happens to the next call of `operation`. Several are used up one by one.
    pub(crate) fn next(&self, operation: BackendOperation, mishap: Mishap) {
        self.ground.lock().mishaps.push((operation, mishap));
    }

    pub(crate) fn instances(&self) -> Vec<SandboxInfo> {
        self.ground.lock().instances.values().cloned().collect()
    }

    /// How often `operation` was called.
    pub(crate) fn calls(&self, operation: BackendOperation) -> usize {
        self.ground.lock().calls.iter().filter(|(called, _)| *called == operation).count()
    }

    /// What `operation` was called with, in order.
    pub(crate) fn called(&self, operation: BackendOperation) -> Vec<String> {
        let ground = self.ground.lock();
        ground.calls.iter().filter(|(called, _)| *called == operation).map(|(_, with)| with.clone()).collect()
    }

    /// No list names it any more, although it is there.
    pub(crate) fn hide(&self, instance: &InstanceId) {
        self.ground.lock().hidden.push(instance.clone());
    }

    /// An instance vanishes by itself.
    pub(crate) fn vanish(&self, instance: &InstanceId) {
        self.ground.lock().instances.remove(instance.as_str());
    }

    pub(crate) fn change(&self, instance: &InstanceId, change: impl FnOnce(&mut SandboxInfo)) {
        change(self.ground.lock().instances.get_mut(instance.as_str()).unwrap());
    }

    /// Somebody else's instance, or one of a gateway that is no more.
    pub(crate) fn put(&self, info: SandboxInfo) {
        self.ground.lock().instances.insert(info.instance.as_str().to_owned(), info);
    }

    async fn call<T>(
        &self,
        operation: BackendOperation,
        what: &str,
        effect: impl FnOnce(&mut Ground) -> Result<T, BackendError>,
    ) -> Result<T, BackendError> {
        self.world.note(format!("engine: {operation}"));
        self.world.through_turnstile().await;
        let mishap = {
            let mut ground = self.ground.lock();
            ground.calls.push((operation, what.to_owned()));
            let at = ground.mishaps.iter().position(|(on, _)| *on == operation);
            at.map(|at| ground.mishaps.remove(at).1)
        };
        let unavailable =
            || BackendError::new(BackendErrorKind::Unavailable, "made to fail").during(operation);
        match mishap {
            Some(Mishap::Fails) => return Err(unavailable()),
            Some(Mishap::LosesItsAnswer) => {
                effect(&mut self.ground.lock())?;
                return Err(unavailable());
            }
            Some(Mishap::AnswersLate(gate)) => {
                let answer = effect(&mut self.ground.lock());
                gate.pass().await;
                return answer;
            }
            Some(Mishap::Panics) => panic!("made to panic while {operation}"),
            Some(Mishap::HappensAndPanics | Mishap::HappensAtOnceAndPanics) => {
                effect(&mut self.ground.lock())?;
                panic!("made to panic after {operation}");
            }
            Some(Mishap::Waits(gate)) => gate.pass().await,
            None => tokio::task::yield_now().await,
        }
        let answer = effect(&mut self.ground.lock());
        self.world.through_turnstile().await;
        answer
    }
}

fn missing(operation: BackendOperation) -> BackendError {
    BackendError::new(BackendErrorKind::Missing, "no such instance").during(operation)
}

#[async_trait]
impl SandboxBackend for Yard {
    fn kind(&self) -> &'static str {
        "yard"
    }

    fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    async fn engine_id(&self) -> Result<EngineId, BackendError> {
        self.call(BackendOperation::EngineId, "", |_| Ok(EngineId::new(self.engine))).await
    }

    // Written out, since a call may panic before it has given a future.
    fn create<'a, 's, 'f>(
        &'a self,
        spec: &'s SandboxSpec,
    ) -> Pin<Box<dyn Future<Output = Result<SandboxInfo, BackendError>> + Send + 'f>>
    where
        'a: 'f,
        's: 'f,
        Self: 'f,
    {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let info = SandboxInfo {
            id: spec.id.clone(),
            instance: InstanceId::new(format!("i{number}")),
            identity: spec.identity.clone(),
            creator: spec.creator.clone(),
            endpoint: None,
            created: None,
            condemned: false,
            condition: Condition::Running,
        };
        let at_once = |ground: &mut Ground| {
            let panics = |(on, what): &(BackendOperation, Mishap)| {
                *on == BackendOperation::Create && matches!(what, Mishap::HappensAtOnceAndPanics)
            };
            let at = ground.mishaps.iter().position(panics)?;
            Some(ground.mishaps.remove(at))
        };
        let mut ground = self.ground.lock();
        if at_once(&mut ground).is_some() {
            ground.instances.insert(info.instance.as_str().to_owned(), info);
            drop(ground);
            panic!("made to panic before there was a future");
        }
        drop(ground);
        Box::pin(self.call(BackendOperation::Create, spec.id.as_str(), |ground| {
            if ground.instances.values().any(|found| found.id == spec.id && !found.condemned) {
                return Err(BackendError::new(BackendErrorKind::Conflict, "there is one of that name"));
            }
            ground.instances.insert(info.instance.as_str().to_owned(), info.clone());
            Ok(info)
        }))
    }

    async fn wait_ready(
        &self,
        instance: &InstanceId,
        _patience: Duration,
    ) -> Result<SandboxInfo, BackendError> {
        let operation = BackendOperation::WaitReady;
        self.call(operation, instance.as_str(), |ground| {
            ground.instances.get(instance.as_str()).cloned().ok_or_else(|| missing(operation))
        })
        .await
    }

    async fn inspect(&self, instance: &InstanceId) -> Result<Seen, BackendError> {
        self.call(BackendOperation::Inspect, instance.as_str(), |ground| {
            Ok(ground.instances.get(instance.as_str()).cloned().map_or(Seen::Gone, Seen::Present))
        })
        .await
    }

    async fn discover(&self, id: &SandboxId) -> Result<Option<SandboxInfo>, BackendError> {
        self.call(BackendOperation::Discover, id.as_str(), |ground| {
            Ok(ground.instances.values().find(|info| info.id == *id && !info.condemned).cloned())
        })
        .await
    }

    async fn list(&self) -> Result<BackendListing, BackendError> {
        self.call(BackendOperation::List, "", |ground| {
            let seen = |info: &&SandboxInfo| !ground.hidden.contains(&info.instance);
            let found = ground.instances.values().filter(seen).cloned().collect();
            Ok(BackendListing { found, unreadable: Vec::new() })
        })
        .await
    }

    async fn condemn(&self, instance: &InstanceId) -> Result<Condemned, BackendError> {
        self.call(BackendOperation::Condemn, instance.as_str(), |ground| {
            Ok(match ground.instances.get_mut(instance.as_str()) {
                Some(info) => {
                    info.condemned = true;
                    Condemned::Condemned
                }
                None => Condemned::Gone,
            })
        })
        .await
    }

    async fn destroy(&self, instance: &InstanceId) -> Result<Destroyed, BackendError> {
        self.call(BackendOperation::Destroy, instance.as_str(), |ground| {
            Ok(match ground.instances.remove(instance.as_str()) {
                Some(_) => Destroyed::Destroyed,
                None => Destroyed::AlreadyGone,
            })
        })
        .await
    }

    async fn exec(
        &self,
        instance: &InstanceId,
        command: Command,
    ) -> Result<Box<dyn Execution>, BackendError> {
        let operation = BackendOperation::Exec;
        self.call(operation, instance.as_str(), |ground| {
            ground.instances.get(instance.as_str()).ok_or_else(|| missing(operation))?;
            if command.program == "stubborn" {
                return Ok(Box::new(Stubborn) as Box<dyn Execution>);
            }
            Ok(Box::new(Quiet) as Box<dyn Execution>)
        })
        .await
    }
}

/// A command that says nothing and ends when asked how it goes on.
struct Quiet;

#[async_trait]
impl Execution for Quiet {
    async fn next(&mut self) -> Result<Output, BackendError> {
        Ok(Output::Exited(Exit::Code(0)))
    }

    async fn kill(&mut self) -> Result<(), BackendError> {
        Ok(())
    }
}

/// A command that can neither be killed nor closed well.
struct Stubborn;

#[async_trait]
impl Execution for Stubborn {
    async fn next(&mut self) -> Result<Output, BackendError> {
        std::future::pending().await
    }

    async fn kill(&mut self) -> Result<(), BackendError> {
        Err(BackendError::new(BackendErrorKind::Unavailable, "made not to be killed"))
    }
}

impl Drop for Stubborn {
    fn drop(&mut self) {
        panic!("made to panic when it is closed");
    }
}
