//! Names of containers, and ids of instances.

use leasehold::{BackendError, BackendErrorKind, InstanceId, Namespace, SandboxId};

/// The name under which the sandbox is found. No namespace has a dot, so that no two pairs share a name; and nothing of
/// it could be the start of a container's id, which the engine would take it for.
pub(super) fn of(namespace: &Namespace, id: &SandboxId) -> String {
    format!("leasehold.{namespace}.{id}")
}

/// The name of an instance that was condemned, under which nobody looks for a sandbox.
pub(super) fn condemned(namespace: &Namespace, id: &SandboxId, instance: &InstanceId) -> String {
    let short = instance.as_str().get(..16).unwrap_or(instance.as_str());
    format!("leasehold-condemned.{namespace}.{id}.{short}")
}

/// Whether it can be an instance of an engine: the whole id of a container, so that neither a name nor a part of an id
/// ever reaches somebody else's, and no path of the engine's interface is left.
pub(super) fn check(instance: &InstanceId) -> Result<(), BackendError> {
    let text = instance.as_str();
    let hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
    if text.len() == 64 && text.bytes().all(hex) {
        return Ok(());
    }
    let text = "an instance is named by the 64 hexadecimal digits of its container's id";
    Err(BackendError::new(BackendErrorKind::Invalid, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_have_names_of_their_own() {
        let name = |ns: &str, id: &str| of(&ns.parse().unwrap(), &id.parse().unwrap());
        assert_eq!(name("x", "a"), "leasehold.x.a");
        assert_ne!(name("x", "y-z"), name("x-y", "z"));
        assert_ne!(name("x", "y.z"), name("x-y", "z"));
    }

    #[test]
    fn a_condemned_name_is_no_sandboxs() {
        let (ns, id) = ("x".parse().unwrap(), "a".parse().unwrap());
        let taken = condemned(&ns, &id, &InstanceId::new("f".repeat(64)));
        assert!(taken.starts_with("leasehold-condemned.x.a.ffff"));
        assert!(!taken.starts_with("leasehold."));
    }

    #[test]
    fn only_a_whole_id_is_an_instance() {
        assert!(check(&InstanceId::new("0f".repeat(32))).is_ok());
        for hostile in ["", "0f", "../../info", "leasehold.x.a", &"F".repeat(64), &"0f".repeat(33)] {
            let refused = check(&InstanceId::new(hostile)).unwrap_err();
            assert_eq!(refused.kind(), BackendErrorKind::Invalid, "{hostile}");
        }
    }
}
