//! Questions to the engine: each bounded in time, and not too many at once.

use std::time::Duration;

use bollard::Docker;
use bollard::query_parameters::{
    InspectContainerOptions, ListContainersOptionsBuilder, LogsOptionsBuilder, RemoveContainerOptionsBuilder,
};
use futures_util::StreamExt;
use leasehold::{BackendError, BackendErrorKind, EngineId, InstanceId, SandboxInfo};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use tokio::sync::{Mutex, Semaphore};

use super::config::DockerConfig;
use super::connect::connect;
use super::error::{Refusal, unclear};
use super::image::Images;
use super::labels;
use super::view::{Container, Known};
use super::{name, view};

/// As much of what a sandbox said last as an error repeats, in bytes.
const LAST_WORDS: usize = 1024;

/// The engine, and what one handle keeps of it.
#[derive(Debug)]
pub(super) struct Engine {
    pub(super) docker: Docker,
    pub(super) config: DockerConfig,
    calls: Semaphore,
    pub(super) commands: std::sync::Arc<Semaphore>,
    /// Whether client and engine have agreed upon a version.
    agreed: Mutex<bool>,
    pub(super) images: Images,
}

impl Engine {
    pub(super) fn new(config: DockerConfig) -> Result<Self, BackendError> {
        Ok(Self {
            docker: connect(&config.engine)?,
            calls: Semaphore::new(config.max_calls),
            commands: std::sync::Arc::new(Semaphore::new(config.max_commands)),
            agreed: Mutex::new(false),
            images: Images::default(),
            config,
        })
    }

    /// Asks, and waits for the answer for the configured time and `more`.
    pub(super) async fn ask<T>(
        &self,
        more: Duration,
        question: impl Future<Output = Result<T, bollard::errors::Error>>,
    ) -> Result<T, Refusal> {
        let bound = self.config.deadline.saturating_add(more);
        let asked = async {
            let _permit = self.calls.acquire().await.map_err(|_| busy())?;
            self.agree().await?;
            question.await.map_err(Refusal::from)
        };
        let answer = match tokio::time::timeout(bound, asked).await {
            Ok(answer) => answer,
            Err(_) => {
                let text = format!("the engine at {} did not answer within {bound:?}", self.config.engine);
                Err(BackendError::new(BackendErrorKind::Timeout, text).into())
            }
        };
        if answer.as_ref().is_err_and(Refusal::is_version)
            && let Ok(mut agreed) = self.agreed.try_lock()
        {
            // It is another engine than the one that was agreed with: a newer one, say.
            *agreed = false;
        }
        answer
    }

    /// Settles for the newest version that both sides speak, once.
    async fn agree(&self) -> Result<(), Refusal> {
        let mut agreed = self.agreed.lock().await;
        if !*agreed {
            // The version is shared by all clones.
            self.docker.clone().negotiate_version().await?;
            *agreed = true;
        }
        Ok(())
    }

    /// Which engine this is.
    pub(super) async fn id(&self) -> Result<EngineId, BackendError> {
        if let Some(id) = &self.config.engine_id {
            // Still asked, so that one who starts knows that it answers.
            self.ask(Duration::ZERO, self.docker.ping()).await?;
            return Ok(id.clone());
        }
        let info = self.ask(Duration::ZERO, self.docker.info()).await?;
        let version = self.ask(Duration::ZERO, self.docker.version()).await?;
        let parts = version.components.unwrap_or_default();
        if parts.iter().any(|part| part.name.to_ascii_lowercase().contains("podman")) {
            let text =
                "Podman has no id of its own: name the engine with `engine_id`, the same on every gateway";
            return Err(BackendError::new(BackendErrorKind::Invalid, text));
        }
        let id = info.id.filter(|id| !id.is_empty()).ok_or_else(|| unclear("engine id"))?;
        // Ids of swarms and of older engines have colons and no fixed length.
        let digest: String =
            Sha256::digest(id.as_bytes()).iter().take(16).map(|b| format!("{b:02x}")).collect();
        Ok(EngineId::new(format!("docker-{digest}")))
    }

