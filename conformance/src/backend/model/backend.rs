use std::time::Duration;

use async_trait::async_trait;
use leasehold::{
    BackendError, BackendErrorKind, BackendListing, BackendOperation, Command, Condemned, Condition,
    Deadline, Destroyed, EngineId, Execution, InstanceId, Namespace, SandboxBackend, SandboxId, SandboxInfo,
    SandboxSpec, Seen, Unreadable,
};

use super::super::LAST_WORDS;
use super::ModelEngine;
use super::commands;
use super::engine::{Conduct, Instance, State};

/// A handle to a [`ModelEngine`] for one namespace.
#[derive(Clone, Debug)]
pub struct ModelBackend {
    pub(in crate::backend) engine: ModelEngine,
    pub(in crate::backend) namespace: Namespace,
}

impl ModelBackend {
    /// Between two looks at whether a sandbox is ready.
    const PAUSE: Duration = Duration::from_millis(5);

    /// A handle for the sandboxes of `namespace`.
    #[must_use]
    pub fn new(engine: ModelEngine, namespace: Namespace) -> Self {
        Self { engine, namespace }
    }

    /// The instance, where it is this namespace's.
    ///
    /// # Errors
    /// [`BackendErrorKind::Foreign`] where it is another's.
    fn own<'s>(
        &self,
        state: &'s mut State,
        instance: &InstanceId,
    ) -> Result<Option<&'s mut Instance>, BackendError> {
        let found = state.instances.get_mut(instance);
        if let Some(other) = found.as_ref().filter(|other| other.namespace != self.namespace) {
            let text = format!("it is an instance of namespace {}; leave it alone", other.namespace);
            return Err(BackendError::new(BackendErrorKind::Foreign, text).on(instance));
        }
        Ok(found)
    }

    /// Loses the answer, where that was asked for.
    fn answer<T>(&self, operation: BackendOperation, answer: T) -> Result<T, BackendError> {
        let mut state = self.engine.lock();
        if state.loses == Some(operation) {
            state.loses = None;
            let text = "the answer was lost; it may have happened, so look before you ask again";
            return Err(BackendError::new(BackendErrorKind::Unavailable, text).during(operation));
        }
        Ok(answer)
    }

    /// What `info` comes to for whoever waits; `None` while it has to be waited for.
    fn readiness(
        instance: Option<&mut Instance>,
        of: &InstanceId,
    ) -> Result<Option<SandboxInfo>, BackendError> {
        let Some(instance) = instance else { return Err(missing(of)) };
        match (&instance.info.condition, instance.conduct) {
            (Condition::Ended(_), _) => {
                let text = format!("it ended before it was ready; the last it said: {LAST_WORDS}");
                Err(BackendError::new(BackendErrorKind::Exited, text))
            }
            (Condition::Running, Conduct::Lasts) => Ok(Some(instance.info.clone())),
            _ => Ok(None),
        }
    }
}

pub(in crate::backend) fn missing(instance: &InstanceId) -> BackendError {
    BackendError::new(BackendErrorKind::Missing, "there is no such instance; it was destroyed, or never was")
        .on(instance)
}

