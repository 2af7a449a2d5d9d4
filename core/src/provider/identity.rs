//! The names of sandboxes: every gateway that shares an engine derives the same one for a session.

use std::fmt::Write;

use sha2::{Digest, Sha256};

use crate::{EngineId, Identity, Namespace, SandboxId};

/// The id of a session's sandbox: `sbx-` and 160 bits of a hash over all that tells it from others, each part with its
/// length before it, so that no two lists of parts read alike.
pub(super) fn sandbox_id(engine: &EngineId, identity: &Identity) -> SandboxId {
    let mut hash = Sha256::new();
    let mut part = |text: &str| {
        hash.update((text.len() as u64).to_be_bytes());
        hash.update(text.as_bytes());
    };
    part("leasehold sandbox 1");
    part(identity.namespace.as_str());
    part(engine.as_str());
    match &identity.session {
        Some(session) => {
            part("session");
            part(session.user());
            part(session.thread());
        }
        None => part("anonymous"),
    }
    if let Some(policy) = &identity.policy {
        part("policy");
        part(policy);
    }
    named(&hash.finalize()[..20])
}

/// The id of a sandbox that no session asked for.
pub(super) fn anonymous_id(namespace: &Namespace, engine: &EngineId, random: u128) -> SandboxId {
    let mut hash = Sha256::new();
    for part in ["leasehold anonymous 1", namespace.as_str(), engine.as_str()] {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part.as_bytes());
    }
    hash.update(random.to_be_bytes());
    named(&hash.finalize()[..20])
}

fn named(bits: &[u8]) -> SandboxId {
    let mut text = "sbx-".to_owned();
    for byte in bits {
        write!(text, "{byte:02x}").expect("a string takes all");
    }
    SandboxId::new(&text).expect("hex digits are in the alphabet")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SessionKey;

    fn id(engine: &str, user: &str, thread: &str, policy: Option<&str>) -> SandboxId {
        let identity = Identity {
            namespace: Namespace::new("n").unwrap(),
            session: Some(SessionKey::new(user, thread).unwrap()),
            policy: policy.map(Into::into),
        };
        sandbox_id(&EngineId::new(engine), &identity)
    }

    #[test]
    fn z4_the_engine_is_part_of_the_id() {
        assert_ne!(id("e1", "u", "t", None), id("e2", "u", "t", None));
    }

    #[test]
    fn parts_that_run_together_alike_make_different_ids() {
        let all = [
            id("e", "u", "t", None),
            id("eu", "t", "x", None),
            id("e", "ut", "x", None),
            id("e", "u", "tx", None),
            id("e", "u", "t", Some("p")),
            id("e", "u", "tpolicy", None),
        ];
        let different: std::collections::BTreeSet<_> = all.iter().collect();
        assert_eq!(different.len(), all.len());
        assert_eq!(id("e", "u", "t", None), id("e", "u", "t", None));
    }
}
