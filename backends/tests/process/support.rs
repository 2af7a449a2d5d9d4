//! A root directory of one's own, and what is left of it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use leasehold::{
    BackendErrorKind, Command, Condition, Deadline, Execution, Exit, Identity, InstanceId, Namespace, Output,
    OwnerId, SandboxBackend, SandboxId, SandboxInfo, SandboxSpec, Seen, SessionKey,
};
use leasehold_backends::process::{ProcessBackend, ProcessConfig};
use serde_json::Value;

/// Longer than anything here takes; a wait that ends at it has failed.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A root directory that goes away with all processes that were started under it.
pub(crate) struct Root {
    place: tempfile::TempDir,
}

impl Root {
    pub(crate) fn new() -> Self {
        Self { place: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.place.path().join("sandboxes")
    }

    pub(crate) fn config(&self) -> ProcessConfig {
        config(&self.path(), "x")
    }

    pub(crate) fn backend(&self) -> ProcessBackend {
        ProcessBackend::new(self.config()).unwrap()
    }

    /// A backend whose sandboxes run this shell script.
    pub(crate) fn running(&self, script: &str) -> ProcessBackend {
        let mut config = self.config();
        config.command = ["sh", "-c", script].map(str::to_owned).to_vec();
        ProcessBackend::new(config).unwrap()
    }

    /// Every file and directory of a namespace, relative to it.
    pub(crate) fn contents(&self, namespace: &str) -> Vec<String> {
        let home = self.path().join(namespace);
        let mut found = Vec::new();
        walk(&home, &mut |path| found.push(path.strip_prefix(&home).unwrap().display().to_string()));
        found.sort();
        found
    }

    /// The record file of the instance, wherever it stands.
    pub(crate) fn record_of(&self, instance: &InstanceId) -> PathBuf {
        let parts: Vec<&str> = instance.as_str().split('/').collect();
        let directory = self.path().join(parts[0]).join(parts[1]);
        let condemned = directory.join(format!("condemned.{}", parts[2]));
        if condemned.exists() { condemned } else { directory.join("record") }
    }

    /// What an instance is made of.
    pub(crate) fn of(&self, instance: &InstanceId) -> PathBuf {
        self.path().join(instance.as_str())
    }

    pub(crate) fn read_record(&self, instance: &InstanceId) -> Value {
        let text = fs::read_to_string(self.record_of(instance)).unwrap();
        serde_json::from_str(text.split_once('\n').unwrap().1).unwrap()
    }

    /// Changes the record as nobody but a test would, with a checksum that is right.
    pub(crate) fn change_record(&self, instance: &InstanceId, change: impl FnOnce(&mut Value)) {
        let mut value = self.read_record(instance);
        change(&mut value);
        let body = value.to_string();
        let text = format!("leasehold-process 1 {:08x}\n{body}\n", crc32fast::hash(body.as_bytes()));
        fs::write(self.record_of(instance), text).unwrap();
    }

    /// The first process of an instance, by its record.
    pub(crate) fn pid_of(&self, instance: &InstanceId) -> i32 {
        i32::try_from(self.read_record(instance)["process"]["pid"].as_i64().unwrap()).unwrap()
    }

    /// The processes that run in sandboxes under this root, by what they were started with or where they are.
    pub(crate) fn processes(&self) -> Vec<i32> {
        let root = self.path();
        let needle = format!("HOME={}/", root.display()).into_bytes();
        let all = fs::read_dir("/proc").unwrap().flatten();
        let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        pids.filter(|pid| {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|entry| entry.starts_with(&needle))
                || fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd.starts_with(&root))
        })
        .collect()
    }
}

impl Drop for Root {
    fn drop(&mut self) {
        // One that was about to start another when it was killed shows at the next look.
        let patience = Deadline::after(PATIENCE);
        loop {
            let left = self.processes();
            if left.is_empty() || patience.passed() {
                return;
            }
            left.into_iter().for_each(kill);
        }
    }
}

