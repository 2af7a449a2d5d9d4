//! The Docker backend, proved by the kit for backends.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bollard::Docker;
use bollard::query_parameters::KillContainerOptionsBuilder;
use leasehold::{
    BackendError, BackendOperation, InstanceId, Namespace, SandboxBackend, SandboxId, SandboxSpec,
};
use leasehold_backends::docker::{DockerBackend, DockerConfig, EngineAddress, ReadyCheck};
use leasehold_conformance::Unready;
use leasehold_conformance::backend::{Abilities, BackendHarness, LAST_WORDS, Site, own_namespace};
use tokio::sync::Mutex;

use crate::support::{IMAGE, Yard, engine, is_of, sweep};
use crate::way::{Passage, Way};

leasehold_conformance::backend_suite!(Containers);

/// What a sandbox of these tests does: by its variable `KIT` it ends at once, never becomes ready, or lasts.
const PROGRAM: &str = r#"case "$KIT" in
    ends) echo "$KIT_SAYS"; exit 3 ;;
    never) ;;
    *) : > /tmp/ready ;;
esac
exec sleep 1000"#;

#[derive(Default)]
struct Containers;

/// The engine of this host, by a way of the case's own.
struct Part {
    yard: Yard,
    place: tempfile::TempDir,
    way: Way,
    /// The containers that were planted, and for which sandbox.
    planted: Mutex<Vec<(SandboxId, String)>>,
}

impl Part {
    fn docker(&self) -> &Docker {
        &self.yard.docker
    }

    fn shared(&self) -> PathBuf {
        self.place.path().join("shared")
    }

    async fn plant(&self, id: &SandboxId, labels: &[(&str, &str)]) {
        let name = format!("leasehold.{}.{id}", self.yard.namespace);
        let planted = self.yard.foreign(&name, labels).await;
        self.planted.lock().await.push((id.clone(), planted));
    }
}

fn broken(what: impl std::fmt::Display) -> Unready {
    Unready::broken(what.to_string())
}

#[async_trait]
impl BackendHarness for Containers {
    fn name(&self) -> String {
        "docker".to_owned()
    }

    fn abilities(&self) -> Abilities {
        Abilities::new()
            .shell(&["sh", "-c"])
            .patience(Duration::from_secs(60))
            .kill()
            .pause()
            .outage()
            .lost_replies(&[BackendOperation::Create, BackendOperation::Condemn, BackendOperation::Destroy])
            .foreign()
            .unreadable()
    }

    async fn fresh(&self) -> Result<Box<dyn Site>, Unready> {
        let docker = engine().await.ok_or_else(|| Unready::not_run("there is no container engine"))?;
        let (yard, place) = (Yard { docker, namespace: own_namespace() }, tempfile::tempdir()?);
        std::fs::create_dir(place.path().join("shared"))?;
        let way = Way::new(place.path(), Passage::Open)?;
        Ok(Box::new(Part { yard, place, way, planted: Mutex::default() }))
    }
}

#[async_trait]
impl Site for Part {
    fn namespace(&self) -> Namespace {
        self.yard.namespace.clone()
    }

    fn open(&self, namespace: &Namespace) -> Result<Arc<dyn SandboxBackend>, BackendError> {
        let mut config = DockerConfig::new(namespace.clone(), IMAGE);
        config.engine = EngineAddress::unix(self.way.path());
        config.command = ["sh", "-c", PROGRAM].map(str::to_owned).to_vec();
        config.environment.insert("KIT_SAYS".to_owned(), LAST_WORDS.to_owned());
        config.ready = ReadyCheck::Exec { command: ["test", "-e", "/tmp/ready"].map(str::to_owned).to_vec() };
        config.mount_roots = vec![self.place.path().to_owned()];
        config.stop_patience = Duration::from_secs(2);
        Ok(Arc::new(DockerBackend::new(config)?))
    }

    fn unready(&self, mut spec: SandboxSpec) -> Option<SandboxSpec> {
        spec.environment.insert("KIT".to_owned(), "never".to_owned());
        Some(spec)
    }

    fn ending(&self, mut spec: SandboxSpec) -> Option<SandboxSpec> {
        spec.environment.insert("KIT".to_owned(), "ends".to_owned());
        Some(spec)
    }

    fn shared_directory(&self) -> Option<PathBuf> {
        Some(self.shared())
    }

    async fn kill(&self, instance: &InstanceId) -> Result<(), Unready> {
        let options = KillContainerOptionsBuilder::new().signal("KILL").build();
        self.docker().kill_container(instance.as_str(), Some(options)).await.map_err(broken)
    }

    async fn pause(&self, instance: &InstanceId) -> Result<(), Unready> {
        self.docker().pause_container(instance.as_str()).await.map_err(broken)
    }

    async fn cut(&self) -> Result<(), Unready> {
        self.way.set(Passage::Cut);
        Ok(())
    }

    async fn mend(&self) -> Result<(), Unready> {
        self.way.set(Passage::Open);
        Ok(())
    }

    async fn lose_reply(&self, operation: BackendOperation) -> Result<(), Unready> {
        self.way.set(Passage::KeepsAnswer(match operation {
            BackendOperation::Create => &["POST ", "/start"],
            BackendOperation::Condemn => &["POST ", "/rename"],
            BackendOperation::Destroy => &["DELETE "],
            other => return Err(broken(format!("no answer of {other} can be lost"))),
        }));
        Ok(())
    }

    async fn plant_foreign(&self, id: &SandboxId) -> Result<(), Unready> {
        self.plant(id, &[("leasehold.namespace", "somebody-else")]).await;
        Ok(())
    }

    async fn foreign_is_there(&self, id: &SandboxId) -> Result<bool, Unready> {
        let planted = self.planted.lock().await;
        let (_, container) =
            planted.iter().find(|(of, _)| of == id).ok_or_else(|| broken("none was planted"))?;
        let seen = self.docker().inspect_container(container, None).await.map_err(broken)?;
        let name = format!("/leasehold.{}.{id}", self.yard.namespace);
        Ok(seen.name == Some(name) && seen.state.and_then(|state| state.running) == Some(true))
    }

    async fn plant_unreadable(&self, id: &SandboxId) -> Result<(), Unready> {
        let namespace = self.yard.namespace.as_str();
        self.plant(id, &[("leasehold.namespace", namespace), ("leasehold.format", "9")]).await;
        Ok(())
    }

    async fn clear(&self) -> Result<(), Unready> {
        for (_, container) in self.planted.lock().await.drain(..) {
            self.yard.remove(&container).await;
        }
        Ok(())
    }
}

impl Drop for Part {
    /// What a failed case left is removed, whatever it was.
    fn drop(&mut self) {
        let (docker, namespace) = (self.yard.docker.clone(), self.yard.namespace.clone());
        let sweeps = std::thread::Builder::new().name("sweep".to_owned()).spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async { sweep(&docker, namespace.as_str()).await })
        });
        let left = sweeps.map(std::thread::JoinHandle::join);
        debug_assert!(std::thread::panicking() || matches!(left, Ok(Ok(_))), "{left:?}");
    }
}

#[test]
fn only_what_is_of_a_test_is_swept() {
    assert!(is_of("leasehold.kit-1.a", "kit-1") && is_of("leasehold.kit-1-y.a", "kit-1"));
    assert!(!is_of("leasehold.kit-11.a", "kit-1") && !is_of("kit-1", "kit-1"));
}
