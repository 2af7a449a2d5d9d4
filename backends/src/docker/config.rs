use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::net::IpAddr;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use leasehold::{EngineId, Namespace};

use super::address::EngineAddress;
use crate::environment::check_environment;

/// What the sandboxes of a [`DockerBackend`](super::DockerBackend) have in common.
///
/// ```
/// use leasehold_backends::docker::{DockerConfig, ReadyCheck};
///
/// let mut config = DockerConfig::new("agents-prod".parse()?, "registry.example/sandbox:7");
/// config.port = Some(8080);
/// config.ready = ReadyCheck::Http { path: "/healthz".to_owned() };
/// config.mount_roots = vec!["/srv/leasehold".into()];
/// assert!(config.validate().is_ok());
/// # Ok::<(), leasehold::InvalidId>(())
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct DockerConfig {
    /// Where the engine listens; `/var/run/docker.sock` of this host unless said otherwise.
    pub engine: EngineAddress,
    /// Which engine it is, instead of what it says of itself. Needed for one whose own id can't be used: Podman makes up
    /// another at every question, and machines cloned from one image share theirs. All gateways of one engine say the same.
    pub engine_id: Option<EngineId>,
    /// Whose sandboxes these are.
    pub namespace: Namespace,
    /// The image that a sandbox runs, by tag or, better, by digest.
    pub image: String,
    /// What is done when the engine has no such image.
    pub pull: Pull,
    /// The command, instead of the image's own; empty for the image's. It must stay in the foreground.
    pub command: Vec<String>,
    /// The entry point, instead of the image's own.
    pub entrypoint: Option<Vec<String>>,
    /// The user that it runs as (`uid`, `uid:gid` or names of the image), instead of the image's own.
    pub user: Option<String>,
    /// Where it starts, instead of the image's own.
    pub directory: Option<PathBuf>,
    /// Variables that every sandbox has, besides those of its spec. Whoever may talk to the engine can read them; logs of
    /// leasehold never have them.
    pub environment: BTreeMap<String, String>,
    /// The TCP port on which a sandbox listens, where it does.
    pub port: Option<u16>,
    /// Where that port can be reached; on 127.0.0.1 of the engine's host unless said otherwise.
    pub publish: Publish,
    /// What a gateway writes to reach a published port, where that is not the address it is published on: for gateways
    /// that run in containers themselves, or on another host.
    pub endpoint_host: Option<String>,
    /// The network that a sandbox joins, instead of the engine's default; `none` for no network at all.
    pub network: Option<String>,
    /// When a sandbox can be used.
    pub ready: ReadyCheck,
    /// Capabilities that are given back, such as `NET_BIND_SERVICE`; all are dropped unless said otherwise.
    pub capabilities: Vec<String>,
    /// How much a sandbox may use.
    pub limits: Limits,
    /// Whether its root file system can't be written; it can unless said otherwise.
    pub read_only_root: bool,
    /// Directories with a file system in memory, with their sizes in bytes; needed by most images with a read-only root.
    pub scratch: BTreeMap<PathBuf, u64>,
    /// The directories of the engine's host below which a mount's source may be. None unless said otherwise, so that no
    /// mount is possible before somebody thought about it.
    pub mount_roots: Vec<PathBuf>,
    /// Whether a tiny first process passes signals on and collects what its children leave; it does unless said
    /// otherwise. The engine brings it (`docker-init`).
    pub init: bool,
    /// The shell within the image by which commands are started; `/bin/sh` unless said otherwise. It is how a command's
    /// number becomes known, without which nothing could kill it: with `None`, commands can't be killed and run on past
    /// their time.
    pub shell: Option<String>,
    /// How long a sandbox has to end by itself after it was asked to, before it is killed, in whole seconds; 5 s unless
    /// said otherwise.
    pub stop_patience: Duration,
    /// Within what time the engine has to answer each question; 20 s unless said otherwise. A stop has its patience on
    /// top.
    pub deadline: Duration,
    /// How long a pull may take altogether; 10 min unless said otherwise.
    pub pull_deadline: Duration,
    /// How many questions may be on their way to the engine at once; 32 unless said otherwise.
    pub max_calls: usize,
    /// How many commands may run at once, in all sandboxes; 256 unless said otherwise.
    pub max_commands: usize,
    /// How much output of a command is kept until somebody reads it, in bytes; 256 KiB unless said otherwise.
    pub output_buffer: usize,
}

