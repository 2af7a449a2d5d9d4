//! What starts and stops sandboxes, as a provider sees it.

mod error;
mod exec;
mod info;
mod spec;

use std::time::Duration;

use async_trait::async_trait;

pub use error::{BackendError, BackendErrorKind, BackendOperation};
pub use exec::{Command, Execution, Exit, Output};
pub use info::{
    BackendListing, Condemned, Condition, Destroyed, Endpoint, EngineId, InstanceId, SandboxInfo, Seen,
    Unreadable,
};
pub use spec::{Identity, Mount, SandboxSpec};

use crate::{Namespace, SandboxId};

/// An engine that starts, finds and stops sandboxes.
///
/// A handle belongs to one namespace and sees no sandbox of another, whatever its name. Two words are kept apart
/// everywhere: *gone* is a definite answer and a value; *cannot tell* is an error, and nobody may act on it.
///
/// Sandboxes are stopped by their instance, never by their name: by the time a stop arrives, the name may be somebody
/// else's. Before it is stopped an instance is *condemned*: it gives up its name, so that nobody finds it any more and the
/// name is free for the next.
///
/// # Errors
/// Every operation ends within a bound of the backend's own and fails with [`BackendError`], whose
/// [kind](BackendError::kind) says what to do and whether the effect may have happened. Trying again converges. An engine
/// that is busy is [`Unavailable`](BackendErrorKind::Unavailable) and one that has no room is
/// [`Full`](BackendErrorKind::Full); a provider asks either again later. What panics is taken for a lost answer.
///
/// An instance id comes back from a list, from another gateway or from an attacker, so every operation that takes one judges
/// it alike:
///
/// | the id | `inspect`, `condemn`, `destroy` | `wait_ready`, `exec` |
/// | --- | --- | --- |
/// | of an instance that is gone | `Gone`, `Gone`, `AlreadyGone` | [`Missing`](BackendErrorKind::Missing) |
/// | of one that has ended and is still there | `Present`, as before, removed | [`Exited`](BackendErrorKind::Exited), [`Missing`](BackendErrorKind::Missing) |
/// | of another namespace | [`Foreign`](BackendErrorKind::Foreign) | [`Foreign`](BackendErrorKind::Foreign) |
/// | that this backend can't have made: a path, a prefix, a name | [`Invalid`](BackendErrorKind::Invalid) | [`Invalid`](BackendErrorKind::Invalid) |
///
/// An id that says whose it is is judged before the engine is asked. Where the engine's own ids don't say, it is asked first,
/// and what is there and is another deployment's is `Foreign`, never gone.
///
/// # Cancel safety
/// A dropped future leaves nothing half done that a later call could not find: an instance whose creation was given up is
/// found by [`discover`](Self::discover) and [`list`](Self::list) and can be destroyed.
#[async_trait]
pub trait SandboxBackend: Send + Sync + 'static {
    /// The backend's kind, for logs and dashboards: `docker`, `process`.
    fn kind(&self) -> &'static str;

    /// Whose sandboxes this handle sees and makes.
    fn namespace(&self) -> &Namespace;

    /// Which engine this is: the engine's own id, or this machine's where it gives none. It enters every sandbox id, so
    /// that gateways which share an engine share sandboxes and others can't collide.
    async fn engine_id(&self) -> Result<EngineId, BackendError>;

    /// Starts a sandbox under the name of its id and returns once it exists; it need not be ready yet.
    ///
    /// # Errors
    /// [`BackendErrorKind::Conflict`] when an instance already has that name: nothing was changed.
    /// [`BackendErrorKind::Foreign`] when it is another deployment's, saying whose.
    async fn create(&self, spec: &SandboxSpec) -> Result<SandboxInfo, BackendError>;

    /// Waits until the instance can be used, for `patience` at most, and returns it with its endpoint as it is then.
    ///
    /// # Errors
    /// [`BackendErrorKind::NotReady`] when `patience` is over, [`BackendErrorKind::Exited`] at once when it ended, with
    /// the last it said, [`BackendErrorKind::Missing`] at once when it is gone.
    async fn wait_ready(
        &self,
        instance: &InstanceId,
        patience: Duration,
    ) -> Result<SandboxInfo, BackendError>;

    /// Looks at one instance. Changes nothing.
    async fn inspect(&self, instance: &InstanceId) -> Result<Seen, BackendError>;

    /// The instance that has the name of `id` now, whatever its condition. One that is condemned has no name. Changes
    /// nothing.
    async fn discover(&self, id: &SandboxId) -> Result<Option<SandboxInfo>, BackendError>;

    /// Every instance of the namespace, condemned ones too. An engine that does not answer is an error, never an empty
    /// list; one row that can't be read is one entry of [`BackendListing::unreadable`].
    async fn list(&self) -> Result<BackendListing, BackendError>;

    /// Takes the name away from the instance, for good: nobody will discover it again. Doing it twice is harmless. The
    /// instance goes on running.
    async fn condemn(&self, instance: &InstanceId) -> Result<Condemned, BackendError>;

    /// Stops the instance and removes all that it was made of. One that is gone already is a success.
    async fn destroy(&self, instance: &InstanceId) -> Result<Destroyed, BackendError>;

    /// Starts a command in the instance; its output is read from the [`Execution`].
    ///
    /// # Errors
    /// [`BackendErrorKind::Missing`] when the instance is gone, has ended or is being stopped,
    /// [`BackendErrorKind::Invalid`] for a command that can't be started as it is (no such directory, a variable's name),
    /// [`BackendErrorKind::Full`] when no more may run at once.
    async fn exec(&self, instance: &InstanceId, command: Command)
    -> Result<Box<dyn Execution>, BackendError>;
}