#[async_trait]
impl SandboxBackend for ModelBackend {
    fn kind(&self) -> &'static str {
        "model"
    }

    fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    async fn engine_id(&self) -> Result<EngineId, BackendError> {
        drop(self.engine.reach()?);
        Ok(EngineId::new("model-engine"))
    }

    async fn create(&self, spec: &SandboxSpec) -> Result<SandboxInfo, BackendError> {
        tokio::task::yield_now().await;
        let made = {
            let mut state = self.engine.reach()?;
            let refuse = |kind, text: String| {
                Err(BackendError::new(kind, text).during(BackendOperation::Create).of(&spec.id))
            };
            if let Some(other) = state.named(&spec.id) {
                return match &other.namespace {
                    ours if *ours == self.namespace => refuse(
                        BackendErrorKind::Conflict,
                        "an instance has that name; discover it".to_owned(),
                    ),
                    theirs => {
                        refuse(BackendErrorKind::Foreign, format!("it is a sandbox of namespace {theirs}"))
                    }
                };
            }
            if state.foreign.contains(&spec.id) {
                return refuse(
                    BackendErrorKind::Foreign,
                    "it is somebody else's; give it another name".to_owned(),
                );
            }
            if state.unreadable.contains(&spec.id) {
                return refuse(
                    BackendErrorKind::Corrupt,
                    "what has that name can't be read; look at it".to_owned(),
                );
            }
            state.add(spec, &self.namespace)
        };
        tokio::task::yield_now().await;
        self.answer(BackendOperation::Create, made)
    }

    async fn wait_ready(
        &self,
        instance: &InstanceId,
        patience: Duration,
    ) -> Result<SandboxInfo, BackendError> {
        let deadline = Deadline::after(patience);
        loop {
            {
                let mut state = self.engine.reach()?;
                if let Some(ready) = Self::readiness(self.own(&mut state, instance)?, instance)? {
                    return Ok(ready);
                }
            }
            let Some(left) = deadline.left() else {
                let text = format!("not ready within {patience:?}; wait longer or destroy it");
                return Err(BackendError::new(BackendErrorKind::NotReady, text).on(instance));
            };
            tokio::time::sleep(left.min(Self::PAUSE)).await;
        }
    }

    async fn inspect(&self, instance: &InstanceId) -> Result<Seen, BackendError> {
        let mut state = self.engine.reach()?;
        let found = self.own(&mut state, instance)?;
        Ok(found.map_or(Seen::Gone, |instance| Seen::Present(instance.info.clone())))
    }

    async fn discover(&self, id: &SandboxId) -> Result<Option<SandboxInfo>, BackendError> {
        let state = self.engine.reach()?;
        if state.unreadable.contains(id) {
            let text = "what has that name can't be read; look at it";
            return Err(BackendError::new(BackendErrorKind::Corrupt, text).of(id));
        }
        let named = state.named(id).filter(|named| named.namespace == self.namespace);
        Ok(named.map(|instance| instance.info.clone()))
    }

    async fn list(&self) -> Result<BackendListing, BackendError> {
        let state = self.engine.reach()?;
        let own = state.instances.values().filter(|instance| instance.namespace == self.namespace);
        let unreadable = state.unreadable.iter().map(|id| Unreadable {
            instance: InstanceId::new(id.as_str()),
            why: "it says nothing of itself; look at it".to_owned(),
        });
        Ok(BackendListing {
            found: own.map(|instance| instance.info.clone()).collect(),
            unreadable: unreadable.collect(),
        })
    }

    async fn condemn(&self, instance: &InstanceId) -> Result<Condemned, BackendError> {
        let condemned = {
            let mut state = self.engine.reach()?;
            self.own(&mut state, instance)?.map_or(Condemned::Gone, |instance| {
                instance.info.condemned = true;
                Condemned::Condemned
            })
        };
        tokio::task::yield_now().await;
        self.answer(BackendOperation::Condemn, condemned)
    }

    async fn destroy(&self, instance: &InstanceId) -> Result<Destroyed, BackendError> {
        tokio::task::yield_now().await;
        let destroyed = {
            let mut state = self.engine.reach()?;
            match self.own(&mut state, instance)? {
                None => Destroyed::AlreadyGone,
                Some(_) => {
                    state.instances.remove(instance);
                    state.stop_commands(instance);
                    Destroyed::Destroyed
                }
            }
        };
        tokio::task::yield_now().await;
        self.answer(BackendOperation::Destroy, destroyed)
    }

    async fn exec(
        &self,
        instance: &InstanceId,
        command: Command,
    ) -> Result<Box<dyn Execution>, BackendError> {
        let found = {
            let mut state = self.engine.reach()?;
            self.own(&mut state, instance)?.cloned()
        };
        let running = found.filter(|found| found.info.condition == Condition::Running);
        let running = running.ok_or_else(|| missing(instance))?;
        commands::start(&self.engine, &running, command)
    }
}