/// What is done when the engine doesn't have the image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Pull {
    /// The create fails and says so.
    #[default]
    Never,
    /// It is pulled, once, whoever asks for it; its progress is told to `tracing`.
    IfMissing,
}

/// Where a sandbox's port can be reached.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Publish {
    /// On 127.0.0.1 of the engine's host, under a number that the engine chooses. Refused for an engine on another host.
    #[default]
    Loopback,
    /// On this address of the engine's host, under a number that the engine chooses. Everyone who reaches that address
    /// reaches the sandbox.
    Address(IpAddr),
    /// Nowhere on the host: at the sandbox's own address in this network of the engine, which it joins.
    Network(String),
}

/// When a sandbox can be used.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum ReadyCheck {
    /// As soon as it runs.
    #[default]
    Running,
    /// As soon as its endpoint takes connections.
    Tcp,
    /// As soon as its endpoint answers a GET of this path with a status of 200 to 399. No proxy of the environment is
    /// ever asked.
    Http {
        /// The path, starting with a slash.
        path: String,
    },
    /// As soon as this command, run in it, ends with 0.
    Exec {
        /// The program and its arguments.
        command: Vec<String>,
    },
}

/// How much a sandbox may use.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Memory in bytes, without any swap on top; 1 GiB unless said otherwise.
    pub memory: u64,
    /// Processors, in thousandths of one; 1000 (one) unless said otherwise.
    pub milli_cpus: u32,
    /// Processes and threads; 512 unless said otherwise.
    pub pids: u32,
    /// What it writes to its standard output and error, in bytes kept by the engine; 10 MiB unless said otherwise.
    pub log: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { memory: 1 << 30, milli_cpus: 1000, pids: 512, log: 10 << 20 }
    }
}

/// A setting of a [`DockerConfig`] that can't be right: which one, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidDockerConfig(String);

impl DockerConfig {
    /// Sandboxes of `namespace`, each a container of `image` on this host's engine.
    pub fn new(namespace: Namespace, image: impl Into<String>) -> Self {
        Self {
            engine: EngineAddress::default(),
            engine_id: None,
            namespace,
            image: image.into(),
            pull: Pull::default(),
            command: Vec::new(),
            entrypoint: None,
            user: None,
            directory: None,
            environment: BTreeMap::new(),
            port: None,
            publish: Publish::default(),
            endpoint_host: None,
            network: None,
            ready: ReadyCheck::default(),
            capabilities: Vec::new(),
            limits: Limits::default(),
            read_only_root: false,
            scratch: BTreeMap::new(),
            mount_roots: Vec::new(),
            init: true,
            shell: Some("/bin/sh".to_owned()),
            stop_patience: Duration::from_secs(5),
            deadline: Duration::from_secs(20),
            pull_deadline: Duration::from_secs(600),
            max_calls: 32,
            max_commands: 256,
            output_buffer: 256 << 10,
        }
    }

    /// Checks all settings.
    ///
    /// # Errors
    /// [`InvalidDockerConfig`] names the first one that can't be right.
    pub fn validate(&self) -> Result<(), InvalidDockerConfig> {
        self.check().map_err(InvalidDockerConfig)
    }

    fn check(&self) -> Result<(), String> {
        if self.image.is_empty() || self.image.contains(|c: char| c.is_whitespace() || c.is_control()) {
            return Err(format!("image {:?} can't be the name of one", self.image));
        }
        if self.engine_id.as_ref().is_some_and(|id| id.as_str().is_empty()) {
            return Err("engine_id is empty; leave it out, or name the engine".to_owned());
        }
        self.check_reach()?;
        self.check_ready()?;
        check_environment(&self.environment)?;
        self.check_limits()?;
        for root in &self.mount_roots {
            if !is_plain(root) || root == Path::new("/") {
                return Err(format!(
                    "mount root {} must be an absolute path without `.` and `..`, and not the whole host",
                    root.display()
                ));
            }
        }
        if let Some(path) = self.scratch.keys().find(|path| !is_plain(path)) {
            return Err(format!("scratch directory {} must be an absolute path", path.display()));
        }
        Ok(())
    }

