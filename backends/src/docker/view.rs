//! A container as the engine describes it, made a sandbox.

use std::collections::HashMap;

use bollard::models::{
    ContainerInspectResponse, ContainerStateStatusEnum as Status, ContainerSummary,
    ContainerSummaryStateEnum as SummaryState, EndpointSettings,
};
use leasehold::{BackendError, BackendErrorKind, Condition, InstanceId, SandboxId, SandboxInfo, Unreadable};

use super::config::DockerConfig;
use super::endpoint::{self, Binding};
use super::error::unclear;
use super::labels::{self, Whose};
use super::name;

/// What is needed of a container, however the engine was asked for it.
#[derive(Debug)]
pub(super) struct Container {
    pub(super) instance: InstanceId,
    names: Vec<String>,
    labels: HashMap<String, String>,
    condition: Condition,
    /// In seconds since 1970.
    created: Option<i64>,
    bindings: Vec<Binding>,
    networks: HashMap<String, EndpointSettings>,
}

/// What a container is to this namespace.
#[derive(Debug)]
pub(super) enum Known {
    /// A sandbox of this namespace.
    Sandbox(Box<SandboxInfo>),
    /// A sandbox of this namespace that can't be understood.
    Unreadable(Unreadable),
    /// Somebody else's; the text says whose.
    Others(String),
}

impl Container {
    pub(super) fn inspected(
        answer: ContainerInspectResponse,
        config: &DockerConfig,
    ) -> Result<Self, BackendError> {
        let state = answer.state.as_ref().and_then(|state| state.status).ok_or_else(|| unclear("state"))?;
        let settings = answer.network_settings.unwrap_or_default();
        let ports = settings.ports.unwrap_or_default();
        Ok(Self {
            instance: InstanceId::new(answer.id.ok_or_else(|| unclear("id"))?),
            names: vec![answer.name.ok_or_else(|| unclear("name"))?],
            labels: answer.config.and_then(|config| config.labels).unwrap_or_default(),
            condition: condition(state),
            created: answer.created.map(|at| at.unix_timestamp()),
            bindings: config.port.map_or_else(Vec::new, |port| endpoint::bindings(&ports, port)),
            networks: settings.networks.unwrap_or_default(),
        })
    }

    pub(super) fn listed(row: ContainerSummary, config: &DockerConfig) -> Result<Self, BackendError> {
        let state = row.state.ok_or_else(|| unclear("state"))?;
        let ports = row.ports.unwrap_or_default();
        let bindings =
            ports.iter().filter(|port| Some(port.private_port) == config.port).filter_map(|port| {
                let address = endpoint::address(port.ip.as_deref())?;
                Some(Binding { address, port: port.public_port? })
            });
        Ok(Self {
            instance: InstanceId::new(row.id.ok_or_else(|| unclear("id"))?),
            names: row.names.ok_or_else(|| unclear("name"))?,
            labels: row.labels.unwrap_or_default(),
            condition: listed_condition(state),
            created: row.created,
            bindings: bindings.collect(),
            networks: row.network_settings.and_then(|settings| settings.networks).unwrap_or_default(),
        })
    }

    /// What it is to the namespace of `config`.
    pub(super) fn known(self, config: &DockerConfig) -> Known {
        let marks = match labels::whose(&self.labels, &config.namespace) {
            Whose::Ours(marks) => marks,
            Whose::Others(whose) => return Known::Others(whose),
            Whose::Unreadable(why) => return self.unreadable(&why),
        };
        let condemned = match self.is_condemned(&marks.id, config) {
            Ok(condemned) => condemned,
            Err(why) => return self.unreadable(&why),
        };
        let endpoint = match self.condition {
            Condition::Running => endpoint::found(config, &self.bindings, &self.networks),
            _ => None,
        };
        let micros = self.created.and_then(|seconds| u64::try_from(seconds).ok()?.checked_mul(1_000_000));
        Known::Sandbox(Box::new(SandboxInfo {
            id: marks.id,
            instance: self.instance,
            identity: marks.identity,
            creator: marks.creator,
            endpoint,
            created: micros,
            condemned,
            condition: self.condition,
        }))
    }

    /// Whether it has given up its name; an error when it has one that nobody gave it.
    fn is_condemned(&self, id: &SandboxId, config: &DockerConfig) -> Result<bool, String> {
        let (own, given_up) =
            (name::of(&config.namespace, id), name::condemned(&config.namespace, id, &self.instance));
        let has =
            |wanted: &str| self.names.iter().any(|name| name.strip_prefix('/').unwrap_or(name) == wanted);
        match (has(&own), has(&given_up)) {
            (true, _) => Ok(false),
            (false, true) => Ok(true),
            (false, false) => {
                Err(format!("somebody renamed it to {}; name it {own} again", self.names.join(", ")))
            }
        }
    }

