//! Sandboxes handed out across gateways, and never stopped while in use.
//!
//! [`Provider::builder`] makes one of a [`ProviderConfig`], a store and a backend; [`Provider::acquire`] hands out a
//! [`Sandbox`]; [`Provider::events`] and [`Provider::status`] say what goes on; [`Provider::shutdown`] ends it.

mod acquire;
mod builder;
mod config;
mod env;
mod error;
mod event;
mod home;
mod identity;
mod inner;
mod keys;
mod owed;
mod pause;
mod planted;
mod reaper;
mod registry;
mod renewal;
mod sandbox;
mod shutdown;
mod status;
mod teardown;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

pub use acquire::Acquire;
pub use builder::{PrepareHook, ProviderBuilder};
pub use config::ProviderConfig;
pub use env::{Env, Task, ThreadedEnv, Work};
pub use error::{AcquireError, DestroyError, StartError};
pub use event::{AcquirePath, Event, Events, Missed};
pub use home::{CreateGuard, Home, HomeDirectory, HomeError, Prepared};
#[cfg(feature = "planted")]
pub use planted::Planted;
pub use registry::{Parked, Refusal, StopWhy};
pub use sandbox::{LostReason, Sandbox, SandboxRef};
#[cfg(all(unix, feature = "signals"))]
pub use shutdown::shutdown_on_signals;
pub use shutdown::{ShutdownMode, ShutdownReport};
pub use status::{ProviderStatus, SandboxState, SandboxStatus};

use self::inner::{Inner, Stage};
use crate::{AsyncOwnershipStore, OwnerId, SandboxBackend, SandboxId};

/// Hands sandboxes out, over any store and any backend.
///
/// Clones are the same provider. Dropping the last one stops nothing: leases last for their TTL and sandboxes run on, for
/// other gateways to adopt. [`shutdown`](Self::shutdown) ends it properly.
///
/// ```no_run
/// use leasehold::{Acquire, Command, Offloaded, OffloadConfig, OwnerId, Provider, ProviderConfig, SandboxBackend};
/// use leasehold::{SessionKey, ShutdownMode};
/// use std::{sync::Arc, time::Duration};
///
/// # async fn example(backend: Arc<dyn SandboxBackend>, leases: impl leasehold::OwnershipStore)
/// #     -> Result<(), Box<dyn std::error::Error>> {
/// let config = ProviderConfig::new("agents-prod".parse()?).with_home("/var/lib/gateway");
/// let store = Offloaded::new(leases, OffloadConfig::default())?;
/// let provider = Provider::builder(config, Arc::new(store), backend).start().await?;
///
/// let sandbox = provider.acquire(Acquire::session(SessionKey::new("ada", "thread-7")?)).await?;
/// let mut running = sandbox.exec(Command::new("date")).await?;
/// println!("{:?}", running.next().await?);
/// drop(running);
/// sandbox.release().await;
///
/// let report = provider.shutdown(ShutdownMode::HandOver, Duration::from_secs(10)).await;
/// assert!(report.is_clean());
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Provider {
    inner: Arc<Inner>,
    _alive: Arc<Alive>,
}

/// Ends the loops when the last clone of a provider is dropped.
struct Alive(Arc<Inner>);

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.stage.send_replace(Stage::Over);
    }
}

impl Provider {
    fn new(inner: Arc<Inner>) -> Self {
        let alive = Arc::new(Alive(Arc::clone(&inner)));
        Self { inner, _alive: alive }
    }

    /// Begins to make a provider of these. The store's TTL has to be the configuration's, and the backend's namespace the
    /// configuration's too; [`ProviderBuilder::start`] checks it.
    ///
    /// ```no_run
    /// use leasehold::{AsyncOwnershipStore, PrepareHook, Provider, ProviderConfig, SandboxBackend, StartError};
    /// use std::sync::Arc;
    ///
    /// # async fn example(
    /// #     config: ProviderConfig, store: Arc<dyn AsyncOwnershipStore>, backend: Arc<dyn SandboxBackend>,
    /// # ) -> Result<Provider, StartError> {
    /// Provider::builder(config, store, backend)
    ///     .environment("REGION", "eu-1")
    ///     .prepare(PrepareHook::new(|session| {
    ///         println!("fetching the files of {session}");
    ///         Ok(())
    ///     }))
    ///     .start()
    ///     .await
    /// # }
    /// ```
    pub fn builder(
        config: ProviderConfig,
        store: Arc<dyn AsyncOwnershipStore>,
        backend: Arc<dyn SandboxBackend>,
    ) -> ProviderBuilder {
        ProviderBuilder::new(config, store, backend)
    }

