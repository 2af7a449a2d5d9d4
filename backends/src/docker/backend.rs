use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bollard::query_parameters::{
    CreateContainerOptionsBuilder, RenameContainerOptionsBuilder, StartContainerOptions,
    StopContainerOptionsBuilder,
};
use leasehold::{
    BackendError, BackendErrorKind, BackendListing, BackendOperation, Command, Condemned, Condition,
    Deadline, Destroyed, EngineId, Execution, InstanceId, Namespace, SandboxBackend, SandboxId, SandboxInfo,
    SandboxSpec, Seen,
};

use super::config::DockerConfig;
use super::engine::{Engine, named};
use super::error::Refusal;
use super::view::Known;
use super::{exec, make, mounts, name, ready};
use crate::environment::check_environment;

/// Sandboxes that are containers of an engine. See [the module](super) for what that means.
///
/// Its operations are to be polled on a tokio runtime with time and IO enabled; none blocks it.
#[derive(Debug)]
pub struct DockerBackend {
    engine: Arc<Engine>,
}

/// The first pause before another look at one that is being removed, and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(500));

impl DockerBackend {
    /// A handle for the sandboxes of `config`. Looks whether there is a socket and reads the certificates, where there are
    /// any, which blocks for a moment; the engine is first asked when something is.
    ///
    /// # Errors
    /// [`BackendErrorKind::Invalid`] for a setting that can't be right, [`BackendErrorKind::Unavailable`] when there is no
    /// socket.
    pub fn new(config: DockerConfig) -> Result<Self, BackendError> {
        config
            .validate()
            .map_err(|e| BackendError::new(BackendErrorKind::Invalid, e.to_string()).with_source(e))?;
        Ok(Self { engine: Arc::new(Engine::new(config)?) })
    }

    async fn make(&self, spec: &SandboxSpec) -> Result<SandboxInfo, BackendError> {
        self.check(spec).await?;
        let instance = match self.build(spec).await {
            Err(refusal) if refusal.is_missing_image() => {
                self.engine.get_image().await?;
                self.build(spec).await
            }
            made => made,
        };
        let instance = match instance {
            Ok(instance) => instance,
            Err(refusal) if refusal.is_missing_image() => {
                return Err(no_image_still(&self.engine.config.image));
            }
            Err(refusal) if refusal.is_conflict() => return Err(self.occupied(&spec.id).await),
            Err(refusal) => return Err(refusal.into()),
        };
        self.start(&instance).await?;
        self.engine.sandbox(&instance).await?.ok_or_else(|| {
            let text = "it was removed as soon as it was made";
            BackendError::new(BackendErrorKind::Unavailable, text).on(&instance)
        })
    }

    /// Whether the spec is one that this backend makes sandboxes of.
    async fn check(&self, spec: &SandboxSpec) -> Result<(), BackendError> {
        let invalid = |why: String| BackendError::new(BackendErrorKind::Invalid, why);
        let (ours, theirs) = (&self.engine.config.namespace, &spec.identity.namespace);
        if ours != theirs {
            return Err(invalid(format!("the spec is of namespace {theirs}, and this handle of {ours}")));
        }
        check_environment(&spec.environment).map_err(invalid)?;
        if spec.mounts.is_empty() {
            return Ok(());
        }
        let (wanted, engine) = (spec.mounts.clone(), Arc::clone(&self.engine));
        let check = move || {
            let config = &engine.config;
            mounts::check(&wanted, &config.mount_roots, !config.engine.is_remote())
        };
        // It reads links.
        let checked =
            tokio::time::timeout(self.engine.config.deadline, tokio::task::spawn_blocking(check)).await;
        match checked {
            Ok(Ok(checked)) => checked.map_err(invalid),
            _ => Err(BackendError::new(
                BackendErrorKind::Unavailable,
                "the mounts could not be looked at in time",
            )),
        }
    }

    async fn build(&self, spec: &SandboxSpec) -> Result<InstanceId, Refusal> {
        let config = &self.engine.config;
        let options =
            CreateContainerOptionsBuilder::new().name(&name::of(&config.namespace, &spec.id)).build();
        let body = make::container(spec, config);
        let made =
            self.engine.ask(Duration::ZERO, self.engine.docker.create_container(Some(options), body)).await?;
        Ok(InstanceId::new(made.id))
    }

