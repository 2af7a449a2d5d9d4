use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use leasehold::{
    BackendError, BackendListing, Command, Condemned, Destroyed, EngineId, Execution, InstanceId,
    SandboxBackend, SandboxId, SandboxInfo, SandboxSpec, Seen,
};

use crate::case::Stop;

/// A handle of the backend under test, each call of which is bounded: one that does not end in time stops the case.
///
/// The outer result is the case's, the inner one the backend's: `handle.list().await??` wants an answer.
#[derive(Clone)]
pub struct Handle {
    backend: Arc<dyn SandboxBackend>,
    patience: Duration,
}

/// What a bounded call comes to.
type Answer<T> = Result<Result<T, BackendError>, Stop>;

impl Handle {
    pub(super) fn new(backend: Arc<dyn SandboxBackend>, patience: Duration) -> Self {
        Self { backend, patience }
    }

    /// The backend itself, for calls that are dropped half-way.
    #[must_use]
    pub fn backend(&self) -> &dyn SandboxBackend {
        &*self.backend
    }

    /// The call `what`, within the time that it has.
    ///
    /// # Errors
    /// The case fails when it takes longer.
    pub async fn within<T>(&self, what: &str, call: impl Future<Output = T>) -> Result<T, Stop> {
        let patience = self.patience;
        tokio::time::timeout(patience, call).await.map_err(|_| Stop::Failed {
            expected: format!("an end of {what} within {patience:?}"),
            seen: "it hung".to_owned(),
        })
    }

    /// See [`SandboxBackend::engine_id`].
    ///
    /// # Errors
    /// The case fails when it hangs.
    pub async fn engine_id(&self) -> Answer<EngineId> {
        self.within("engine_id", self.backend.engine_id()).await
    }

    /// See [`SandboxBackend::create`].
    ///
    /// # Errors
    /// The case fails when it hangs.
    pub async fn create(&self, spec: &SandboxSpec) -> Answer<SandboxInfo> {
        self.within("create", self.backend.create(spec)).await
    }

    /// See [`SandboxBackend::wait_ready`]; waits for as long as any call may take.
    ///
    /// # Errors
    /// The case fails when it hangs.
    pub async fn wait_ready(&self, instance: &InstanceId) -> Answer<SandboxInfo> {
        self.within("wait_ready", self.backend.wait_ready(instance, self.patience / 2)).await
    }

    /// See [`SandboxBackend::inspect`].
    ///
    /// # Errors
    /// The case fails when it hangs.
    pub async fn inspect(&self, instance: &InstanceId) -> Answer<Seen> {
        self.within("inspect", self.backend.inspect(instance)).await
    }

    /// See [`SandboxBackend::discover`].
    ///
    /// # Errors
    /// The case fails when it hangs.
    pub async fn discover(&self, id: &SandboxId) -> Answer<Option<SandboxInfo>> {
        self.within("discover", self.backend.discover(id)).await
    }

    /// See [`SandboxBackend::list`].
    ///
    /// # Errors
    /// The case fails when it hangs.
    pub async fn list(&self) -> Answer<BackendListing> {
        self.within("list", self.backend.list()).await
    }

    /// See [`SandboxBackend::condemn`].
    ///
    /// # Errors
    /// The case fails when it hangs.
    pub async fn condemn(&self, instance: &InstanceId) -> Answer<Condemned> {
        self.within("condemn", self.backend.condemn(instance)).await
    }

    /// See [`SandboxBackend::destroy`].
    ///
    /// # Errors
    /// The case fails when it hangs.
    pub async fn destroy(&self, instance: &InstanceId) -> Answer<Destroyed> {
        self.within("destroy", self.backend.destroy(instance)).await
    }

    /// See [`SandboxBackend::exec`].
    ///
    /// # Errors
    /// The case fails when it hangs.
    pub async fn exec(&self, instance: &InstanceId, command: Command) -> Answer<Box<dyn Execution>> {
        self.within("exec", self.backend.exec(instance, command)).await
    }
}
