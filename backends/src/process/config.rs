use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::path::{Component, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use leasehold::Namespace;

use crate::environment::check_environment;

/// What the sandboxes of a [`ProcessBackend`](super::ProcessBackend) have in common.
///
/// ```
/// use leasehold_backends::process::{ProcessConfig, ReadyCheck};
/// use std::time::Duration;
///
/// let config = ProcessConfig::new("/run/gateway/sandboxes", "agents-prod".parse()?, ["sleep", "infinity"])
///     .ready(ReadyCheck::Started)
///     .stop_patience(Duration::from_secs(3));
/// assert!(config.validate().is_ok());
/// # Ok::<(), leasehold::InvalidId>(())
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct ProcessConfig {
    /// The directory that all gateways of this host share, as an absolute path on a local file system. It should live no
    /// longer than the host's (or the container's) processes do: `/run` rather than a volume.
    pub root: PathBuf,
    /// Whose sandboxes these are.
    pub namespace: Namespace,
    /// The program that a sandbox runs, and its arguments. It must stay in the foreground: a sandbox ends with it.
    pub command: Vec<String>,
    /// When a sandbox can be used.
    pub ready: ReadyCheck,
    /// Variables that every sandbox has, besides those of its spec.
    pub environment: BTreeMap<String, String>,
    /// Names of the gateway's own variables that its sandboxes see too; all others are kept from them. `PATH`, `LANG`,
    /// `LC_ALL` and `TZ` unless said otherwise.
    pub inherited: Vec<String>,
    /// How long a sandbox has to end by itself after it was asked to (TERM), before it is killed; 5 s unless said
    /// otherwise.
    pub stop_patience: Duration,
    /// How long the kernel has to end what was killed, before the stop fails; 5 s unless said otherwise.
    pub kill_patience: Duration,
    /// Within what time the operating system has to answer each step; 10 s unless said otherwise.
    pub deadline: Duration,
    /// How long a call waits for another process that is changing the same sandbox, before it gives up having changed
    /// nothing; 5 s unless said otherwise.
    pub lock_patience: Duration,
    /// The same for a call that only looks, which then says that the sandbox is being started; 250 ms unless said otherwise.
    pub look_patience: Duration,
    /// How many calls run at once, each on a thread of its own; 4 unless said otherwise. Waiting for a sandbox to become
    /// ready or to end holds no thread.
    pub workers: usize,
    /// How many commands may run at once, in all sandboxes, each with a thread; 256 unless said otherwise.
    pub max_commands: usize,
    /// How much output of a command is kept until somebody reads it, in bytes; 256 KiB unless said otherwise.
    pub output_buffer: usize,
    /// Called after each step of what can be interrupted, with the step's name: for tests that stop a gateway half-way.
    #[doc(hidden)]
    pub after_step: Option<AfterStep>,
}

/// What is called after a step, with its name.
type AfterStep = Arc<dyn Fn(&str) + Send + Sync>;

/// When a sandbox can be used.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum ReadyCheck {
    /// As soon as its process runs.
    #[default]
    Started,
    /// As soon as there is a file of this name in its work directory.
    File(PathBuf),
    /// As soon as it listens on the TCP port of 127.0.0.1 that it is told in the variable `PORT`. The port is one that was
    /// free when the sandbox was made; another process that listens there is never mistaken for the sandbox.
    Port,
}

/// A setting of a [`ProcessConfig`] that can't be right: which one, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidProcessConfig(String);

impl ProcessConfig {
    /// Sandboxes of `namespace` under `root`, each running `command`.
    pub fn new(
        root: impl Into<PathBuf>,
        namespace: Namespace,
        command: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        Self {
            root: root.into(),
            namespace,
            command: command.into_iter().map(Into::into).collect(),
            ready: ReadyCheck::default(),
            environment: BTreeMap::new(),
            inherited: ["PATH", "LANG", "LC_ALL", "TZ"].map(str::to_owned).to_vec(),
            stop_patience: Duration::from_secs(5),
            kill_patience: Duration::from_secs(5),
            deadline: Duration::from_secs(10),
            lock_patience: Duration::from_secs(5),
            look_patience: Duration::from_millis(250),
            workers: 4,
            max_commands: 256,
            output_buffer: 256 << 10,
            after_step: None,
        }
    }

    /// With another check of when a sandbox can be used.
    #[must_use]
    pub fn ready(mut self, ready: ReadyCheck) -> Self {
        self.ready = ready;
        self
    }

