use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use leasehold::{
    BackendError, BackendErrorKind, BackendListing, Command, Condemned, Condition, Destroyed, EngineId,
    Execution, InstanceId, Namespace, SandboxBackend, SandboxId, SandboxInfo, SandboxSpec, Seen,
};
use parking_lot::Mutex;

/// An engine that makes nothing and remembers everything.
pub(super) struct Engine {
    namespace: Namespace,
    next: AtomicU64,
    by_instance: Mutex<HashMap<InstanceId, SandboxInfo>>,
    by_id: Mutex<HashMap<SandboxId, SandboxInfo>>,
}

impl Engine {
    pub(super) fn new() -> Self {
        let namespace = "town".parse().expect("a valid namespace");
        Self { namespace, next: 0.into(), by_instance: Mutex::default(), by_id: Mutex::default() }
    }

    pub(super) fn forget(&self) {
        *self.by_instance.lock() = HashMap::new();
        *self.by_id.lock() = HashMap::new();
    }

    fn missing() -> BackendError {
        BackendError::new(BackendErrorKind::Missing, "no such instance")
    }
}

#[async_trait]
impl SandboxBackend for Engine {
    fn kind(&self) -> &'static str {
        "town"
    }

    fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    async fn engine_id(&self) -> Result<EngineId, BackendError> {
        Ok(EngineId::new("town"))
    }

    async fn create(&self, spec: &SandboxSpec) -> Result<SandboxInfo, BackendError> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let info = SandboxInfo {
            id: spec.id.clone(),
            instance: InstanceId::new(format!("instance-{number}")),
            identity: spec.identity.clone(),
            creator: spec.creator.clone(),
            endpoint: None,
            created: None,
            condemned: false,
            condition: Condition::Running,
        };
        self.by_instance.lock().insert(info.instance.clone(), info.clone());
        self.by_id.lock().insert(info.id.clone(), info.clone());
        Ok(info)
    }

    async fn wait_ready(
        &self,
        instance: &InstanceId,
        _patience: Duration,
    ) -> Result<SandboxInfo, BackendError> {
        self.by_instance.lock().get(instance).cloned().ok_or_else(Self::missing)
    }

    async fn inspect(&self, instance: &InstanceId) -> Result<Seen, BackendError> {
        Ok(self.by_instance.lock().get(instance).cloned().map_or(Seen::Gone, Seen::Present))
    }

    async fn discover(&self, id: &SandboxId) -> Result<Option<SandboxInfo>, BackendError> {
        Ok(self.by_id.lock().get(id).cloned())
    }

    async fn list(&self) -> Result<BackendListing, BackendError> {
        Ok(BackendListing {
            found: self.by_instance.lock().values().cloned().collect(),
            unreadable: Vec::new(),
        })
    }

    async fn condemn(&self, instance: &InstanceId) -> Result<Condemned, BackendError> {
        let Some(info) = self.by_instance.lock().get(instance).cloned() else { return Ok(Condemned::Gone) };
        self.by_id.lock().remove(&info.id);
        Ok(Condemned::Condemned)
    }

    async fn destroy(&self, instance: &InstanceId) -> Result<Destroyed, BackendError> {
        Ok(match self.by_instance.lock().remove(instance) {
            Some(_) => Destroyed::Destroyed,
            None => Destroyed::AlreadyGone,
        })
    }

    async fn exec(
        &self,
        _instance: &InstanceId,
        _command: Command,
    ) -> Result<Box<dyn Execution>, BackendError> {
        Err(BackendError::new(BackendErrorKind::Unsupported, "nothing runs in this engine"))
    }
}