    /// Starts what was just built. Where the engine says no, what was built has never run and is nobody's: it goes.
    async fn start(&self, instance: &InstanceId) -> Result<(), BackendError> {
        let start = self.engine.docker.start_container(instance.as_str(), None::<StartContainerOptions>);
        let Err(refusal) = self.engine.ask(Duration::ZERO, start).await else { return Ok(()) };
        let (answered, error) = (refusal.is_answer(), BackendError::from(refusal));
        if !answered {
            return Err(error.on(instance));
        }
        let kind = match error.kind() {
            // Of what it is to be made is not there: a program, a mount's source, a network.
            BackendErrorKind::Missing => BackendErrorKind::Invalid,
            BackendErrorKind::Conflict => BackendErrorKind::Unavailable,
            kind => kind,
        };
        match self.engine.remove(instance).await {
            Ok(()) => {
                Err(BackendError::new(kind, format!("it can't be started: {error}")).with_source(error))
            }
            Err(left) => {
                let left = BackendError::from(left);
                let text = format!("it can't be started: {error}; and it is still there: {left}");
                Err(BackendError::new(BackendErrorKind::Unavailable, text).on(instance))
            }
        }
    }

    /// Why the name can't be had.
    async fn occupied(&self, id: &SandboxId) -> BackendError {
        let config = &self.engine.config;
        let name = name::of(&config.namespace, id);
        let other = match self.engine.inspect(&name).await {
            Ok(Some(found)) => (found.instance.clone(), found.known(config)),
            Ok(None) => {
                return BackendError::new(
                    BackendErrorKind::Conflict,
                    "the name was just given up; try again",
                );
            }
            Err(error) => {
                return BackendError::new(
                    BackendErrorKind::Conflict,
                    format!("the name is taken; by whom is unknown: {error}"),
                );
            }
        };
        match other {
            (instance, Known::Sandbox(info)) => {
                let text = format!(
                    "instance {instance} of {} has the name, made by {}",
                    info.identity, info.creator
                );
                BackendError::new(BackendErrorKind::Conflict, text)
            }
            (_, Known::Unreadable(it)) => BackendError::new(BackendErrorKind::Corrupt, it.why),
            (instance, Known::Others(whose)) => {
                let text = format!(
                    "the name {name} is {whose} ({instance}), which is left alone; name it otherwise"
                );
                BackendError::new(BackendErrorKind::Foreign, text)
            }
        }
    }

    async fn take_name(&self, instance: &InstanceId) -> Result<Condemned, BackendError> {
        let Some(info) = self.engine.sandbox(instance).await? else { return Ok(Condemned::Gone) };
        if info.condemned {
            return Ok(Condemned::Condemned);
        }
        let given_up = name::condemned(&self.engine.config.namespace, &info.id, instance);
        let options = RenameContainerOptionsBuilder::new().name(&given_up).build();
        let renamed = self.engine.docker.rename_container(instance.as_str(), options);
        match self.engine.ask(Duration::ZERO, renamed).await {
            Ok(()) => Ok(Condemned::Condemned),
            Err(refusal) if refusal.is_missing_container() => Ok(Condemned::Gone),
            Err(refusal) if !refusal.is_answer() => Err(refusal.into()),
            // Somebody else may have done it, or may be removing it.
            Err(refusal) => match self.engine.sandbox(instance).await? {
                None => Ok(Condemned::Gone),
                Some(info) if info.condemned => Ok(Condemned::Condemned),
                Some(_) => Err(refusal.into()),
            },
        }
    }