    /// Whether what is published can be reached.
    fn check_reach(&self) -> Result<(), String> {
        if self.port == Some(0) {
            return Err("port is 0; say on which one a sandbox listens".to_owned());
        }
        if self.endpoint_host.as_ref().is_some_and(|host| {
            host.is_empty() || host.contains(|c: char| c.is_whitespace() || c.is_control() || c == '/')
        }) {
            return Err(format!("endpoint_host {:?} is no host", self.endpoint_host));
        }
        match &self.publish {
            Publish::Loopback if self.port.is_some() && self.engine.is_remote() => Err(format!(
                "the engine {} is on another host, and its 127.0.0.1 can't be reached from here: set `publish` to an \
                 address of that host",
                self.engine
            )),
            Publish::Address(ip) if ip.is_unspecified() && self.endpoint_host.is_none() => Err(format!(
                "publish = {ip} means every address of the engine's host: set `endpoint_host` to the one that gateways use"
            )),
            Publish::Network(name) if name.is_empty() => Err("publish names no network".to_owned()),
            Publish::Network(_) if self.endpoint_host.is_some() => Err(
                "endpoint_host means nothing with publish = network: a sandbox is reached at its own address there"
                    .to_owned(),
            ),
            Publish::Network(name) if self.network.as_ref().is_some_and(|other| other != name) => {
                Err(format!("network and publish = network({name}) name two networks; name one"))
            }
            _ if self.network.as_deref() == Some("host") => {
                Err("network = host would put sandboxes onto the host's own network; name another".to_owned())
            }
            _ if self.network.as_ref().is_some_and(|name| name.starts_with("container:")) => {
                Err("network = container:… would put sandboxes into another container's network".to_owned())
            }
            _ => Ok(()),
        }
    }

    fn check_ready(&self) -> Result<(), String> {
        let needs_port = matches!(self.ready, ReadyCheck::Tcp | ReadyCheck::Http { .. });
        if needs_port && self.port.is_none() {
            return Err("ready asks an endpoint, and `port` is not set".to_owned());
        }
        match &self.ready {
            ReadyCheck::Http { path }
                if !path.starts_with('/') || path.contains(|c: char| c.is_whitespace() || c.is_control()) =>
            {
                Err(format!("ready path {path:?} must start with a slash and have no blanks"))
            }
            ReadyCheck::Exec { command } if command.first().is_none_or(String::is_empty) => {
                Err("ready command is empty".to_owned())
            }
            _ => Ok(()),
        }
    }

    fn check_limits(&self) -> Result<(), String> {
        let Limits { memory, milli_cpus, pids, log } = self.limits;
        // The engine refuses less than 6 MiB.
        if memory < 6 << 20 || i64::try_from(memory).is_err() {
            return Err(format!("limits.memory is {memory} bytes; at least 6 MiB are needed"));
        }
        if milli_cpus == 0 || pids == 0 || log == 0 {
            return Err("a limit is zero; it would leave a sandbox nothing to run with".to_owned());
        }
        for (name, value) in [
            ("max_calls", self.max_calls),
            ("max_commands", self.max_commands),
            ("output_buffer", self.output_buffer),
        ] {
            if value == 0 {
                return Err(format!("{name} is zero; at least 1 is needed"));
            }
        }
        for (name, value) in [("deadline", self.deadline), ("pull_deadline", self.pull_deadline)] {
            if value.is_zero() {
                return Err(format!("{name} is zero; give it some time"));
            }
        }
        if self.stop_patience > Duration::from_secs(3600) {
            return Err(format!("stop_patience is {:?}; more than an hour helps nobody", self.stop_patience));
        }
        Ok(())
    }
}

