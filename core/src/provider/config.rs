use std::path::PathBuf;
use std::time::Duration;

use crate::{InvalidConfig, Namespace, OwnershipConfig};

/// How a provider behaves. All gateways of a namespace use the same `ownership` and `grace`; what else differs between them
/// harms nobody.
///
/// ```
/// use leasehold::ProviderConfig;
/// use std::time::Duration;
///
/// let mut config = ProviderConfig::new("agents-prod".parse()?).with_home("/var/lib/gateway");
/// assert_eq!(config.idle_timeout, Duration::from_secs(600));
/// config.capacity = Some(100);
/// config.check(Duration::from_secs(5))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ProviderConfig {
    /// The deployment. There is no default.
    pub namespace: Namespace,
    /// How leases are renewed and how long they last.
    pub ownership: OwnershipConfig,
    /// Where the directories of users and threads and the create locks are kept; the environment variable
    /// `LEASEHOLD_HOME` when this is `None`.
    pub home: Option<PathBuf>,
    /// After how long without activity a sandbox that has holders may be reaped all the same; zero means never. 10 min.
    pub idle_timeout: Duration,
    /// How long a sandbox that nobody holds is kept warm; zero means for ever. 5 min.
    pub warm_timeout: Duration,
    /// How many sandboxes this provider has at most; `None` means as many as are asked for. 32.
    pub capacity: Option<usize>,
    /// What to do when an acquire is at the cap and nothing can be evicted in time: exceed it and say so, instead of
    /// failing. Off.
    pub exceed_capacity: bool,
    /// How long a sandbox without an owner is watched before it is adopted; `None` means one TTL and one renewal
    /// interval. Never less than that.
    pub grace: Option<Duration>,
    /// How often the reaper looks at what is due. 5 s.
    pub reap_interval: Duration,
    /// How often the reaper looks for sandboxes without an owner. 30 s.
    pub adopt_interval: Duration,
    /// How long any one call of the backend other than those below may take. 10 s.
    pub backend_deadline: Duration,
    /// How long creating a sandbox may take until it exists. 60 s.
    pub create_deadline: Duration,
    /// How long a sandbox may take to become ready. 60 s.
    pub ready_deadline: Duration,
    /// How long stopping a sandbox may take. 60 s.
    pub stop_deadline: Duration,
    /// How many stops run at once. 8.
    pub stops_at_once: usize,
    /// The name of the directory of a thread whose content is its policy view. `skills_view`.
    pub policy_view: String,
    /// Whether tidying up is off from the start; the environment variable `LEASEHOLD_REAPING=off` does the same.
    /// Acquires and renewals go on. Off.
    pub reaping_paused: bool,
}

impl ProviderConfig {
    /// The defaults, for the deployment `namespace`.
    #[must_use]
    pub fn new(namespace: Namespace) -> Self {
        Self {
            namespace,
            ownership: OwnershipConfig::default(),
            home: None,
            idle_timeout: Duration::from_secs(600),
            warm_timeout: Duration::from_secs(300),
            capacity: Some(32),
            exceed_capacity: false,
            grace: None,
            reap_interval: Duration::from_secs(5),
            adopt_interval: Duration::from_secs(30),
            backend_deadline: Duration::from_secs(10),
            create_deadline: Duration::from_secs(60),
            ready_deadline: Duration::from_secs(60),
            stop_deadline: Duration::from_secs(60),
            stops_at_once: 8,
            policy_view: "skills_view".to_owned(),
            reaping_paused: false,
        }
    }

    /// The same with these leases.
    #[must_use]
    pub fn with_ownership(mut self, ownership: OwnershipConfig) -> Self {
        self.ownership = ownership;
        self
    }

    /// The same with this home directory.
    #[must_use]
    pub fn with_home(mut self, home: impl Into<PathBuf>) -> Self {
        self.home = Some(home.into());
        self
    }

