use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::sync::Arc;

use tokio::sync::{OnceCell, Semaphore, watch};

use super::env::{Env, ThreadedEnv};
use super::event::EventLog;
use super::home::{Home, HomeDirectory, HomeError};
use super::inner::{Inner, Running, Stage};
use super::keys::KeyLocks;
use super::pause::Pause;
use super::planted::Guards;
use super::registry::Registry;
use super::{Provider, ProviderConfig, StartError, reaper, renewal};
use crate::{AsyncOwnershipStore, InvalidConfig, SandboxBackend, SessionKey};

/// What the integrator wants done before a session's sandbox is looked for: fetching its files, say. It may block. Its
/// failure is logged and stops nothing; the acquire waits for it, within its own deadline.
///
/// ```
/// use leasehold::PrepareHook;
///
/// let hook = PrepareHook::new(|session| {
///     if session.user().is_empty() { return Err("whose files?".into()) }
///     Ok(())
/// });
/// # drop(hook);
/// ```
#[derive(Clone)]
pub struct PrepareHook(Arc<Hook>);

type Hook = dyn Fn(&SessionKey) -> Result<(), Box<dyn Error + Send + Sync>> + Send + Sync;

impl PrepareHook {
    /// A hook that calls `prepare`.
    pub fn new(
        prepare: impl Fn(&SessionKey) -> Result<(), Box<dyn Error + Send + Sync>> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(prepare))
    }

    pub(super) fn call(&self, session: &SessionKey) -> Result<(), Box<dyn Error + Send + Sync>> {
        (self.0)(session)
    }
}

impl fmt::Debug for PrepareHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PrepareHook")
    }
}

/// Makes a [`Provider`]; see [`Provider::builder`].
#[must_use = "call start, or build in a test"]
pub struct ProviderBuilder {
    config: ProviderConfig,
    store: Arc<dyn AsyncOwnershipStore>,
    backend: Arc<dyn SandboxBackend>,
    env: Option<Arc<dyn Env>>,
    home: Option<Arc<dyn Home>>,
    hook: Option<PrepareHook>,
    environment: BTreeMap<String, String>,
    guards: Guards,
}

impl ProviderBuilder {
    pub(super) fn new(
        config: ProviderConfig,
        store: Arc<dyn AsyncOwnershipStore>,
        backend: Arc<dyn SandboxBackend>,
    ) -> Self {
        Self {
            config,
            store,
            backend,
            env: None,
            home: None,
            hook: None,
            environment: BTreeMap::new(),
            guards: Guards::default(),
        }
    }

    /// With another world than the real one: for simulations.
    pub fn env(mut self, env: Arc<dyn Env>) -> Self {
        self.env = Some(env);
        self
    }

    /// With another home than the directory of the configuration: for gateways whose sessions have no directories, or that
    /// lock elsewhere.
    pub fn home(mut self, home: Arc<dyn Home>) -> Self {
        self.home = Some(home);
        self
    }

    /// With a hook that runs before a session's sandbox is looked for, on a thread that may block.
    pub fn prepare(mut self, hook: PrepareHook) -> Self {
        self.hook = Some(hook);
        self
    }

    /// With a variable in the environment of every sandbox that is made; one of the same name in an
    /// [`Acquire`](super::Acquire) goes before it.
    pub fn environment(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.environment.insert(name.into(), value.into());
        self
    }

    /// Without one of its guards: for a simulation that shows that it would notice.
    #[cfg(feature = "planted")]
    pub fn planted(mut self, guard: super::Planted) -> Self {
        self.guards = Guards::without(guard);
        self
    }

