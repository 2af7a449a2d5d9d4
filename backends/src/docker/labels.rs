//! Whose a container is, as it is written on it.

use std::collections::HashMap;
use std::sync::Arc;

use leasehold::{Identity, Namespace, OwnerId, SandboxId, SandboxSpec, SessionKey};

/// The deployment; the label by which an engine is asked for its containers, whose answer is then compared here.
pub(super) const NAMESPACE: &str = "leasehold.namespace";
const FORMAT: &str = "leasehold.format";
const ID: &str = "leasehold.id";
const USER: &str = "leasehold.user";
const THREAD: &str = "leasehold.thread";
const POLICY: &str = "leasehold.policy";
const CREATOR: &str = "leasehold.creator";
const THIS_FORMAT: &str = "1";

/// What a container's labels say.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Marks {
    pub(super) id: SandboxId,
    pub(super) identity: Identity,
    pub(super) creator: OwnerId,
}

/// Whose a container is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Whose {
    /// This namespace's.
    Ours(Box<Marks>),
    /// Somebody else's; the text says whose.
    Others(String),
    /// This namespace's, and its labels can't be understood; the text says why.
    Unreadable(String),
}

/// The labels of a sandbox that is to be made.
pub(super) fn of(spec: &SandboxSpec) -> HashMap<String, String> {
    let identity = &spec.identity;
    let mut labels = HashMap::from([
        (FORMAT.to_owned(), THIS_FORMAT.to_owned()),
        (NAMESPACE.to_owned(), identity.namespace.to_string()),
        (ID.to_owned(), spec.id.to_string()),
        (CREATOR.to_owned(), spec.creator.to_string()),
    ]);
    if let Some(session) = &identity.session {
        labels.insert(USER.to_owned(), session.user().to_owned());
        labels.insert(THREAD.to_owned(), session.thread().to_owned());
    }
    if let Some(policy) = &identity.policy {
        labels.insert(POLICY.to_owned(), policy.to_string());
    }
    labels
}

/// Whose a container with these labels is, seen from `namespace`.
pub(super) fn whose(labels: &HashMap<String, String>, namespace: &Namespace) -> Whose {
    match labels.get(NAMESPACE) {
        None => return Whose::Others("a container that is no sandbox of leasehold".to_owned()),
        Some(other) if other != namespace.as_str() => {
            return Whose::Others(format!("a sandbox of the deployment {other:?}"));
        }
        Some(_) => {}
    }
    read(labels, namespace).map_or_else(Whose::Unreadable, |marks| Whose::Ours(Box::new(marks)))
}

fn read(labels: &HashMap<String, String>, namespace: &Namespace) -> Result<Marks, String> {
    let need = |name: &str| labels.get(name).ok_or_else(|| format!("it has no label {name}"));
    let format = need(FORMAT)?;
    if format != THIS_FORMAT {
        return Err(format!("its labels are in format {format:?}, and this version reads {THIS_FORMAT:?}"));
    }
    let bad = |name: &'static str| move |e| format!("its label {name} can't be right: {e}");
    let session = match (labels.get(USER), labels.get(THREAD)) {
        (None, None) => None,
        (Some(user), Some(thread)) => Some(SessionKey::new(user, thread).map_err(bad(USER))?),
        _ => return Err(format!("it has only one of the labels {USER} and {THREAD}")),
    };
    Ok(Marks {
        id: SandboxId::new(need(ID)?).map_err(bad(ID))?,
        identity: Identity {
            namespace: namespace.clone(),
            session,
            policy: labels.get(POLICY).map(|policy| Arc::from(policy.as_str())),
        },
        creator: OwnerId::new(need(CREATOR)?).map_err(bad(CREATOR))?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(policy: Option<&str>, session: Option<SessionKey>) -> SandboxSpec {
        SandboxSpec {
            id: "a".parse().unwrap(),
            identity: Identity { namespace: "x".parse().unwrap(), session, policy: policy.map(Arc::from) },
            creator: OwnerId::new("gw").unwrap(),
            mounts: Vec::new(),
            environment: [("TOKEN".to_owned(), "hunter2".to_owned())].into(),
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        for spec in [spec(None, None), spec(Some("p1"), Some(SessionKey::new("u", "t").unwrap()))] {
            let labels = of(&spec);
            assert!(!format!("{labels:?}").contains("hunter2"));
            let Whose::Ours(marks) = whose(&labels, &"x".parse().unwrap()) else { panic!("{labels:?}") };
            assert_eq!((marks.id, marks.identity, marks.creator), (spec.id, spec.identity, spec.creator));
        }
    }

    #[test]
    fn another_namespaces_and_nobodys_are_others() {
        let labels = of(&spec(None, None));
        let seen_from = |ns: &str| whose(&labels, &ns.parse().unwrap());
        assert!(matches!(seen_from("x-y"), Whose::Others(text) if text.contains("\"x\"")));
        assert!(matches!(whose(&HashMap::new(), &"x".parse().unwrap()), Whose::Others(_)));
    }

    #[test]
    fn labels_that_cannot_be_right_are_unreadable_and_say_why() {
        for (name, value, says) in [
            (FORMAT, Some("2"), "format"),
            (ID, Some("../a"), ID),
            (ID, None, ID),
            (CREATOR, Some(""), CREATOR),
            (USER, Some("u"), THREAD),
        ] {
            let mut labels = of(&spec(None, None));
            match value {
                Some(value) => labels.insert(name.to_owned(), value.to_owned()),
                None => labels.remove(name),
            };
            let Whose::Unreadable(why) = whose(&labels, &"x".parse().unwrap()) else { panic!("{name}") };
            assert!(why.contains(says), "{why}");
        }
    }
}