    /// One TTL and one renewal interval: how long after a tenure began nothing may be reaped under it, and the shortest
    /// grace. By then whoever used the sandbox before has been told.
    #[must_use]
    pub fn horizon(&self) -> Duration {
        self.ownership.ttl().as_duration() + self.ownership.renewal_interval()
    }

    /// How long a sandbox without an owner is watched before it is adopted.
    #[must_use]
    pub fn grace(&self) -> Duration {
        self.grace.unwrap_or_else(|| self.horizon())
    }

    /// Whether these settings can be right, with a store that answers within `store_deadline`.
    ///
    /// # Errors
    /// [`InvalidConfig`] that names the setting, its value and the way out.
    pub fn check(&self, store_deadline: Duration) -> Result<(), InvalidConfig> {
        let ttl = self.ownership.ttl().as_duration();
        let needed = self.ownership.renewal_interval() * 2 + store_deadline;
        if ttl < needed {
            return Err(InvalidConfig::new(format!(
                "the TTL {ttl:?} is shorter than two renewal intervals and the store's deadline ({needed:?}): one late \
                 renewal would lose every lease; raise ttl_multiplier or lower the store's deadline"
            )));
        }
        if let Some(grace) = self.grace
            && grace < self.horizon()
        {
            return Err(InvalidConfig::new(format!(
                "grace {grace:?} is shorter than one TTL and one renewal interval ({:?}): a sandbox whose owner is late \
                 would be adopted",
                self.horizon()
            )));
        }
        if self.capacity == Some(0) {
            return Err(InvalidConfig::new(
                "capacity 0 lets no sandbox be made; use None for no cap".to_owned(),
            ));
        }
        if self.stops_at_once == 0 {
            return Err(InvalidConfig::new("stops_at_once is zero; use 1 or more".to_owned()));
        }
        let name = std::path::Path::new(&self.policy_view);
        if name.components().count() != 1 || name.file_name() != Some(self.policy_view.as_ref()) {
            return Err(InvalidConfig::new(format!(
                "policy_view {:?} is not the name of a directory; use a plain name without slashes",
                self.policy_view
            )));
        }
        for (setting, value) in [
            ("reap_interval", self.reap_interval),
            ("adopt_interval", self.adopt_interval),
            ("backend_deadline", self.backend_deadline),
            ("create_deadline", self.create_deadline),
            ("ready_deadline", self.ready_deadline),
            ("stop_deadline", self.stop_deadline),
        ] {
            if value.is_zero() {
                return Err(InvalidConfig::new(format!("{setting} is zero; use 1 ms or more")));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> ProviderConfig {
        ProviderConfig::new("n".parse().unwrap())
    }

    fn refused(config: &ProviderConfig) -> String {
        config.check(Duration::from_secs(5)).unwrap_err().to_string()
    }

    #[test]
    fn the_ttl_has_room_for_two_intervals_and_a_slow_store() {
        let tight = OwnershipConfig::new(Duration::from_secs(30), 2.0).unwrap();
        assert!(refused(&config().with_ownership(tight)).contains("65s"));
        assert_eq!(config().with_ownership(tight).check(Duration::ZERO), Ok(()));
    }

    #[test]
    fn settings_that_cannot_be_right_are_named() {
        let with = |change: fn(&mut ProviderConfig)| {
            let mut config = config();
            change(&mut config);
            refused(&config)
        };
        assert!(with(|c| c.grace = Some(Duration::from_secs(149))).contains("149s"));
        assert!(with(|c| c.capacity = Some(0)).contains("capacity 0"));
        assert!(with(|c| c.stops_at_once = 0).contains("stops_at_once"));
        assert!(with(|c| c.policy_view = "../x".to_owned()).contains("../x"));
        assert!(with(|c| c.policy_view = "..".to_owned()).contains(".."));
        assert!(with(|c| c.stop_deadline = Duration::ZERO).contains("stop_deadline"));
    }
}
