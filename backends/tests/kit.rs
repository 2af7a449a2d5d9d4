//! The process backend, proved by the kit for backends.

#![cfg(target_os = "linux")]

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use leasehold::{BackendError, InstanceId, Namespace, SandboxBackend, SandboxId, SandboxSpec};
use leasehold_backends::process::{ProcessBackend, ProcessConfig, ReadyCheck};
use leasehold_conformance::Unready;
use leasehold_conformance::backend::{Abilities, BackendHarness, LAST_WORDS, Site, own_namespace};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

leasehold_conformance::backend_suite!(Processes);

/// What a sandbox of these tests does: by its variable `KIT` it ends at once, never becomes ready, or lasts.
const PROGRAM: &str = r#"case "$KIT" in
    ends) echo "$KIT_SAYS"; exit 3 ;;
    never) ;;
    *) : > ready ;;
esac
exec sleep 1000"#;

#[derive(Default)]
struct Processes;

/// A root directory of a case's own.
struct Root {
    place: tempfile::TempDir,
    namespace: Namespace,
    /// What was made unreadable: its first process, and what it is made of.
    damaged: Mutex<Vec<(Pid, PathBuf)>>,
}

impl Root {
    fn sandboxes(&self) -> PathBuf {
        self.place.path().join("sandboxes")
    }

    fn handle(&self, namespace: &Namespace) -> Result<ProcessBackend, BackendError> {
        let mut config = ProcessConfig::new(self.sandboxes(), namespace.clone(), ["sh", "-c", PROGRAM])
            .ready(ReadyCheck::File("ready".into()))
            .env("KIT_SAYS", LAST_WORDS)
            .stop_patience(Duration::from_secs(10));
        config.lock_patience = Duration::from_secs(20);
        ProcessBackend::new(config)
    }

    /// Where the record of the instance stands while it has its name, and its first process.
    fn record(&self, instance: &InstanceId) -> Result<(PathBuf, Pid), Unready> {
        let broken = |what: &str| Unready::broken(format!("the record of {instance} {what}"));
        let directory = instance.as_str().rsplit_once('/').ok_or_else(|| broken("has no place"))?.0;
        let file = self.sandboxes().join(directory).join("record");
        let text = fs::read_to_string(&file)?;
        let body = text.split_once('\n').ok_or_else(|| broken("has no body"))?.1;
        let value: Value = serde_json::from_str(body).map_err(|e| broken(&e.to_string()))?;
        let pid = value["process"]["pid"].as_i64().and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?));
        Ok((file, pid.ok_or_else(|| broken("names no process"))?))
    }

    fn signal(&self, instance: &InstanceId, signal: Signal) -> Result<(), Unready> {
        let (_, pid) = self.record(instance)?;
        kill_process(pid, signal).map_err(|e| Unready::broken(e.to_string()))
    }
}

#[async_trait]
impl BackendHarness for Processes {
    fn name(&self) -> String {
        "process".to_owned()
    }

    fn abilities(&self) -> Abilities {
        // There is no engine to be cut off from, no answer on its way, and nobody else's name in one's own directory.
        Abilities::new().shell(&["sh", "-c"]).kill().pause().unreadable()
    }

    async fn fresh(&self) -> Result<Box<dyn Site>, Unready> {
        let (place, namespace) = (tempfile::tempdir()?, own_namespace());
        fs::create_dir(place.path().join("shared"))?;
        Ok(Box::new(Root { place, namespace, damaged: Mutex::default() }))
    }
}

#[async_trait]
impl Site for Root {
    fn namespace(&self) -> Namespace {
        self.namespace.clone()
    }

    fn open(&self, namespace: &Namespace) -> Result<Arc<dyn SandboxBackend>, BackendError> {
        Ok(Arc::new(self.handle(namespace)?))
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
        Some(self.place.path().join("shared"))
    }

    async fn kill(&self, instance: &InstanceId) -> Result<(), Unready> {
        self.signal(instance, Signal::KILL)
    }

    async fn pause(&self, instance: &InstanceId) -> Result<(), Unready> {
        self.signal(instance, Signal::STOP)
    }

    async fn plant_unreadable(&self, id: &SandboxId) -> Result<(), Unready> {
        let broken = |e: BackendError| Unready::broken(e.to_string());
        let identity = leasehold::Identity { namespace: self.namespace.clone(), session: None, policy: None };
        let backend = self.handle(&self.namespace).map_err(broken)?;
        let made = backend.create(&self.spec(id, &identity)).await.map_err(broken)?;
        let (file, pid) = self.record(&made.instance)?;
        fs::write(&file, "no record\n")?;
        let directory = file.parent().map(PathBuf::from).unwrap_or_default();
        self.damaged.lock().unwrap_or_else(PoisonError::into_inner).push((pid, directory));
        Ok(())
    }

    async fn clear(&self) -> Result<(), Unready> {
        let damaged = std::mem::take(&mut *self.damaged.lock().unwrap_or_else(PoisonError::into_inner));
        for (pid, directory) in damaged {
            kill_process(pid, Signal::KILL).map_err(|e| Unready::broken(e.to_string()))?;
            fs::remove_dir_all(directory)?;
        }
        Ok(())
    }
}
