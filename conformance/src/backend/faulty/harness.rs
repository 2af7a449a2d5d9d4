use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use leasehold::{
    BackendError, BackendOperation, InstanceId, Namespace, SandboxBackend, SandboxId, SandboxSpec,
};

use super::super::model::ABILITIES;
use super::super::{Abilities, BackendHarness, ModelBackend, ModelSite, Site};
use super::Fault;
use super::backend::FaultyBackend;
use crate::Unready;

/// Makes sites of the model with one fault.
#[derive(Clone, Copy, Debug)]
pub struct FaultyHarness {
    fault: Fault,
}

/// A site of the model whose handles have the fault.
struct FaultySite {
    fault: Fault,
    model: ModelSite,
    /// What is being stopped.
    stopping: Arc<Mutex<BTreeSet<InstanceId>>>,
}

impl FaultyHarness {
    /// How long a call may take: some faults hang.
    const PATIENCE: Duration = Duration::from_secs(2);

    /// The model with `fault`.
    #[must_use]
    pub fn new(fault: Fault) -> Self {
        Self { fault }
    }
}

#[async_trait]
impl BackendHarness for FaultyHarness {
    fn name(&self) -> String {
        format!("{:?}", self.fault)
    }

    fn abilities(&self) -> Abilities {
        ABILITIES.patience(Self::PATIENCE)
    }

    async fn fresh(&self) -> Result<Box<dyn Site>, Unready> {
        let model = ModelSite::new()?;
        Ok(Box::new(FaultySite { fault: self.fault, model, stopping: Arc::default() }))
    }
}

#[async_trait]
impl Site for FaultySite {
    fn namespace(&self) -> Namespace {
        self.model.namespace()
    }

    fn open(&self, namespace: &Namespace) -> Result<Arc<dyn SandboxBackend>, BackendError> {
        let model = ModelBackend::new(self.model.engine.clone(), namespace.clone());
        Ok(Arc::new(FaultyBackend { fault: self.fault, model, stopping: Arc::clone(&self.stopping) }))
    }

    fn unready(&self, spec: SandboxSpec) -> Option<SandboxSpec> {
        self.model.unready(spec)
    }

    fn ending(&self, spec: SandboxSpec) -> Option<SandboxSpec> {
        self.model.ending(spec)
    }

    fn shared_directory(&self) -> Option<PathBuf> {
        self.model.shared_directory()
    }

    async fn kill(&self, instance: &InstanceId) -> Result<(), Unready> {
        self.model.kill(instance).await
    }

    async fn pause(&self, instance: &InstanceId) -> Result<(), Unready> {
        self.model.pause(instance).await
    }

    async fn cut(&self) -> Result<(), Unready> {
        self.model.cut().await
    }

    async fn mend(&self) -> Result<(), Unready> {
        self.model.mend().await
    }

    async fn lose_reply(&self, operation: BackendOperation) -> Result<(), Unready> {
        self.model.lose_reply(operation).await
    }

    async fn plant_foreign(&self, id: &SandboxId) -> Result<(), Unready> {
        self.model.plant_foreign(id).await
    }

    async fn foreign_is_there(&self, id: &SandboxId) -> Result<bool, Unready> {
        self.model.foreign_is_there(id).await
    }

    async fn plant_unreadable(&self, id: &SandboxId) -> Result<(), Unready> {
        self.model.plant_unreadable(id).await
    }

    async fn clear(&self) -> Result<(), Unready> {
        self.model.clear().await
    }
}
