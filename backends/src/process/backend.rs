use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use leasehold::{
    BackendError, BackendErrorKind, BackendListing, BackendOperation, Command, Condemned, Deadline,
    Destroyed, EngineId, Execution, InstanceId, Namespace, SandboxBackend, SandboxId, SandboxInfo,
    SandboxSpec, Seen,
};

use super::config::ProcessConfig;
use super::engine::{Engine, Looked, Step};
use super::exec;
use super::members::Members;
use super::name::InstanceName;
use super::record::Record;
use super::spawn;
use super::stop::{self, Finished};
use super::threads::Threads;

/// Sandboxes that are plain processes of this host. See [the module](super) for what that means.
///
/// It has threads of its own: nothing that may block runs on the thread that polls, and any runtime will do.
#[derive(Debug)]
pub struct ProcessBackend {
    engine: Arc<Engine>,
    threads: Threads,
}

impl ProcessBackend {
    /// The first pause before a step is tried again, and the longest.
    const PAUSES: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(50));

    /// A handle for the sandboxes of `config`. Starts its threads and looks at `/proc`; the root directory is made by
    /// the first call.
    ///
    /// # Errors
    /// [`BackendErrorKind::Invalid`] for a setting that can't be right, [`BackendErrorKind::Unsupported`] on a host
    /// without `/proc`, [`BackendErrorKind::Full`] when no thread can be had.
    pub fn new(config: ProcessConfig) -> Result<Self, BackendError> {
        config
            .validate()
            .map_err(|e| BackendError::new(BackendErrorKind::Invalid, e.to_string()).with_source(e))?;
        let threads = Threads::start(config.workers)?;
        Ok(Self { engine: Arc::new(Engine::new(config)?), threads })
    }

    fn name(&self, instance: &InstanceId) -> Result<InstanceName, BackendError> {
        InstanceName::parse(instance, self.engine.place.namespace())
    }

    /// Runs `job` where it harms nobody.
    async fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Arc<Engine>) -> Result<T, BackendError> + Send + 'static,
    ) -> Result<T, BackendError> {
        let engine = Arc::clone(&self.engine);
        self.threads.run(self.engine.config.deadline, move || job(&engine)).await
    }

    /// Runs `step` until nobody else is changing the same sandbox id; waiting holds no thread.
    async fn step<T: Send + 'static>(
        &self,
        busy: BackendErrorKind,
        step: impl Fn(&Arc<Engine>) -> Result<Step<T>, BackendError> + Send + Sync + 'static,
    ) -> Result<T, BackendError> {
        let (step, deadline) = (Arc::new(step), Deadline::after(self.engine.config.lock_patience));
        let (mut pause, longest) = Self::PAUSES;
        loop {
            let again = Arc::clone(&step);
            if let Step::Done(done) = self.run(move |engine| again(engine)).await? {
                return Ok(done);
            }
            if deadline.passed() {
                let waited = deadline.allowed();
                let text = format!(
                    "another process has been changing this sandbox for {waited:?}; nothing was changed"
                );
                return Err(BackendError::new(busy, text));
            }
            self.threads.sleep(pause).await;
            pause = (pause * 2).min(longest);
        }
    }

    /// Looks, and once more in a moment while somebody is changing what is looked at: most often that takes milliseconds,
    /// as where another look has the lock.
    async fn look<T: Send + 'static>(
        &self,
        look: impl Fn(&Arc<Engine>) -> Result<Looked<T>, BackendError> + Send + Sync + 'static,
    ) -> Result<T, BackendError> {
        let (look, deadline) = (Arc::new(look), Deadline::after(self.engine.config.look_patience));
        let (mut pause, longest) = Self::PAUSES;
        loop {
            let again = Arc::clone(&look);
            let looked = self.run(move |engine| again(engine)).await?;
            if !looked.blurred || deadline.passed() {
                return Ok(looked.shown);
            }
            self.threads.sleep(pause).await;
            pause = (pause * 2).min(longest);
        }
    }

    async fn wait_until_ready(
        &self,
        instance: &InstanceName,
        patience: Duration,
    ) -> Result<SandboxInfo, BackendError> {
        let deadline = Deadline::after(patience);
        let (mut pause, longest) = Self::PAUSES;
        loop {
            let name = instance.clone();
            let waited_for = match self.look(move |engine| engine.ready(&name)).await? {
                Ok(info) => return Ok(info),
                Err(what) => what,
            };
            let Some(left) = deadline.left() else {
                let text = format!("not ready within {patience:?}: {waited_for}");
                return Err(BackendError::new(BackendErrorKind::NotReady, text));
            };
            self.threads.sleep(pause.min(left)).await;
            pause = (pause * 2).min(longest);
        }
    }

    async fn stop(&self, instance: &InstanceName) -> Result<Destroyed, BackendError> {
        let name = instance.clone();
        let begun = self.step(BackendErrorKind::Unavailable, move |engine| engine.begin_stop(&name)).await?;
        let Some(record) = begun else { return Ok(Destroyed::AlreadyGone) };
        let record = Arc::new(record);
        let mut members = self.let_end(&record).await?;
        let deadline = Deadline::after(self.engine.config.kill_patience);
        let (mut pause, longest) = Self::PAUSES;
        let mut refused = None;
        loop {
            if members.is_empty() {
                let (name, before) = (instance.clone(), members.clone());
                let step = move |engine: &Arc<Engine>| engine.finish_stop(&name, &before);
                if self.step(BackendErrorKind::Unavailable, step).await? == Finished::Removed {
                    return Ok(Destroyed::Destroyed);
                }
            }
            if deadline.passed() {
                return Err(stop::not_ended(&members, refused));
            }
            let (shared, before) = (Arc::clone(&record), members);
            (members, refused) = self.run(move |engine| engine.kill(&shared, &before)).await?;
            if !members.is_empty() {
                self.threads.sleep(pause).await;
                pause = (pause * 2).min(longest);
            }
        }
    }

    /// Asks its processes to end and gives them time to; those that are left come back.
    async fn let_end(&self, record: &Arc<Record>) -> Result<Members, BackendError> {
        let patience = self.engine.config.stop_patience;
        if patience.is_zero() {
            let record = Arc::clone(record);
            return self.run(move |engine| engine.still_there(&record, &Members::default())).await;
        }
        let shared = Arc::clone(record);
        let mut members = self.run(move |engine| engine.ask_to_end(&shared)).await?;
        let deadline = Deadline::after(patience);
        let (mut pause, longest) = Self::PAUSES;
        while !members.is_empty() {
            let Some(left) = deadline.left() else { break };
            self.threads.sleep(pause.min(left)).await;
            pause = (pause * 2).min(longest);
            let (shared, before) = (Arc::clone(record), members);
            members = self.run(move |engine| engine.still_there(&shared, &before)).await?;
        }
        Ok(members)
    }
}