    fn unreadable(self, why: &str) -> Known {
        let why = format!("{why}; look at it with `docker inspect`, and remove it if nobody needs it");
        Known::Unreadable(Unreadable { instance: self.instance, why })
    }
}

impl Known {
    /// The sandbox, for a caller that asked for this very instance.
    pub(super) fn sandbox(self) -> Result<SandboxInfo, BackendError> {
        match self {
            Self::Sandbox(info) => Ok(*info),
            Self::Unreadable(it) => Err(BackendError::new(BackendErrorKind::Corrupt, it.why)),
            Self::Others(whose) => {
                Err(BackendError::new(BackendErrorKind::Foreign, format!("it is {whose}; it is left alone")))
            }
        }
    }
}

/// What a state of the engine's means. Paused, restarting and created ones may run (again); one that has exited is never
/// started again by us, and one that is being removed or failed to be can't be used by anybody.
fn condition(status: Status) -> Condition {
    match status {
        Status::RUNNING => Condition::Running,
        Status::EXITED | Status::REMOVING | Status::DEAD => Condition::Ended(status.to_string()),
        Status::EMPTY => Condition::Stopped("in no state".to_owned()),
        Status::CREATED | Status::PAUSED | Status::RESTARTING | Status::STOPPING => {
            Condition::Stopped(status.to_string())
        }
    }
}

fn listed_condition(state: SummaryState) -> Condition {
    condition(match state {
        SummaryState::EMPTY => Status::EMPTY,
        SummaryState::CREATED => Status::CREATED,
        SummaryState::RUNNING => Status::RUNNING,
        SummaryState::PAUSED => Status::PAUSED,
        SummaryState::RESTARTING => Status::RESTARTING,
        SummaryState::REMOVING => Status::REMOVING,
        SummaryState::EXITED => Status::EXITED,
        SummaryState::DEAD => Status::DEAD,
        SummaryState::STOPPING => Status::STOPPING,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use leasehold::{Identity, OwnerId, SandboxSpec};

    fn config() -> DockerConfig {
        DockerConfig::new("x".parse().unwrap(), "image")
    }

    fn row(name: &str, state: SummaryState) -> ContainerSummary {
        let spec = SandboxSpec {
            id: "a".parse().unwrap(),
            identity: Identity { namespace: "x".parse().unwrap(), session: None, policy: None },
            creator: OwnerId::new("gw").unwrap(),
            mounts: Vec::new(),
            environment: Default::default(),
        };
        ContainerSummary {
            id: Some("0f".repeat(32)),
            names: Some(vec![name.to_owned()]),
            labels: Some(labels::of(&spec)),
            state: Some(state),
            created: Some(7),
            ..ContainerSummary::default()
        }
    }

    fn known(row: ContainerSummary) -> Known {
        Container::listed(row, &config()).unwrap().known(&config())
    }

    #[test]
    fn only_a_running_one_that_has_its_name_is_usable() {
        let usable = |name, state| match known(row(name, state)) {
            Known::Sandbox(info) => info.is_usable(),
            other => panic!("{other:?}"),
        };
        assert!(usable("/leasehold.x.a", SummaryState::RUNNING));
        assert!(!usable("/leasehold-condemned.x.a.0f0f0f0f0f0f0f0f", SummaryState::RUNNING));
        for state in [
            SummaryState::PAUSED,
            SummaryState::RESTARTING,
            SummaryState::REMOVING,
            SummaryState::CREATED,
            SummaryState::DEAD,
            SummaryState::EXITED,
            SummaryState::EMPTY,
        ] {
            assert!(!usable("/leasehold.x.a", state), "{state}");
        }
    }

    #[test]
    fn a_name_that_nobody_gave_it_is_unreadable() {
        let Known::Unreadable(it) = known(row("/mine", SummaryState::RUNNING)) else { panic!() };
        assert!(it.why.contains("/mine") && it.why.contains("leasehold.x.a"), "{}", it.why);
    }

    #[test]
    fn a_container_without_our_labels_is_somebody_elses() {
        let mut other = row("/leasehold.x.a", SummaryState::RUNNING);
        other.labels = None;
        assert!(matches!(known(other), Known::Others(_)));
    }

    #[test]
    fn a_row_that_says_too_little_is_an_error() {
        for cut in [
            |row: &mut ContainerSummary| row.state = None,
            |row: &mut ContainerSummary| row.names = None,
            |row: &mut ContainerSummary| row.id = None,
        ] {
            let mut row = row("/leasehold.x.a", SummaryState::RUNNING);
            cut(&mut row);
            assert_eq!(Container::listed(row, &config()).unwrap_err().kind(), BackendErrorKind::Unavailable);
        }
    }
}