    /// With a variable that every sandbox has.
    #[must_use]
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.environment.insert(name.into(), value.into());
        self
    }

    /// With another time to end by itself.
    #[must_use]
    pub fn stop_patience(mut self, patience: Duration) -> Self {
        self.stop_patience = patience;
        self
    }

    /// With another time within which the operating system has to answer.
    #[must_use]
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// Checks all settings.
    ///
    /// # Errors
    /// [`InvalidProcessConfig`] names the first one that can't be right.
    pub fn validate(&self) -> Result<(), InvalidProcessConfig> {
        let refuse = |why: String| Err(InvalidProcessConfig(why));
        if !self.root.is_absolute() {
            return refuse(format!(
                "root {:?} must be absolute, so that every gateway means the same",
                self.root
            ));
        }
        if self.command.first().is_none_or(String::is_empty) {
            return refuse("command is empty; say which program a sandbox runs".to_owned());
        }
        if self.command.iter().any(|word| word.contains('\0')) {
            return refuse("command has a NUL byte".to_owned());
        }
        if let ReadyCheck::File(path) = &self.ready
            && !path.components().all(|part| matches!(part, Component::Normal(_)))
        {
            return refuse(format!("ready file {} must lie within the work directory", path.display()));
        }
        check_environment(&self.environment).map_err(InvalidProcessConfig)?;
        for (name, value) in [("deadline", self.deadline), ("kill_patience", self.kill_patience)] {
            if value.is_zero() {
                return refuse(format!("{name} is zero; give it some time"));
            }
        }
        for (name, value) in [
            ("workers", self.workers),
            ("max_commands", self.max_commands),
            ("output_buffer", self.output_buffer),
        ] {
            if value == 0 {
                return refuse(format!("{name} is zero; at least 1 is needed"));
            }
        }
        if self.workers > 256 {
            return refuse(format!("workers is {}; more than 256 threads help nobody", self.workers));
        }
        Ok(())
    }
}

impl fmt::Debug for ProcessConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProcessConfig")
            .field("root", &self.root)
            .field("namespace", &self.namespace)
            .field("command", &self.command)
            .field("ready", &self.ready)
            .field("environment", &self.environment.keys().collect::<Vec<_>>())
            .field("inherited", &self.inherited)
            .field("stop_patience", &self.stop_patience)
            .field("kill_patience", &self.kill_patience)
            .field("deadline", &self.deadline)
            .field("lock_patience", &self.lock_patience)
            .field("look_patience", &self.look_patience)
            .field("workers", &self.workers)
            .field("max_commands", &self.max_commands)
            .field("output_buffer", &self.output_buffer)
            .finish_non_exhaustive()
    }
}

impl fmt::Display for InvalidProcessConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process backend: {}", self.0)
    }
}

impl Error for InvalidProcessConfig {}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> ProcessConfig {
        ProcessConfig::new("/run/x", Namespace::new("x").unwrap(), ["sleep", "infinity"])
    }

    fn refusal(change: impl FnOnce(&mut ProcessConfig)) -> String {
        let mut config = config();
        change(&mut config);
        config.validate().unwrap_err().to_string()
    }

    #[test]
    fn a_setting_that_cannot_be_right_is_named() {
        assert_eq!(config().validate(), Ok(()));
        assert!(refusal(|c| c.root = "x".into()).contains("root"));
        assert!(refusal(|c| c.command.clear()).contains("command"));
        assert!(refusal(|c| c.ready = ReadyCheck::File("../x".into())).contains("ready file"));
        assert!(refusal(|c| c.ready = ReadyCheck::File("/x".into())).contains("ready file"));
        assert!(refusal(|c| c.workers = 0).contains("workers"));
        assert!(refusal(|c| c.deadline = Duration::ZERO).contains("deadline"));
        assert!(refusal(|c| c.output_buffer = 0).contains("output_buffer"));
        assert!(refusal(|c| drop(c.environment.insert("A=B".into(), String::new()))).contains("A=B"));
    }

    #[test]
    fn values_of_the_environment_are_not_shown() {
        let shown = format!("{:?}", config().env("TOKEN", "hunter2"));
        assert!(shown.contains("TOKEN") && !shown.contains("hunter2"), "{shown}");
        let refused = config().env("TOKEN", "hunter2\0").validate().unwrap_err().to_string();
        assert!(refused.contains("TOKEN") && !refused.contains("hunter2"), "{refused}");
    }
}
