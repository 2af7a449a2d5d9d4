use std::fmt;
use std::sync::Arc;
use std::sync::Weak;

use async_trait::async_trait;

use super::DestroyError;
use super::inner::Inner;
use super::planted::Planted;
use super::registry::{Parked, Shared, Unpinnable};
use crate::{
    BackendError, BackendErrorKind, BackendOperation, Command, Execution, InstanceId, Output, SandboxId,
    SandboxInfo,
};

/// Why a sandbox that was handed out is no longer to be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LostReason {
    /// A peer took it: the conversation goes on there.
    Taken,
    /// It was stopped: reaped as idle, destroyed, or found condemned.
    Stopped,
    /// Its instance is gone.
    Gone,
    /// Another instance is in its place.
    Replaced,
    /// The provider shut down.
    ShutDown,
    /// Nobody here looks after it any more.
    Forgotten,
}

impl fmt::Display for LostReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Taken => "another gateway has it",
            Self::Stopped => "it was stopped",
            Self::Gone => "its instance is gone",
            Self::Replaced => "another instance is in its place",
            Self::ShutDown => "the provider shut down",
            Self::Forgotten => "it was let go of",
        })
    }
}

/// A sandbox that was handed out. Whoever has this holds it: while somebody does and uses it, it is not reaped.
///
/// Dropping it lets go, at once and without blocking; the last one to let go parks the sandbox warm for the next acquire.
/// All that a [`SandboxRef`] can do it can do too.
///
/// ```no_run
/// use leasehold::{Command, Execution, Sandbox};
///
/// # async fn turn(_: Box<dyn Execution>) {}
/// # async fn example(sandbox: Sandbox) -> Result<(), leasehold::BackendError> {
/// let running = sandbox.exec(Command::new("make").arg("test")).await?;
/// let view = sandbox.view();
/// tokio::select! {
///     () = turn(running) => {}
///     why = view.lost() => println!("the turn ends here: {why}"),
/// }
/// sandbox.release().await;
/// # Ok(()) }
/// ```
#[must_use = "dropping it lets go of the sandbox"]
pub struct Sandbox {
    view: SandboxRef,
    holder: u64,
}

/// A look at a sandbox that is in use here, without holding it: it may be parked, reaped or lost meanwhile, and says so.
#[derive(Clone)]
pub struct SandboxRef {
    shared: Arc<Shared>,
    provider: Weak<Inner>,
}

impl Sandbox {
    pub(super) fn new(provider: &Arc<Inner>, shared: Arc<Shared>, holder: u64) -> Self {
        Self { view: SandboxRef::new(provider, shared), holder }
    }

    /// Lets go, and says what that came to. Dropping does the same.
    ///
    /// # Cancel safety
    /// It has let go when the future is first polled or dropped, whichever comes first.
    #[expect(
        clippy::unused_async,
        reason = "letting go may come to need the store one day; callers are ready for it"
    )]
    pub async fn release(self) -> Parked {
        self.let_go()
    }

    /// Lets go and stops the sandbox, if nobody else here uses it.
    ///
    /// # Errors
    /// [`DestroyError`] says why it was not stopped; it is parked then.
    ///
    /// # Cancel safety
    /// A stop that has begun goes on to its end when the future is dropped.
    pub async fn destroy(self) -> Result<(), DestroyError> {
        let (id, provider) = (self.view.id().clone(), self.view.provider.upgrade());
        self.let_go();
        match provider {
            Some(provider) => provider.destroy(&id).await,
            None => Err(DestroyError::Refused(super::registry::Refusal::NotTracked)),
        }
    }

    /// Another look at it, without holding it.
    #[must_use]
    pub fn view(&self) -> SandboxRef {
        self.view.clone()
    }

    fn let_go(&self) -> Parked {
        let Some(provider) = self.view.provider.upgrade() else { return Parked::Nothing };
        provider.let_go(&self.view.shared, self.holder)
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        // Twice is harmless, after a release for instance.
        self.let_go();
    }
}

impl std::ops::Deref for Sandbox {
    type Target = SandboxRef;

    fn deref(&self) -> &SandboxRef {
        &self.view
    }
}

impl fmt::Debug for Sandbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sandbox")
            .field("id", self.id())
            .field("instance", self.instance())
            .finish_non_exhaustive()
    }
}

impl SandboxRef {
    pub(super) fn new(provider: &Arc<Inner>, shared: Arc<Shared>) -> Self {
        Self { shared, provider: Arc::downgrade(provider) }
    }

    /// Its id, the same on every gateway.
    #[must_use]
    pub fn id(&self) -> &SandboxId {
        &self.shared.info.id
    }

    /// Which instance it is.
    #[must_use]
    pub fn instance(&self) -> &InstanceId {
        &self.shared.info.instance
    }

    /// All that the backend said of it when it was handed out: endpoint, identity, creator, time of creation.
    #[must_use]
    pub fn info(&self) -> &SandboxInfo {
        &self.shared.info
    }