#[async_trait]
impl SandboxBackend for ProcessBackend {
    fn kind(&self) -> &'static str {
        "process"
    }

    fn namespace(&self) -> &Namespace {
        self.engine.place.namespace()
    }

    async fn engine_id(&self) -> Result<EngineId, BackendError> {
        self.run(|engine| engine.engine_id()).await.map_err(|e| e.during(BackendOperation::EngineId))
    }

    async fn create(&self, spec: &SandboxSpec) -> Result<SandboxInfo, BackendError> {
        let (id, spec) = (spec.id.clone(), spec.clone());
        let step = move |engine: &Arc<Engine>| spawn::create(engine, &spec);
        let made = self.step(BackendErrorKind::Conflict, step).await;
        made.map_err(|e| e.during(BackendOperation::Create).of(&id))
    }

    async fn wait_ready(
        &self,
        instance: &InstanceId,
        patience: Duration,
    ) -> Result<SandboxInfo, BackendError> {
        let waited = async { self.wait_until_ready(&self.name(instance)?, patience).await };
        waited.await.map_err(|e| e.during(BackendOperation::WaitReady).on(instance))
    }

    async fn inspect(&self, instance: &InstanceId) -> Result<Seen, BackendError> {
        let looked = async {
            let name = self.name(instance)?;
            self.look(move |engine| engine.inspect(&name)).await
        };
        looked.await.map_err(|e| e.during(BackendOperation::Inspect).on(instance))
    }

    async fn discover(&self, id: &SandboxId) -> Result<Option<SandboxInfo>, BackendError> {
        let wanted = id.clone();
        let looked = self.look(move |engine| engine.discover(&wanted)).await;
        looked.map_err(|e| e.during(BackendOperation::Discover).of(id))
    }

    async fn list(&self) -> Result<BackendListing, BackendError> {
        self.look(|engine| engine.list()).await.map_err(|e| e.during(BackendOperation::List))
    }

    async fn condemn(&self, instance: &InstanceId) -> Result<Condemned, BackendError> {
        let condemned = async {
            let name = self.name(instance)?;
            self.step(BackendErrorKind::Unavailable, move |engine| engine.condemn(&name)).await
        };
        condemned.await.map_err(|e| e.during(BackendOperation::Condemn).on(instance))
    }

    async fn destroy(&self, instance: &InstanceId) -> Result<Destroyed, BackendError> {
        let stopped = async { self.stop(&self.name(instance)?).await };
        stopped.await.map_err(|e| e.during(BackendOperation::Destroy).on(instance))
    }

    async fn exec(
        &self,
        instance: &InstanceId,
        command: Command,
    ) -> Result<Box<dyn Execution>, BackendError> {
        let started = async {
            let name = self.name(instance)?;
            let step = move |engine: &Arc<Engine>| exec::start(engine, &name, &command);
            self.step(BackendErrorKind::Unavailable, step).await
        };
        let execution = started.await.map_err(|e| e.during(BackendOperation::Exec).on(instance))?;
        Ok(Box::new(execution))
    }
}
