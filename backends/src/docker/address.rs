use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr;

/// Where an engine listens.
///
/// Written as in `DOCKER_HOST`: `unix:///var/run/docker.sock` (also Podman's compatible socket), `tcp://host:2375`. What is
/// needed for TLS has no place in such a text and is given with [`tls`](Self::tls).
///
/// ```
/// use leasehold_backends::docker::EngineAddress;
///
/// let engine: EngineAddress = "unix:///run/user/1000/podman/podman.sock".parse()?;
/// assert!(!engine.is_remote());
/// let engine: EngineAddress = "tcp://10.0.0.7:2376".parse()?;
/// assert!(engine.is_remote());
/// assert!("docker.example:2375".parse::<EngineAddress>().is_err());
/// # Ok::<(), leasehold_backends::docker::InvalidDockerAddress>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineAddress(pub(super) Place);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Unix(PathBuf),
    Tcp { host: String, port: u16, tls: Option<Tls> },
}

/// What proves two sides to each other: files in PEM form, read once when the backend is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tls {
    /// The certificates of those who may vouch for the engine; nobody else is trusted.
    pub authority: PathBuf,
    /// One's own certificate and key, where the engine asks for them.
    pub identity: Option<(PathBuf, PathBuf)>,
}

/// A text that is no engine's address: what is wrong with it, and how one is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidDockerAddress(String);

impl EngineAddress {
    /// The engine behind a socket of this host.
    pub fn unix(path: impl Into<PathBuf>) -> Self {
        Self(Place::Unix(path.into()))
    }

    /// The engine of `DOCKER_HOST`, or of this host where that is not set.
    ///
    /// # Errors
    /// [`InvalidDockerAddress`] when the variable has no address.
    pub fn from_env() -> Result<Self, InvalidDockerAddress> {
        match std::env::var("DOCKER_HOST") {
            Ok(text) if !text.is_empty() => text.parse(),
            Ok(_) | Err(std::env::VarError::NotPresent) => Ok(Self::default()),
            Err(e) => Err(InvalidDockerAddress(format!("DOCKER_HOST: {e}"))),
        }
    }

    /// The same engine, spoken to over TLS. Means nothing for a socket of this host.
    #[must_use]
    pub fn tls(mut self, with: Tls) -> Self {
        if let Place::Tcp { tls, .. } = &mut self.0 {
            *tls = Some(with);
        }
        self
    }

    /// Whether the engine is on another host, as far as its address tells: a host name other than `localhost` counts as
    /// another host.
    #[must_use]
    pub fn is_remote(&self) -> bool {
        match &self.0 {
            Place::Unix(_) => false,
            Place::Tcp { host, .. } => {
                host != "localhost" && !host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
            }
        }
    }
}

impl Default for EngineAddress {
    fn default() -> Self {
        Self::unix("/var/run/docker.sock")
    }
}

impl FromStr for EngineAddress {
    type Err = InvalidDockerAddress;

    fn from_str(text: &str) -> Result<Self, InvalidDockerAddress> {
        // Nothing of it is repeated: somebody may have put a password there.
        let refuse = |why: &str| {
            let how = "write unix:///path/to/socket or tcp://host:port";
            Err(InvalidDockerAddress(format!("not an engine's address: {why}; {how}")))
        };
        if let Some(path) = text.strip_prefix("unix://") {
            let path = PathBuf::from(path);
            return if path.is_absolute() {
                Ok(Self::unix(path))
            } else {
                refuse("its path is not absolute")
            };
        }
        let Some(rest) = text.strip_prefix("tcp://") else { return refuse("it starts with neither scheme") };
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        if rest.contains(['/', '@', '?', '#']) {
            return refuse("it has more than a host and a port");
        }
        let Some((host, port)) = rest.rsplit_once(':') else { return refuse("it has no port") };
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
        if !(bare.parse::<IpAddr>().is_ok() || !bare.is_empty() && bare.chars().all(plain)) {
            return refuse("its host is none");
        }
        match port.parse() {
            Ok(port) if port != 0 => Ok(Self(Place::Tcp { host: bare.to_owned(), port, tls: None })),
            _ => refuse("its port is none"),
        }
    }
}

impl fmt::Display for EngineAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Place::Unix(path) => write!(f, "unix://{}", path.display()),
            Place::Tcp { host, port, .. } if host.contains(':') => write!(f, "tcp://[{host}]:{port}"),
            Place::Tcp { host, port, .. } => write!(f, "tcp://{host}:{port}"),
        }
    }
}

impl fmt::Display for InvalidDockerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for InvalidDockerAddress {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_reads_as_it_is_written() {
        for text in
            ["unix:///var/run/docker.sock", "tcp://10.0.0.7:2375", "tcp://[::1]:2375", "tcp://engine:1"]
        {
            assert_eq!(text.parse::<EngineAddress>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_is_no_address_is_refused_and_not_repeated() {
        for text in
            ["", "engine:2375", "tcp://engine", "tcp://engine:0", "unix://x", "tcp://me:hunter2@engine:1"]
        {
            let refused = text.parse::<EngineAddress>().unwrap_err().to_string();
            assert!(refused.contains("unix:///path") && !refused.contains("hunter2"), "{refused}");
        }
    }

    #[test]
    fn only_this_host_is_not_remote() {
        let remote = |text: &str| text.parse::<EngineAddress>().unwrap().is_remote();
        assert!(!remote("tcp://127.0.0.1:1") && !remote("tcp://[::1]:1") && !remote("tcp://localhost:1"));
        assert!(remote("tcp://10.0.0.7:1") && remote("tcp://engine:1"));
    }
}
