use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use leasehold::{
    BackendError, BackendOperation, Condition, InstanceId, Namespace, SandboxBackend, SandboxId, SandboxSpec,
};

use super::super::{Abilities, BackendHarness, Site, own_namespace};
use super::engine::CONDUCT;
use super::{ModelBackend, ModelEngine};
use crate::Unready;

/// All that the model can do, which is all there is.
pub(in crate::backend) const ABILITIES: Abilities = Abilities::new()
    .shell(&["sh", "-c"])
    .kill()
    .pause()
    .outage()
    .foreign()
    .unreadable()
    .lost_replies(&[BackendOperation::Create, BackendOperation::Condemn, BackendOperation::Destroy])
    .patience(Duration::from_secs(10));

/// Proves the [`ModelBackend`].
#[derive(Clone, Debug, Default)]
pub struct ModelHarness;

/// A [`ModelEngine`] of a case's own, with every hook there is.
#[derive(Debug)]
pub struct ModelSite {
    pub(in crate::backend) engine: ModelEngine,
    namespace: Namespace,
    shared: PathBuf,
}

impl ModelSite {
    /// A new engine.
    ///
    /// # Errors
    /// When there is no room for a directory to mount.
    pub fn new() -> Result<Self, Unready> {
        let namespace = own_namespace();
        let shared = std::env::temp_dir().join(format!("leasehold-{namespace}"));
        std::fs::create_dir(&shared)?;
        Ok(Self { engine: ModelEngine::default(), namespace, shared })
    }

    fn set(&self, instance: &InstanceId, condition: Condition) -> Result<(), Unready> {
        let mut state = self.engine.lock();
        let found = state.instances.get_mut(instance);
        let found = found.ok_or_else(|| Unready::broken(format!("there is no instance {instance}")))?;
        found.info.condition = condition;
        Ok(())
    }
}

impl Drop for ModelSite {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.shared);
    }
}

#[async_trait]
impl BackendHarness for ModelHarness {
    fn name(&self) -> String {
        "model".to_owned()
    }

    fn abilities(&self) -> Abilities {
        ABILITIES
    }

    async fn fresh(&self) -> Result<Box<dyn Site>, Unready> {
        Ok(Box::new(ModelSite::new()?))
    }
}

#[async_trait]
impl Site for ModelSite {
    fn namespace(&self) -> Namespace {
        self.namespace.clone()
    }

    fn open(&self, namespace: &Namespace) -> Result<Arc<dyn SandboxBackend>, BackendError> {
        Ok(Arc::new(ModelBackend::new(self.engine.clone(), namespace.clone())))
    }

    fn unready(&self, mut spec: SandboxSpec) -> Option<SandboxSpec> {
        spec.environment.insert(CONDUCT.to_owned(), "never".to_owned());
        Some(spec)
    }

    fn ending(&self, mut spec: SandboxSpec) -> Option<SandboxSpec> {
        spec.environment.insert(CONDUCT.to_owned(), "ends".to_owned());
        Some(spec)
    }

    fn shared_directory(&self) -> Option<PathBuf> {
        Some(self.shared.clone())
    }

    async fn kill(&self, instance: &InstanceId) -> Result<(), Unready> {
        self.set(instance, Condition::Ended("exited".to_owned()))
    }

    async fn pause(&self, instance: &InstanceId) -> Result<(), Unready> {
        self.set(instance, Condition::Stopped("paused".to_owned()))
    }

    async fn cut(&self) -> Result<(), Unready> {
        self.engine.lock().down = true;
        Ok(())
    }

    async fn mend(&self) -> Result<(), Unready> {
        self.engine.lock().down = false;
        Ok(())
    }

    async fn lose_reply(&self, operation: BackendOperation) -> Result<(), Unready> {
        self.engine.lock().loses = Some(operation);
        Ok(())
    }

    async fn plant_foreign(&self, id: &SandboxId) -> Result<(), Unready> {
        self.engine.lock().foreign.insert(id.clone());
        Ok(())
    }

    async fn foreign_is_there(&self, id: &SandboxId) -> Result<bool, Unready> {
        Ok(self.engine.lock().foreign.contains(id))
    }

    async fn plant_unreadable(&self, id: &SandboxId) -> Result<(), Unready> {
        self.engine.lock().unreadable.insert(id.clone());
        Ok(())
    }

    async fn clear(&self) -> Result<(), Unready> {
        let mut state = self.engine.lock();
        state.foreign.clear();
        state.unreadable.clear();
        Ok(())
    }
}
