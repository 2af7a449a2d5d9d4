use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use leasehold::{
    BackendError, BackendErrorKind, BackendListing, BackendOperation, Command, Condemned, Condition,
    Destroyed, EngineId, Execution, Identity, InstanceId, Namespace, OwnerId, SandboxBackend, SandboxId,
    SandboxInfo, SandboxSpec, Seen, SessionKey,
};

use super::super::ModelBackend;
use super::super::model::{Instance, missing};
use super::Fault;
use super::execution::FaultyExecution;

/// The model with one fault, in whichever operation it lies.
pub(super) struct FaultyBackend {
    pub(super) fault: Fault,
    pub(super) model: ModelBackend,
    pub(super) stopping: Arc<Mutex<BTreeSet<InstanceId>>>,
}

/// How long a faulty step takes, so that others get in between.
const STEP: Duration = Duration::from_millis(20);
/// As much as a pipe holds, in bytes.
const PIPE: usize = 64 << 10;

fn error(kind: BackendErrorKind, text: &'static str) -> BackendError {
    BackendError::new(kind, text)
}

/// Takes an instance back out of those that are being stopped.
struct Stopping<'s>(&'s Mutex<BTreeSet<InstanceId>>, InstanceId);

impl Drop for Stopping<'_> {
    fn drop(&mut self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.1);
    }
}

impl FaultyBackend {
    fn is(&self, fault: Fault) -> bool {
        self.fault == fault
    }

    /// What is told of an instance.
    fn shown(&self, mut info: SandboxInfo) -> SandboxInfo {
        match (self.fault, &info.condition) {
            (Fault::EndedRuns, Condition::Ended(_)) | (Fault::PausedRuns, Condition::Stopped(_)) => {
                info.condition = Condition::Running;
            }
            (Fault::PausedHasEnded, Condition::Stopped(how)) => {
                info.condition = Condition::Ended(how.clone())
            }
            (Fault::CondemnIsForgotten, _) => info.condemned = false,
            _ => {}
        }
        info
    }

    /// A lost answer that says that nothing was changed.
    fn lost<T>(&self, fault: Fault, answer: Result<T, BackendError>) -> Result<T, BackendError> {
        match answer {
            Err(e) if self.is(fault) && e.may_have_happened() => {
                Err(error(BackendErrorKind::Invalid, "that could not be done"))
            }
            answer => answer,
        }
    }

    /// The first instance of the namespace that `which` is true of.
    fn find(&self, which: impl Fn(&Instance) -> bool) -> Option<SandboxInfo> {
        let state = self.model.engine.lock();
        let own = state.instances.values().filter(|instance| instance.namespace == self.model.namespace);
        let mut found = own.filter(|instance| which(instance));
        found.next().map(|instance| instance.info.clone())
    }

    fn without_marks(identity: &Identity) -> Identity {
        let plain = |text: &str| text.chars().filter(char::is_ascii).collect::<String>();
        let session = identity.session.as_ref();
        let session = session.and_then(|s| SessionKey::new(&plain(s.user()), &plain(s.thread())).ok());
        Identity { session, ..identity.clone() }
    }

    async fn make(&self, spec: &SandboxSpec) -> Result<SandboxInfo, BackendError> {
        let engine = &self.model.engine;
        match self.fault {
            Fault::CreateLooksThenMakes => {
                let taken = engine.reach()?.named(&spec.id).is_some();
                tokio::time::sleep(STEP).await;
                if !taken {
                    return Ok(engine.reach()?.add(spec, &self.model.namespace));
                }
            }
            Fault::DroppedCreateKeepsTheName => {
                let reserved = engine.lock().foreign.insert(spec.id.clone());
                tokio::time::sleep(STEP).await;
                if reserved {
                    engine.lock().foreign.remove(&spec.id);
                }
            }
            Fault::ForeignIsReplaced => drop(engine.lock().foreign.remove(&spec.id)),
            _ => {}
        }
        self.model.create(spec).await
    }
}

