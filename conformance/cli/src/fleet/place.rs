use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use leasehold::{Namespace, OwnershipConfig, ProviderConfig, SandboxBackend};
use leasehold_backends::process::{ProcessBackend, ProcessConfig};

/// What the gateways of a fleet share: a store, a directory of sandboxes, a home.
#[derive(Clone, Debug)]
pub struct Place {
    /// Where the leases are.
    pub store: String,
    /// Where everything else is.
    pub dir: PathBuf,
    /// How fast everything goes.
    pub timing: Timing,
}

/// How fast everything goes: much faster than in production, so that a story is told in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Between two renewals. A lease lasts eight of these, and a grace nine.
    pub renewal: Duration,
    /// How long a sandbox that nobody holds is kept warm.
    pub warm: Duration,
    /// How long a sandbox that is held may be idle; zero for ever.
    pub idle: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self { renewal: Duration::from_millis(250), warm: Duration::from_secs(2), idle: Duration::ZERO }
    }
}

impl Place {
    /// How long one call of the store may take.
    pub const STORE_DEADLINE: Duration = Duration::from_secs(1);

    /// A fleet in `dir` with its leases in `store`.
    #[must_use]
    pub fn new(dir: &Path, store: impl Into<String>) -> Self {
        Self { store: store.into(), dir: dir.to_owned(), timing: Timing::default() }
    }

    /// The same, at another pace.
    #[must_use]
    pub fn at_pace(mut self, timing: Timing) -> Self {
        self.timing = timing;
        self
    }

    /// The deployment.
    #[must_use]
    pub fn namespace() -> Namespace {
        "fleet".parse().expect("a valid namespace")
    }

    /// The provider's settings.
    ///
    /// # Panics
    /// When the timing makes no lease.
    #[must_use]
    pub fn config(&self) -> ProviderConfig {
        let ownership = OwnershipConfig::new(self.timing.renewal, 8.0).expect("a pace that makes a lease");
        let mut config =
            ProviderConfig::new(Self::namespace()).with_ownership(ownership).with_home(self.dir.join("home"));
        config.idle_timeout = self.timing.idle;
        config.warm_timeout = self.timing.warm;
        config.capacity = None;
        config.reap_interval = self.timing.renewal;
        config.adopt_interval = self.timing.renewal * 2;
        config
    }

    /// The engine: processes of this host.
    ///
    /// # Errors
    /// What kept it from being opened.
    pub fn backend(&self) -> Result<Arc<dyn SandboxBackend>, String> {
        let config = ProcessConfig::new(self.dir.join("sandboxes"), Self::namespace(), ["sleep", "infinity"])
            .stop_patience(Duration::from_millis(500));
        Ok(Arc::new(ProcessBackend::new(config).map_err(|e| e.to_string())?))
    }
}