    async fn stop(&self, instance: &InstanceId) -> Result<Destroyed, BackendError> {
        let Some(info) = self.engine.sandbox(instance).await? else { return Ok(Destroyed::AlreadyGone) };
        let patience = self.engine.config.stop_patience;
        if info.condition == Condition::Running && !patience.is_zero() {
            let seconds = i32::try_from(patience.as_secs().max(1)).unwrap_or(i32::MAX);
            let options = StopContainerOptionsBuilder::new().t(seconds).build();
            let stop = self.engine.docker.stop_container(instance.as_str(), Some(options));
            if let Err(refusal) = self.engine.ask(patience, stop).await {
                if refusal.is_missing_container() {
                    return Ok(Destroyed::AlreadyGone);
                }
                let error = BackendError::from(refusal);
                // Removing it kills it; only what comes of that counts.
                tracing::debug!(%instance, %error, "asking a sandbox to end failed; it is killed");
            }
        }
        match self.engine.remove(instance).await {
            Ok(()) => Ok(Destroyed::Destroyed),
            // Somebody else is removing it.
            Err(refusal) if refusal.is_conflict() => self.wait_gone(instance, refusal).await,
            Err(refusal) => Err(refusal.into()),
        }
    }

    async fn wait_gone(&self, instance: &InstanceId, refusal: Refusal) -> Result<Destroyed, BackendError> {
        let deadline = Deadline::after(self.engine.config.deadline);
        let (mut pause, longest) = PAUSES;
        while self.engine.sandbox(instance).await?.is_some() {
            let Some(left) = deadline.left() else { return Err(still_there(refusal)) };
            tokio::time::sleep(pause.min(left)).await;
            pause = (pause * 2).min(longest);
        }
        Ok(Destroyed::Destroyed)
    }
}

fn no_image_still(image: &str) -> BackendError {
    let text = format!("the engine has no image {image}, though it was just pulled; is the name complete?");
    BackendError::new(BackendErrorKind::Invalid, text)
}

fn still_there(refusal: Refusal) -> BackendError {
    let error = BackendError::from(refusal);
    BackendError::new(BackendErrorKind::Unavailable, format!("it is still there: {error}")).with_source(error)
}

#[async_trait]
impl SandboxBackend for DockerBackend {
    fn kind(&self) -> &'static str {
        "docker"
    }

    fn namespace(&self) -> &Namespace {
        &self.engine.config.namespace
    }

    async fn engine_id(&self) -> Result<EngineId, BackendError> {
        self.engine.id().await.map_err(|e| e.during(BackendOperation::EngineId))
    }

    async fn create(&self, spec: &SandboxSpec) -> Result<SandboxInfo, BackendError> {
        self.make(spec).await.map_err(|e| e.during(BackendOperation::Create).of(&spec.id))
    }

    async fn wait_ready(
        &self,
        instance: &InstanceId,
        patience: Duration,
    ) -> Result<SandboxInfo, BackendError> {
        let waited = ready::wait(&self.engine, instance, patience).await;
        waited.map_err(|e| e.during(BackendOperation::WaitReady).on(instance))
    }

    async fn inspect(&self, instance: &InstanceId) -> Result<Seen, BackendError> {
        let looked = self.engine.sandbox(instance).await;
        let looked = looked.map_err(|e| e.during(BackendOperation::Inspect).on(instance))?;
        Ok(looked.map_or(Seen::Gone, Seen::Present))
    }

    async fn discover(&self, id: &SandboxId) -> Result<Option<SandboxInfo>, BackendError> {
        let looked = async {
            let found = self.engine.inspect(&name::of(&self.engine.config.namespace, id)).await?;
            let Some(found) = found else { return Ok(None) };
            match named(found.known(&self.engine.config))? {
                Some(info) if info.id == *id => Ok(Some(info)),
                _ => Ok(None),
            }
        };
        looked.await.map_err(|e: BackendError| e.during(BackendOperation::Discover).of(id))
    }

    async fn list(&self) -> Result<BackendListing, BackendError> {
        self.engine.list().await.map_err(|e| e.during(BackendOperation::List))
    }

    async fn condemn(&self, instance: &InstanceId) -> Result<Condemned, BackendError> {
        self.take_name(instance).await.map_err(|e| e.during(BackendOperation::Condemn).on(instance))
    }

    async fn destroy(&self, instance: &InstanceId) -> Result<Destroyed, BackendError> {
        self.stop(instance).await.map_err(|e| e.during(BackendOperation::Destroy).on(instance))
    }

    async fn exec(
        &self,
        instance: &InstanceId,
        command: Command,
    ) -> Result<Box<dyn Execution>, BackendError> {
        let started = exec::start(&self.engine, instance, &command).await;
        Ok(Box::new(started.map_err(|e| e.during(BackendOperation::Exec).on(instance))?))
    }
}