    /// A provider that neither renews nor tidies up by itself and has not talked to its engine: for tests.
    ///
    /// # Errors
    /// [`StartError`] when a setting can't be right, or the host has no clock or thread to give.
    pub fn build(self) -> Result<Provider, StartError> {
        let config = self.config;
        config.check(self.store.deadline()).map_err(StartError::Config)?;
        if self.backend.namespace() != &config.namespace {
            let text = format!(
                "the backend's namespace {} is not the provider's {}; give both the same",
                self.backend.namespace(),
                config.namespace
            );
            return Err(StartError::Config(InvalidConfig::new(text)));
        }
        if self.store.ttl() != config.ownership.ttl() {
            let text = format!(
                "the store was opened with a TTL of {} and the configuration says {}; open it with \
                 config.ownership.ttl()",
                self.store.ttl(),
                config.ownership.ttl()
            );
            return Err(StartError::Config(InvalidConfig::new(text)));
        }
        let env = match self.env {
            Some(env) => env,
            None => Arc::new(ThreadedEnv::start().map_err(StartError::Host)?),
        };
        let home = match self.home {
            Some(home) => home,
            None => Arc::new(home_directory(&config)?),
        };
        let pause = Pause::default();
        if config.reaping_paused {
            pause.pause(None, "switched off in the configuration");
        }
        if std::env::var(Pause::VARIABLE).is_ok_and(|value| value.eq_ignore_ascii_case("off")) {
            pause.pause(None, format!("{}=off", Pause::VARIABLE));
        }
        let inner = Inner {
            owner: self.store.owner().clone(),
            registry: Registry::new(&config, self.guards),
            guards: self.guards,
            stops: Arc::new(Semaphore::new(config.stops_at_once)),
            config,
            store: self.store,
            backend: self.backend,
            env,
            home,
            hook: self.hook,
            environment: self.environment,
            engine: OnceCell::new(),
            keys: KeyLocks::default(),
            events: EventLog::new(),
            pause,
            stage: watch::channel(Stage::Running).0,
            loops: Default::default(),
            renewed_at: 0.into(),
            ended: watch::channel(None).0,
        };
        Ok(Provider::new(Arc::new(inner)))
    }

    /// A provider at work: it asks the engine who it is, renews its leases on a thread of its own, and tidies up.
    ///
    /// # Errors
    /// [`StartError`] when a setting can't be right, the host has no clock or thread to give, or the engine does not say
    /// who it is.
    ///
    /// # Cancel safety
    /// A provider that was not received is dropped, and its loops end.
    pub async fn start(self) -> Result<Provider, StartError> {
        let provider = self.build()?;
        let inner = &provider.inner;
        let asked = Arc::clone(inner);
        // Where the provider's tasks run, since a driver belongs to the runtime it was first used on.
        let engine = inner.run(async move { asked.engine().await }).await;
        let engine = engine.unwrap_or_else(|| {
            let text = "the backend panicked when it was asked who it is";
            Err(crate::BackendError::new(crate::BackendErrorKind::Panicked, text))
        });
        let engine = engine.map_err(StartError::Backend)?;
        tracing::info!(owner = %inner.owner, backend = inner.backend.kind(), %engine, reach = ?inner.store.reach(), "provider started");
        if inner.store.reach() == crate::Reach::Process {
            tracing::warn!(
                "the leases are seen by this process alone: no other gateway can be kept off its sandboxes"
            );
        }
        let renewal = Box::pin(renewal::run(Running::new(inner, Stage::Over), Arc::clone(inner)));
        inner.env.drive("renewal", renewal).map_err(|cause| {
            let text = "a thread of the provider could not be started; raise the limit on threads";
            StartError::Host(crate::StoreError::new(crate::ErrorKind::Full, text).with_source(cause))
        })?;
        inner.env.spawn(Box::pin(reaper::run(Running::new(inner, Stage::Closing), Arc::clone(inner))));
        Ok(provider)
    }
}

fn home_directory(config: &ProviderConfig) -> Result<HomeDirectory, StartError> {
    let root = config.home.clone().or_else(|| std::env::var_os(HomeDirectory::VARIABLE).map(Into::into));
    let root = root.ok_or_else(|| {
        let text =
            format!("no home directory: set `home` in the configuration or {}", HomeDirectory::VARIABLE);
        StartError::Config(InvalidConfig::new(text))
    })?;
    if !root.is_absolute() {
        return Err(StartError::Home(HomeError::new(
            "the home directory has to be an absolute path, not",
            root,
        )));
    }
    Ok(HomeDirectory::new(root, config.policy_view.clone()))
}

impl fmt::Debug for ProviderBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProviderBuilder").field("config", &self.config).finish_non_exhaustive()
    }
}
