use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use crate::{Namespace, OwnerId, SandboxId, SessionKey};

/// Whose sandbox it is, in full. It is written on the sandbox and compared whole before the sandbox is handed out, so
/// that not even two sessions whose ids collide could meet.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Identity {
    /// The deployment.
    pub namespace: Namespace,
    /// The session; `None` for one that was asked for without.
    pub session: Option<SessionKey>,
    /// The digest of the policy view under which it was made, where there was one.
    pub policy: Option<Arc<str>>,
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.namespace)?;
        match &self.session {
            Some(session) => write!(f, "{session}")?,
            None => f.write_str("anonymous")?,
        }
        match &self.policy {
            Some(policy) => write!(f, " under policy {policy}"),
            None => Ok(()),
        }
    }
}

/// A directory of the host that a sandbox sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// The directory on the host.
    pub source: PathBuf,
    /// Where the sandbox sees it.
    pub target: PathBuf,
    /// Whether it may write there.
    pub writable: bool,
}

/// What to make a sandbox of. What all sandboxes of a backend have in common (image, limits) is the backend's own
/// configuration.
#[derive(Clone, PartialEq, Eq)]
pub struct SandboxSpec {
    /// The sandbox's id, which is also its name.
    pub id: SandboxId,
    /// Whose it is.
    pub identity: Identity,
    /// Which owner makes it.
    pub creator: OwnerId,
    /// Directories it sees.
    pub mounts: Vec<Mount>,
    /// Environment variables. Their values are never logged.
    pub environment: BTreeMap<String, String>,
}

impl fmt::Debug for SandboxSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SandboxSpec")
            .field("id", &self.id)
            .field("identity", &self.identity)
            .field("creator", &self.creator)
            .field("mounts", &self.mounts)
            .field("environment", &self.environment.keys().collect::<Vec<_>>())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_the_environment_are_not_shown() {
        let identity =
            Identity { namespace: Namespace::new("n").unwrap(), session: None, policy: Some("p1".into()) };
        let spec = SandboxSpec {
            id: SandboxId::new("a").unwrap(),
            creator: OwnerId::new("me").unwrap(),
            mounts: Vec::new(),
            environment: BTreeMap::from([("TOKEN".to_owned(), "hunter2".to_owned())]),
            identity: identity.clone(),
        };
        let shown = format!("{spec:?}");
        assert!(shown.contains("TOKEN") && !shown.contains("hunter2"), "{shown}");
        assert_eq!(identity.to_string(), "n:anonymous under policy p1");
    }
}