pub(crate) fn config(root: &Path, namespace: &str) -> ProcessConfig {
    ProcessConfig::new(root, Namespace::new(namespace).unwrap(), ["sleep", "1000"])
        .stop_patience(Duration::from_secs(10))
}

pub(crate) fn id(text: &str) -> SandboxId {
    SandboxId::new(text).unwrap()
}

pub(crate) fn spec(text: &str) -> SandboxSpec {
    spec_of("x", text)
}

pub(crate) fn spec_of(namespace: &str, text: &str) -> SandboxSpec {
    SandboxSpec {
        id: id(text),
        identity: Identity {
            namespace: Namespace::new(namespace).unwrap(),
            session: Some(SessionKey::new("ada", "thread/7").unwrap()),
            policy: Some("p1".into()),
        },
        creator: OwnerId::new("gw:1").unwrap(),
        mounts: Vec::new(),
        environment: std::collections::BTreeMap::new(),
    }
}

/// The name is another instance's: what a creation was refused for.
pub(crate) async fn is_taken(backend: &ProcessBackend, id: &str) -> bool {
    match backend.create(&spec(id)).await {
        Ok(made) => panic!("{made:?} was made"),
        Err(error) => {
            assert_eq!(error.kind(), BackendErrorKind::Conflict, "{error}");
            true
        }
    }
}

pub(crate) async fn present(backend: &ProcessBackend, instance: &InstanceId) -> SandboxInfo {
    match backend.inspect(instance).await.unwrap() {
        Seen::Present(info) => info,
        Seen::Gone => panic!("{instance} is gone"),
    }
}

pub(crate) async fn is_gone(backend: &ProcessBackend, instance: &InstanceId) -> bool {
    backend.inspect(instance).await.unwrap() == Seen::Gone
}

pub(crate) fn has_ended(info: &SandboxInfo) -> bool {
    matches!(info.condition, Condition::Ended(_))
}

pub(crate) fn kill(pid: i32) {
    let _ = rustix::process::kill_process(
        rustix::process::Pid::from_raw(pid).unwrap(),
        rustix::process::Signal::KILL,
    );
}

/// The letter of a process' state; `None` when there is no such process.
pub(crate) fn state(pid: i32) -> Option<char> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    text.rsplit_once(") ")?.1.chars().next()
}

pub(crate) fn runs(pid: i32) -> bool {
    state(pid).is_some_and(|state| state != 'Z')
}

/// Waits until `done` says yes.
pub(crate) async fn until(what: &str, mut done: impl FnMut() -> bool) {
    let deadline = Deadline::after(PATIENCE);
    while !done() {
        assert!(!deadline.passed(), "waited in vain until {what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// Everything a command says, and how it ended.
pub(crate) async fn finish(mut running: Box<dyn Execution>) -> (String, String, Exit) {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    loop {
        match running.next().await.unwrap() {
            Output::Stdout(bytes) => out.extend(bytes),
            Output::Stderr(bytes) => err.extend(bytes),
            Output::Exited(exit) => {
                assert_eq!(running.next().await.unwrap(), Output::Exited(exit), "the end is told again");
                return (String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap(), exit);
            }
        }
    }
}

/// Runs a shell script in a sandbox to its end.
pub(crate) async fn sh(
    backend: &ProcessBackend,
    instance: &InstanceId,
    script: &str,
) -> (String, String, Exit) {
    let command = Command::new("sh").arg("-c").arg(script).timeout(PATIENCE);
    finish(backend.exec(instance, command).await.unwrap()).await
}

pub(crate) fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
}

pub(crate) fn walk(directory: &Path, each: &mut dyn FnMut(&Path)) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        each(&entry.path());
        if entry.file_type().unwrap().is_dir() {
            walk(&entry.path(), each);
        }
    }
}

/// Says that a test is not run and why, unless `LEASEHOLD_REQUIRE` names what it needs.
pub(crate) fn not_run(needs: &str, why: &str) {
    let required = std::env::var("LEASEHOLD_REQUIRE").unwrap_or_default();
    assert!(!required.split(',').any(|name| name.trim() == needs), "not run: {why}");
    eprintln!("not run: {why}");
}
