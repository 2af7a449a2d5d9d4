//! How sandboxes and their instances are called on the disk.

use std::fmt::Write;

use leasehold::{BackendError, BackendErrorKind, InstanceId, Namespace, SandboxId};
use sha2::{Digest, Sha256};

/// As much of an id as can be read in a directory's name, in characters.
const READABLE: usize = 32;
/// 128 bits in hexadecimal digits.
const HEX: usize = 32;

/// The directory of a sandbox id: what is readable of it in lower case, a dash, and 128 bits of a hash, so that ids which
/// differ in one letter's case or beyond any file system's limit are told apart.
pub(super) fn directory(id: &SandboxId) -> String {
    let readable = id.as_str().chars().map(|c| match c.to_ascii_lowercase() {
        c if c.is_ascii_alphanumeric() => c,
        _ => '-',
    });
    let mut name: String = readable.take(READABLE).collect();
    name.push('-');
    for byte in &Sha256::digest(id.as_str().as_bytes())[..HEX / 2] {
        write!(name, "{byte:02x}").expect("a string takes all");
    }
    name
}

/// One instance: `<namespace>/<directory of its sandbox id>/<128 random bits>`. Whoever has it knows where to look, and
/// whose it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct InstanceName {
    pub(super) namespace: Namespace,
    pub(super) directory: String,
    pub(super) nonce: String,
}

impl InstanceName {
    /// A name that was never used before.
    pub(super) fn new(namespace: &Namespace, id: &SandboxId) -> Result<Self, BackendError> {
        let mut bits = [0_u8; HEX / 2];
        getrandom::fill(&mut bits).map_err(|e| {
            let text = "the operating system gives no randomness to name an instance with";
            BackendError::new(BackendErrorKind::Unavailable, text)
                .with_source(std::io::Error::other(e.to_string()))
        })?;
        let nonce = format!("{:032x}", u128::from_be_bytes(bits));
        Ok(Self { namespace: namespace.clone(), directory: directory(id), nonce })
    }

    /// Reads what [`id`](Self::id) wrote, and nothing else: it becomes part of a path.
    ///
    /// # Errors
    /// [`BackendErrorKind::Invalid`] for anything else, [`BackendErrorKind::Foreign`] for one of another namespace.
    pub(super) fn parse(instance: &InstanceId, ours: &Namespace) -> Result<Self, BackendError> {
        let refuse = || {
            let text = "that is no instance of the process backend; use the id that it gave";
            BackendError::new(BackendErrorKind::Invalid, text).on(instance)
        };
        let mut parts = instance.as_str().split('/');
        let (Some(namespace), Some(directory), Some(nonce), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(refuse());
        };
        let namespace = Namespace::new(namespace).map_err(|_| refuse())?;
        if !is_directory(directory) || !is_nonce(nonce) {
            return Err(refuse());
        }
        if namespace != *ours {
            let text = format!("it is an instance of namespace {namespace}, and this is {ours}");
            return Err(BackendError::new(BackendErrorKind::Foreign, text).on(instance));
        }
        Ok(Self { namespace, directory: directory.to_owned(), nonce: nonce.to_owned() })
    }

    pub(super) fn id(&self) -> InstanceId {
        InstanceId::new(format!("{}/{}/{}", self.namespace, self.directory, self.nonce))
    }
}

/// Whether it could have been made by [`directory`].
pub(super) fn is_directory(name: &str) -> bool {
    name.rsplit_once('-').is_some_and(|(readable, hash)| {
        (1..=READABLE).contains(&readable.len())
            && readable.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
            && is_nonce(hash)
    })
}

pub(super) fn is_nonce(text: &str) -> bool {
    text.len() == HEX && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> SandboxId {
        SandboxId::new(text).unwrap()
    }

    #[test]
    fn ids_are_told_apart_by_directories_that_every_file_system_takes() {
        let ids = ["a", "A", "a.b", "a-b", "a_b", &"X".repeat(128), &"x".repeat(128)];
        let names: std::collections::BTreeSet<_> = ids.iter().map(|text| directory(&id(text))).collect();
        assert_eq!(names.len(), ids.len());
        for name in &names {
            assert!(is_directory(name) && name.len() <= 65, "{name}");
        }
    }

    #[test]
    fn an_instance_is_read_as_it_was_written() {
        let ours = Namespace::new("x").unwrap();
        let name = InstanceName::new(&ours, &id("sbx-1")).unwrap();
        assert_eq!(InstanceName::parse(&name.id(), &ours).unwrap(), name);
    }

    #[test]
    fn a_hostile_or_foreign_instance_is_refused_and_never_becomes_a_path() {
        let ours = Namespace::new("x").unwrap();
        let good = InstanceName::new(&ours, &id("sbx-1")).unwrap();
        let (dir, nonce) = (&good.directory, &good.nonce);
        for text in [
            String::new(),
            "../../etc/passwd".to_owned(),
            format!("x/../{nonce}"),
            format!("x/{dir}/.."),
            format!("x/{dir}/{nonce}/"),
            format!("x/{dir}/{}", nonce.to_uppercase().replace(|c: char| c.is_ascii_digit(), "A")),
            format!("/{dir}/{nonce}"),
            format!("x/{dir}\0/{nonce}"),
        ] {
            let error = InstanceName::parse(&InstanceId::new(text.clone()), &ours).unwrap_err();
            assert_eq!(error.kind(), BackendErrorKind::Invalid, "{text}");
        }
        let foreign = InstanceName::parse(&good.id(), &Namespace::new("x-y").unwrap()).unwrap_err();
        assert_eq!(foreign.kind(), BackendErrorKind::Foreign);
    }
}