    /// In whose name it holds leases: made when the store was opened, and never used again by another process.
    #[must_use]
    pub fn owner(&self) -> &OwnerId {
        &self.inner.owner
    }

    /// The sandbox of a session: the one in use here, the one that is warm here, the one that runs somewhere, or a new
    /// one, in this order. It is handed out only under a lease that the store has just granted, after a look at the
    /// instance.
    ///
    /// Acquires of one sandbox wait for each other, in the order asked. Each takes as long as its [`Acquire::within`] says,
    /// at most.
    ///
    /// ```no_run
    /// use leasehold::{Acquire, AcquireError, Provider, Sandbox, SessionKey};
    /// use std::time::Duration;
    ///
    /// # async fn example(provider: Provider) -> Result<Sandbox, (u16, Option<Duration>)> {
    /// let session = SessionKey::new("ada", "thread-7").map_err(|_| (400, None))?;
    /// let request = Acquire::session(session).within(Duration::from_secs(20));
    /// provider.acquire(request).await.map_err(|error| match &error {
    ///     AcquireError::DeadlinePassed { .. } => (504, error.retry_after()),
    ///     _ if error.is_transient() => (503, error.retry_after()),
    ///     AcquireError::ShuttingDown => (503, None), // the balancer goes to another gateway
    ///     _ => (500, None),                          // somebody has to look
    /// })
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`AcquireError`] says what a gateway answers. Nothing is handed out on the strength of an error.
    ///
    /// # Cancel safety
    /// What has begun goes on to a safe end; a sandbox that nobody is left to receive is parked warm, and the next acquire
    /// finds it.
    pub async fn acquire(&self, request: Acquire) -> Result<Sandbox, AcquireError> {
        acquire::acquire(&self.inner, request).await
    }

    /// The sandbox if somebody holds it here: for a request that belongs to a turn which has acquired it, a proxied one say.
    /// A lookup in memory, which counts as activity; no store and no engine is asked, and it never waits.
    ///
    /// `None` says that it is not in use here; it may well be warm here or in use elsewhere, which an acquire finds out.
    ///
    /// ```no_run
    /// # fn example(provider: leasehold::Provider, id: leasehold::SandboxId) -> Option<String> {
    /// let endpoint = provider.get(&id)?.info().endpoint.clone()?;
    /// Some(format!("http://{endpoint}/"))
    /// # }
    /// ```
    #[must_use]
    pub fn get(&self, id: &SandboxId) -> Option<SandboxRef> {
        let shared = self.inner.registry.get(id, self.inner.now())?;
        Some(SandboxRef::new(&self.inner, shared))
    }

    /// Stops a sandbox that is tracked here and not in use, and returns when it is gone. One that somebody holds is stopped
    /// by [`Sandbox::destroy`].
    ///
    /// ```no_run
    /// use leasehold::{DestroyError, Refusal};
    ///
    /// # async fn example(provider: leasehold::Provider, id: leasehold::SandboxId) {
    /// match provider.destroy(&id).await {
    ///     Ok(()) => println!("{id} is gone"),
    ///     Err(DestroyError::Refused(Refusal::TooYoung(wait))) => println!("ask again in {wait:?}"),
    ///     Err(error) => println!("{error}"),
    /// }
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`DestroyError`] says why it was not stopped. A tenure that is too young is a reason too: whoever used the sandbox
    /// before may not have been told yet.
    ///
    /// # Cancel safety
    /// A stop that has begun, at the first poll, goes on to its end.
    pub async fn destroy(&self, id: &SandboxId) -> Result<(), DestroyError> {
        self.inner.destroy(id).await
    }

    /// All that it does and decides from here on, each with its reason: for an audit log, or a test. The log and the counters
    /// have the same without it.
    ///
    /// ```no_run
    /// use leasehold::{Event, Missed};
    ///
    /// # async fn example(provider: leasehold::Provider) {
    /// let mut events = provider.events();
    /// loop {
    ///     match events.next().await {
    ///         Ok(Some(Event::Stopped { id, why, .. })) => println!("{id} was stopped: {why}"),
    ///         Ok(Some(_)) => {}
    ///         Ok(None) => break, // the provider is gone
    ///         Err(Missed(count)) => println!("{count} events were missed"),
    ///     }
    /// }
    /// # }
    /// ```
    #[must_use]
    pub fn events(&self) -> Events {
        self.inner.events.subscribe()
    }

    /// What it knows and does right now: for a health check, a dashboard, a person. It is made under one short lock, in time
    /// that grows with the number of sandboxes.
    ///
    /// ```no_run
    /// use std::time::Duration;
    ///
    /// # fn example(provider: leasehold::Provider) -> bool {
    /// let status = provider.status();
    /// for row in &status.sandboxes {
    ///     println!("{} {:?}, idle for {:?}", row.id, row.state, row.idle_for);
    /// }
    /// // Healthy while the store answers.
    /// !status.closing && status.last_renewal.is_none_or(|ago| ago < Duration::from_secs(90))
    /// # }
    /// ```
    #[must_use]
    pub fn status(&self) -> ProviderStatus {
        let inner = &self.inner;
        let now = inner.now();
        ProviderStatus {
            owner: inner.owner.clone(),
            backend: inner.backend.kind(),
            engine: inner.engine.get().cloned(),
            reach: inner.store.reach(),
            reaping_paused: inner.pause.reason(now),
            closing: inner.registry.is_closing(),
            acquires: inner.registry.acquires(),
            keys: inner.keys.len(),
            slots: (inner.registry.slots(), inner.config.capacity),
            last_renewal: inner.last_renewal(),
            sandboxes: inner.registry.show(now),
        }
    }

    /// Stops all tidying up for a while: no sandbox is reaped, evicted or adopted. Acquires and renewals go on, and so does
    /// a stop that has begun. A later call replaces an earlier one.
    ///
    /// For this provider alone; its peers tidy up what is theirs. The pause ends by itself, so that one that was forgotten
    /// does not fill the host; [`ProviderConfig::reaping_paused`] is for one that doesn't.
    ///
    /// ```no_run
    /// use std::time::Duration;
    ///
    /// # fn example(provider: leasehold::Provider) {
    /// provider.pause_reaping(Duration::from_secs(900), "ada looks at what thread-7 left");
    /// assert!(provider.status().reaping_paused.is_some());
    /// # }
    /// ```
    pub fn pause_reaping(&self, duration: Duration, reason: impl Into<String>) {
        self.inner.pause.pause(Some(self.inner.now() + duration), reason);
    }

    /// Ends a pause, also one that was there from the start.
    pub fn resume_reaping(&self) {
        self.inner.pause.resume();
    }

    /// Refuses acquires, lets what is under way end, lets the sandboxes go as `mode` says, releases the leases last, and
    /// closes the store; all within `deadline`, with a store and an engine that hang too. Two thirds of it at most are for
    /// what is under way and for stops, the rest is for the leases. A second call waits for the first, whatever its mode.
    ///
    /// It can't fail: [`ShutdownReport`] says what was left undone, and a peer finishes it.
    ///
    /// ```no_run
    /// use leasehold::ShutdownMode;
    /// use std::time::Duration;
    ///
    /// # async fn example(provider: leasehold::Provider) {
    /// let report = provider.shutdown(ShutdownMode::HandOver, Duration::from_secs(20)).await;
    /// if !report.is_clean() {
    ///     println!("left undone: {report:?}");
    /// }
    /// # }
    /// ```
    ///
    /// # Cancel safety
    /// It goes on to its end when the future is dropped.
    pub async fn shutdown(&self, mode: ShutdownMode, deadline: Duration) -> ShutdownReport {
        shutdown::shutdown(&self.inner, mode, deadline).await
    }
}

impl fmt::Debug for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Provider")
            .field("owner", &self.inner.owner)
            .field("tracked", &self.inner.registry.len())
            .finish_non_exhaustive()
    }
}