/// Whether a path says by itself where it leads.
pub(super) fn is_plain(path: &Path) -> bool {
    path.is_absolute()
        && path.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)))
        && path.to_str().is_some_and(|text| !text.contains("/./") && !text.contains('\0'))
}

impl fmt::Debug for DockerConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DockerConfig")
            .field("engine", &self.engine)
            .field("engine_id", &self.engine_id)
            .field("namespace", &self.namespace)
            .field("image", &self.image)
            .field("pull", &self.pull)
            .field("command", &self.command)
            .field("environment", &self.environment.keys().collect::<Vec<_>>())
            .field("port", &self.port)
            .field("publish", &self.publish)
            .field("endpoint_host", &self.endpoint_host)
            .field("network", &self.network)
            .field("ready", &self.ready)
            .field("capabilities", &self.capabilities)
            .field("limits", &self.limits)
            .field("read_only_root", &self.read_only_root)
            .field("mount_roots", &self.mount_roots)
            .finish_non_exhaustive()
    }
}

impl fmt::Display for InvalidDockerConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "docker backend: {}", self.0)
    }
}

impl Error for InvalidDockerConfig {}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> DockerConfig {
        DockerConfig::new(Namespace::new("x").unwrap(), "image")
    }

    fn refusal(change: impl FnOnce(&mut DockerConfig)) -> String {
        let mut config = config();
        change(&mut config);
        config.validate().unwrap_err().to_string()
    }

    #[test]
    fn a_setting_that_cannot_be_right_is_named() {
        assert_eq!(config().validate(), Ok(()));
        assert!(refusal(|c| c.image = "a b".into()).contains("image"));
        assert!(refusal(|c| c.port = Some(0)).contains("port"));
        assert!(refusal(|c| c.ready = ReadyCheck::Tcp).contains("`port`"));
        assert!(refusal(|c| c.publish = Publish::Address([0, 0, 0, 0].into())).contains("endpoint_host"));
        assert!(refusal(|c| c.publish = Publish::Network(String::new())).contains("network"));
        assert!(refusal(|c| c.network = Some("host".into())).contains("host's own network"));
        assert!(refusal(|c| c.network = Some("container:x".into())).contains("container"));
        assert!(refusal(|c| c.mount_roots = vec!["/".into()]).contains("mount root"));
        assert!(refusal(|c| c.mount_roots = vec!["/srv/../etc".into()]).contains("mount root"));
        assert!(refusal(|c| c.limits.memory = 1).contains("limits.memory"));
        assert!(refusal(|c| c.limits.pids = 0).contains("limit"));
        assert!(refusal(|c| c.max_calls = 0).contains("max_calls"));
        assert!(refusal(|c| c.deadline = Duration::ZERO).contains("deadline"));
        let path = "healthz".to_owned();
        let ready = ReadyCheck::Http { path };
        assert!(refusal(|c| (c.port, c.ready) = (Some(80), ready)).contains("healthz"));
    }

    #[test]
    fn a_remote_engine_is_refused_what_could_not_be_reached() {
        let remote: EngineAddress = "tcp://10.0.0.7:2375".parse().unwrap();
        let refused = refusal(|c| (c.port, c.engine) = (Some(80), remote.clone()));
        assert!(refused.contains("10.0.0.7") && refused.contains("publish"), "{refused}");
        let mut fine = config();
        (fine.port, fine.engine) = (Some(80), remote);
        fine.publish = Publish::Address([10, 0, 0, 7].into());
        assert_eq!(fine.validate(), Ok(()));
    }

    #[test]
    fn values_of_the_environment_are_not_shown() {
        let mut config = config();
        config.environment.insert("TOKEN".into(), "hunter2".into());
        let shown = format!("{config:?}");
        assert!(shown.contains("TOKEN") && !shown.contains("hunter2"), "{shown}");
        config.environment.insert("TOKEN".into(), "hunter2\0".into());
        let refused = config.validate().unwrap_err().to_string();
        assert!(refused.contains("TOKEN") && !refused.contains("hunter2"), "{refused}");
    }
}