    /// Whether it is no longer to be used, and why.
    #[must_use]
    pub fn is_lost(&self) -> Option<LostReason> {
        self.shared.is_lost()
    }

    /// Waits until it is no longer to be used. A gateway stops what it does with it then; the instance itself may well
    /// run on, under another gateway.
    ///
    /// # Cancel safety
    /// Nothing is lost when the future is dropped.
    pub async fn lost(&self) -> LostReason {
        let mut lost = self.shared.lost();
        loop {
            if let Some(reason) = *lost.borrow_and_update() {
                return reason;
            }
            if lost.changed().await.is_err() {
                return LostReason::Forgotten;
            }
        }
    }

    /// Says that it is being used, for whoever talks to its endpoint directly: the idle clock starts anew.
    pub fn touch(&self) {
        if let Some(provider) = self.provider.upgrade() {
            self.shared.stamp(provider.env.now());
        }
    }

    /// Starts a command in it. For as long as the [`Execution`] is kept and has not told its end the sandbox is not reaped
    /// as idle; dropping it kills the command.
    ///
    /// ```no_run
    /// use leasehold::{Command, Exit, Output, Sandbox};
    /// use std::time::Duration;
    ///
    /// # async fn example(sandbox: Sandbox) -> Result<Exit, leasehold::BackendError> {
    /// let command = Command::new("python3").arg("-c").arg("print(6 * 7)").timeout(Duration::from_secs(10));
    /// let mut running = sandbox.exec(command).await?;
    /// loop {
    ///     match running.next().await? {
    ///         Output::Stdout(text) => print!("{}", String::from_utf8_lossy(&text)),
    ///         Output::Stderr(text) => eprint!("{}", String::from_utf8_lossy(&text)),
    ///         Output::Exited(exit) => return Ok(exit),
    ///     }
    /// }
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`BackendErrorKind::Missing`] when the sandbox was lost, is being stopped, is gone or is not held here any more:
    /// acquire it again. Else the backend's, within its [deadline](super::ProviderConfig::backend_deadline).
    ///
    /// # Cancel safety
    /// A command whose start was given up is killed by the backend.
    pub async fn exec(&self, command: Command) -> Result<Box<dyn Execution>, BackendError> {
        let refuse = |why: String| {
            BackendError::new(BackendErrorKind::Missing, format!("{why}; acquire the sandbox again"))
                .during(BackendOperation::Exec)
                .of(self.id())
                .on(self.instance())
        };
        let provider = self.provider.upgrade().ok_or_else(|| refuse("the provider is gone".to_owned()))?;
        let pin = Pin::new(&provider, &self.shared).map_err(|why| {
            refuse(match why {
                Unpinnable::Lost(reason) => format!("it was lost: {reason}"),
                Unpinnable::Stopping => "it is being stopped".to_owned(),
                Unpinnable::NotHeld => "nobody here holds it".to_owned(),
            })
        })?;
        let (inner, shared) = (Arc::clone(&provider), Arc::clone(&self.shared));
        let started = async move {
            let (info, limit) = (&shared.info, inner.config.backend_deadline);
            let call = inner.backend.exec(&info.instance, command);
            inner.within(limit, BackendOperation::Exec, &info.id, call).await
        };
        let running = provider.run(started).await.unwrap_or_else(|| {
            let text = "the backend panicked while a command was started";
            Err(BackendError::new(BackendErrorKind::Panicked, text)
                .during(BackendOperation::Exec)
                .of(self.id()))
        })?;
        Ok(Box::new(Pinned { running, pin: Some(pin) }))
    }
}

impl fmt::Debug for SandboxRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SandboxRef")
            .field("id", self.id())
            .field("instance", self.instance())
            .finish_non_exhaustive()
    }
}

/// Running work, until dropped.
struct Pin {
    provider: Arc<Inner>,
    shared: Arc<Shared>,
}

impl Pin {
    fn new(provider: &Arc<Inner>, shared: &Arc<Shared>) -> Result<Self, Unpinnable> {
        provider.registry.pin(&shared.info.id, shared, provider.env.now())?;
        Ok(Self { provider: Arc::clone(provider), shared: Arc::clone(shared) })
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        self.provider.registry.unpin(&self.shared, self.provider.env.now());
    }
}

/// A command that pins its sandbox for as long as it is looked after.
struct Pinned {
    // Dropped in this order: the work ends before the pin does.
    running: Box<dyn Execution>,
    pin: Option<Pin>,
}

#[async_trait]
impl Execution for Pinned {
    async fn next(&mut self) -> Result<Output, BackendError> {
        let said = self.running.next().await;
        if let Some(pin) = &self.pin
            && !pin.provider.guards.lack(Planted::IdleFromEnd)
        {
            pin.shared.stamp(pin.provider.env.now());
        }
        if matches!(said, Ok(Output::Exited(_))) {
            self.pin = None;
        }
        said
    }

    async fn kill(&mut self) -> Result<(), BackendError> {
        self.running.kill().await
    }
}