#[async_trait]
impl SandboxBackend for FaultyBackend {
    fn kind(&self) -> &'static str {
        self.model.kind()
    }

    fn namespace(&self) -> &Namespace {
        self.model.namespace()
    }

    async fn engine_id(&self) -> Result<EngineId, BackendError> {
        if self.is(Fault::EngineIdChanges) {
            return Ok(EngineId::new(format!("engine-{}", self.model.engine.lock().next())));
        }
        self.model.engine_id().await
    }

    async fn create(&self, spec: &SandboxSpec) -> Result<SandboxInfo, BackendError> {
        let mut spec = spec.clone();
        match self.fault {
            Fault::LettersLost => spec.identity = Self::without_marks(&spec.identity),
            Fault::MountsAreLost => spec.mounts.clear(),
            _ => {}
        }
        let made = self.lost(Fault::LostCreateWasNone, self.make(&spec).await);
        match (self.fault, made) {
            (Fault::TakenIsReturned, Err(e)) if e.kind() == BackendErrorKind::Conflict => {
                self.model.discover(&spec.id).await?.ok_or(e)
            }
            (Fault::InstanceIsTheName, Ok(made)) => {
                let mut state = self.model.engine.lock();
                let mut instance =
                    state.instances.remove(&made.instance).ok_or_else(|| missing(&made.instance))?;
                instance.info.instance = InstanceId::new(format!("model-of-{}", spec.id));
                let info = instance.info.clone();
                state.instances.insert(info.instance.clone(), instance);
                Ok(info)
            }
            (_, made) => made,
        }
    }

    async fn wait_ready(
        &self,
        instance: &InstanceId,
        patience: Duration,
    ) -> Result<SandboxInfo, BackendError> {
        let waited = self.model.wait_ready(instance, patience).await;
        match (self.fault, waited) {
            (Fault::EndpointIsOld, Ok(mut info)) => {
                info.endpoint = None;
                Ok(info)
            }
            (Fault::NotReadyIsReady, Err(e)) if e.kind() == BackendErrorKind::NotReady => {
                match self.model.inspect(instance).await? {
                    Seen::Present(info) => Ok(info),
                    Seen::Gone => Err(e),
                }
            }
            (Fault::LastWordsAreKept, Err(e)) if e.kind() == BackendErrorKind::Exited => {
                Err(error(BackendErrorKind::Exited, "it ended"))
            }
            (Fault::EndedIsWaitedFor, Err(e)) if e.kind() == BackendErrorKind::Exited => {
                tokio::time::sleep(patience).await;
                Err(e)
            }
            (Fault::GoneIsWaitedFor, Err(e)) if e.kind() == BackendErrorKind::Missing => {
                tokio::time::sleep(patience).await;
                Err(e)
            }
            (_, waited) => waited,
        }
    }

    async fn inspect(&self, instance: &InstanceId) -> Result<Seen, BackendError> {
        match (self.fault, self.model.inspect(instance).await) {
            (Fault::ForeignIsGone, Err(e)) if e.kind() == BackendErrorKind::Foreign => Ok(Seen::Gone),
            (Fault::OutageIsGone, Err(e)) if e.kind() == BackendErrorKind::Unavailable => Ok(Seen::Gone),
            (_, Ok(Seen::Present(info))) => Ok(Seen::Present(self.shown(info))),
            (_, seen) => seen,
        }
    }

    async fn discover(&self, id: &SandboxId) -> Result<Option<SandboxInfo>, BackendError> {
        let found = match (self.fault, self.model.discover(id).await) {
            (Fault::NoneIsAnError, Ok(None)) => {
                return Err(error(BackendErrorKind::Missing, "nobody has that name"));
            }
            (Fault::UnreadableIsNone, Err(e)) if e.kind() == BackendErrorKind::Corrupt => None,
            (Fault::OutageIsNone, Err(e)) if e.kind() == BackendErrorKind::Unavailable => None,
            (Fault::NameBeginsAlike, Ok(None)) => {
                self.find(|other| other.info.id.as_str().starts_with(id.as_str()))
            }
            (Fault::CaseIsIgnored, Ok(None)) => {
                self.find(|other| other.info.id.as_str().eq_ignore_ascii_case(id.as_str()))
            }
            (Fault::CondemnedIsDiscovered, Ok(None)) => self.find(|other| other.info.id == *id),
            (Fault::CreatorForgotten, Ok(Some(mut info))) => {
                info.creator = OwnerId::generate();
                Some(info)
            }
            (_, found) => found?,
        };
        Ok(found.map(|info| self.shown(info)))
    }

    async fn list(&self) -> Result<BackendListing, BackendError> {
        let mut listing = match self.model.list().await {
            Err(e) if self.is(Fault::OutageIsEmpty) && e.kind() == BackendErrorKind::Unavailable => {
                BackendListing::default()
            }
            listed => listed?,
        };
        match self.fault {
            Fault::UnreadableIsHidden => listing.unreadable.clear(),
            Fault::CondemnedIsNotListed => listing.found.retain(|info| !info.condemned),
            Fault::ListedTwice => listing.found.extend(listing.found.first().cloned()),
            Fault::NamespaceBeginsAlike => {
                let (state, own) = (self.model.engine.lock(), self.model.namespace.as_str());
                let alike = state.instances.values().filter(|other| {
                    other.namespace != self.model.namespace && other.namespace.as_str().starts_with(own)
                });
                listing.found.extend(alike.map(|other| other.info.clone()));
            }
            _ => {}
        }
        listing.found = listing.found.into_iter().map(|info| self.shown(info)).collect();
        Ok(listing)
    }

    async fn condemn(&self, instance: &InstanceId) -> Result<Condemned, BackendError> {
        let known = self.find(|other| other.info.instance == *instance);
        match (self.fault, &known) {
            (Fault::CondemnIsForgotten, Some(_)) => return Ok(Condemned::Condemned),
            (Fault::CondemnedIsRefused, Some(info)) if info.condemned => {
                return Err(error(BackendErrorKind::Conflict, "it is condemned"));
            }
            (Fault::CondemnOfGoneFails, None) => return Err(missing(instance)),
            (Fault::CondemnGoesByName, Some(info)) => {
                let named = self.find(|other| other.info.id == info.id && !other.info.condemned);
                if let Some(named) = named {
                    return self.model.condemn(&named.instance).await;
                }
            }
            (Fault::ANameWillDo, None) => {
                if let Some(named) = self.find(|other| other.info.id.as_str() == instance.as_str()) {
                    return self.model.condemn(&named.instance).await;
                }
            }
            (Fault::CondemnStops, Some(_)) => {
                if let Some(found) = self.model.engine.lock().instances.get_mut(instance) {
                    found.info.condition = Condition::Ended("exited".to_owned());
                }
            }
            _ => {}
        }
        self.lost(Fault::LostCondemnWasNone, self.model.condemn(instance).await)
    }

    async fn destroy(&self, instance: &InstanceId) -> Result<Destroyed, BackendError> {
        let known = self.find(|other| other.info.instance == *instance);
        match (self.fault, &known) {
            (Fault::RemainsStay, Some(info)) if info.condition == Condition::Running => {
                if let Some(found) = self.model.engine.lock().instances.get_mut(instance) {
                    found.info.condition = Condition::Ended("exited".to_owned());
                }
                return Ok(Destroyed::Destroyed);
            }
            (Fault::DestroyOfGoneFails, None) => return Err(missing(instance)),
            (Fault::DestroyGoesByName, Some(info)) => {
                let named = self.find(|other| other.info.id == info.id && !other.info.condemned);
                if let Some(named) = named {
                    let _ = self.model.destroy(&named.instance).await?;
                }
            }
            (Fault::EndedIsNotDestroyed, Some(info)) if info.condition != Condition::Running => {
                return Err(error(BackendErrorKind::Missing, "it does not run"));
            }
            (Fault::ForeignIsDestroyed, None) => {
                let removed = self.model.engine.lock().instances.remove(instance);
                return Ok(removed.map_or(Destroyed::AlreadyGone, |_| Destroyed::Destroyed));
            }
            (Fault::HalfAnIdWillDo, None) if !instance.as_str().is_empty() => {
                let begins = |other: &Instance| other.info.instance.as_str().starts_with(instance.as_str());
                if let Some(info) = self.find(begins) {
                    return self.model.destroy(&info.instance).await;
                }
            }
            (Fault::StopsCollide | Fault::DroppedDestroyBlocks, Some(_)) => {
                let first =
                    self.stopping.lock().unwrap_or_else(PoisonError::into_inner).insert(instance.clone());
                if !first {
                    return Err(error(BackendErrorKind::Conflict, "it is being stopped"));
                }
                let stopping = Stopping(&self.stopping, instance.clone());
                if self.is(Fault::StopsCollide) {
                    tokio::time::sleep(STEP).await;
                    drop(stopping);
                } else {
                    let kept = std::mem::ManuallyDrop::new(stopping);
                    tokio::time::sleep(STEP).await;
                    drop(std::mem::ManuallyDrop::into_inner(kept));
                }
            }
            _ => {}
        }
        self.lost(Fault::LostDestroyWasNone, self.model.destroy(instance).await)
    }

    async fn exec(
        &self,
        instance: &InstanceId,
        mut command: Command,
    ) -> Result<Box<dyn Execution>, BackendError> {
        match self.fault {
            Fault::InputIsCut => command.input.truncate(PIPE),
            Fault::VariablesAreLost => command.environment.clear(),
            Fault::TimeIsNotKept => command.timeout = Command::DEFAULT_TIMEOUT,
            _ => {}
        }
        let inner = match (self.fault, self.model.exec(instance, command).await) {
            (Fault::NoProgramIsSuccess, Err(e)) if e.kind() == BackendErrorKind::Invalid => {
                self.model.exec(instance, Command::new("true")).await?
            }
            (Fault::GoneIsUnavailable, Err(e)) if e.kind() == BackendErrorKind::Missing => {
                let text = "the engine did not answer";
                return Err(error(BackendErrorKind::Unavailable, text).during(BackendOperation::Exec));
            }
            (_, started) => started?,
        };
        Ok(Box::new(FaultyExecution::new(self.fault, inner)))
    }
}