    /// The container of this id, or nothing when the engine knows that there is none.
    pub(super) async fn look(&self, instance: &InstanceId) -> Result<Option<Known>, BackendError> {
        let Some(found) = self.inspect(instance.as_str()).await? else { return Ok(None) };
        if found.instance != *instance {
            return Err(unclear("container of the id that was asked for"));
        }
        Ok(Some(found.known(&self.config)))
    }

    /// The sandbox of this id, or nothing when it is gone.
    pub(super) async fn sandbox(&self, instance: &InstanceId) -> Result<Option<SandboxInfo>, BackendError> {
        name::check(instance)?;
        self.look(instance).await?.map(Known::sandbox).transpose()
    }

    /// The container of this name or id.
    pub(super) async fn inspect(&self, name: &str) -> Result<Option<Container>, BackendError> {
        let question = self.docker.inspect_container(name, None::<InspectContainerOptions>);
        match self.ask(Duration::ZERO, question).await {
            Ok(answer) => Container::inspected(answer, &self.config).map(Some),
            Err(refusal) if refusal.is_missing_container() => Ok(None),
            Err(refusal) => Err(refusal.into()),
        }
    }

    /// Every container of the namespace. The engine's filter only makes the answer shorter.
    pub(super) async fn list(&self) -> Result<leasehold::BackendListing, BackendError> {
        let label = format!("{}={}", labels::NAMESPACE, self.config.namespace);
        let filters = HashMap::from([("label", vec![label])]);
        let options = ListContainersOptionsBuilder::new().all(true).filters(&filters).build();
        let rows = self.ask(Duration::ZERO, self.docker.list_containers(Some(options))).await?;
        let mut listing = leasehold::BackendListing::default();
        for row in rows {
            let id = row.id.clone().unwrap_or_default();
            match Container::listed(row, &self.config).map(|found| found.known(&self.config)) {
                Ok(Known::Sandbox(info)) => listing.found.push(*info),
                Ok(Known::Unreadable(it)) => listing.unreadable.push(it),
                Ok(Known::Others(_)) => {}
                Err(error) => listing
                    .unreadable
                    .push(leasehold::Unreadable { instance: InstanceId::new(id), why: error.to_string() }),
            }
        }
        Ok(listing)
    }

    /// Kills what may still run of a container and removes it with the volumes that were made for it alone. Its absence is
    /// a success.
    pub(super) async fn remove(&self, instance: &InstanceId) -> Result<(), Refusal> {
        let options = RemoveContainerOptionsBuilder::new().force(true).v(true).build();
        match self.ask(Duration::ZERO, self.docker.remove_container(instance.as_str(), Some(options))).await {
            Err(refusal) if refusal.is_missing_container() => Ok(()),
            answer => answer,
        }
    }

    /// The last it said, for an error's text; nothing where that can't be had soon.
    pub(super) async fn last_words(&self, instance: &InstanceId) -> String {
        let options = LogsOptionsBuilder::new().stdout(true).stderr(true).tail("20").build();
        let mut lines = Box::pin(self.docker.logs(instance.as_str(), Some(options)));
        let mut said = Vec::new();
        let read = async {
            while let Some(Ok(line)) = lines.next().await {
                said.extend_from_slice(line.as_ref());
                let surplus = said.len().saturating_sub(LAST_WORDS);
                said.drain(..surplus);
            }
        };
        // It only makes an error clearer.
        let _ = tokio::time::timeout(Duration::from_secs(2), read).await;
        match String::from_utf8_lossy(&said).trim() {
            "" => "; it said nothing".to_owned(),
            said => format!("; the last it said: {said}"),
        }
    }
}

fn busy() -> Refusal {
    BackendError::new(BackendErrorKind::Unavailable, "the backend is closed").into()
}

/// Whether a container is one of ours that has the name of a sandbox: what a look by name brings.
pub(super) fn named(known: view::Known) -> Result<Option<SandboxInfo>, BackendError> {
    match known {
        Known::Sandbox(info) if info.condemned => Ok(None),
        Known::Sandbox(info) => Ok(Some(*info)),
        Known::Unreadable(it) => Err(BackendError::new(BackendErrorKind::Corrupt, it.why)),
        Known::Others(_) => Ok(None),
    }
}
