use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use leasehold::{
    BackendError, BackendOperation, Identity, InstanceId, Namespace, OwnerId, SandboxBackend, SandboxId,
    SandboxSpec,
};

use super::Abilities;
use crate::{Unready, Waiver};

/// What a sandbox of [`Site::ending`] says before it ends.
pub const LAST_WORDS: &str = "kit-last-words";

/// The backend under test: makes sites, each for one case.
///
/// This, a [`Site`] and a line with a macro are all that an implementer writes. `Default` makes it in the macros. Each call
/// is made within a tokio runtime.
///
/// ```
/// use async_trait::async_trait;
/// use leasehold_conformance::Unready;
/// use leasehold_conformance::backend::{Abilities, BackendHarness, Site};
///
/// #[derive(Default)]
/// struct Mine;
///
/// #[async_trait]
/// impl BackendHarness for Mine {
///     fn name(&self) -> String { "mine".to_owned() }
///     fn abilities(&self) -> Abilities { Abilities::new().shell(&["sh", "-c"]) }
///     async fn fresh(&self) -> Result<Box<dyn Site>, Unready> {
///         Err(Unready::not_run("no engine: set MINE_HOST"))
///     }
/// }
/// ```
#[async_trait]
pub trait BackendHarness: Send + Sync + 'static {
    /// The backend's name, as the report prints it.
    fn name(&self) -> String;

    /// What the backend and this harness can do.
    fn abilities(&self) -> Abilities;

    /// An engine, and on it a namespace in which there is nothing.
    ///
    /// # Errors
    /// [`Unready`]: not run, and why, or the harness itself is broken.
    async fn fresh(&self) -> Result<Box<dyn Site>, Unready>;

    /// Failures that are borne for a while, each with a reason and a last day. Only cases of `exec` and `ready` can be: what
    /// the others prove decides about sandboxes that are somebody's.
    fn waivers(&self) -> Vec<Waiver> {
        Vec::new()
    }
}

/// One engine, or one's own part of a shared one, for the time of a case. Whatever is left is cleaned up when it is dropped.
///
/// Only the first two have to be written. What a case finds not offered is not applicable.
#[async_trait]
pub trait Site: Send + Sync {
    /// The namespace of this case, in which there is nothing yet; on an engine that others use too, [`own_namespace`]. At
    /// most 40 bytes, since cases have neighbours of it: `x` and `x-y`.
    fn namespace(&self) -> Namespace;

    /// Another handle for `namespace`, as another gateway's process has it.
    ///
    /// # Errors
    /// Whatever the backend says.
    fn open(&self, namespace: &Namespace) -> Result<Arc<dyn SandboxBackend>, BackendError>;

    /// A sandbox that becomes ready soon and runs until it is stopped.
    fn spec(&self, id: &SandboxId, identity: &Identity) -> SandboxSpec {
        SandboxSpec {
            id: id.clone(),
            identity: identity.clone(),
            creator: OwnerId::generate(),
            mounts: Vec::new(),
            environment: BTreeMap::new(),
        }
    }

    /// `spec` changed so that the sandbox runs and never becomes ready, most often by a variable that its program looks at;
    /// `None` where that can't be had.
    fn unready(&self, spec: SandboxSpec) -> Option<SandboxSpec> {
        let _ = spec;
        None
    }

    /// `spec` changed so that the sandbox says [`LAST_WORDS`] and ends before it is ready; `None` where that can't be had.
    fn ending(&self, spec: SandboxSpec) -> Option<SandboxSpec> {
        let _ = spec;
        None
    }

    /// A directory of this host, of this case alone, that a sandbox may mount; `None` where sandboxes see nothing of this
    /// host.
    fn shared_directory(&self) -> Option<PathBuf> {
        None
    }

    /// Ends the processes of the instance behind the backend's back, as a crash does; what it was made of may stay.
    ///
    /// # Errors
    /// When that failed.
    async fn kill(&self, instance: &InstanceId) -> Result<(), Unready> {
        Err(undone("kill", instance))
    }

    /// Halts the instance behind the backend's back, so that it exists, doesn't run and may run again.
    ///
    /// # Errors
    /// When that failed.
    async fn pause(&self, instance: &InstanceId) -> Result<(), Unready> {
        Err(undone("pause", instance))
    }

    /// Makes the engine unreachable, for handles that are open and those that will be.
    ///
    /// # Errors
    /// When that failed.
    async fn cut(&self) -> Result<(), Unready> {
        Err(undone("cut", "the engine"))
    }

    /// Makes the engine reachable again, with all that was there.
    ///
    /// # Errors
    /// When that failed.
    async fn mend(&self) -> Result<(), Unready> {
        Err(undone("mend", "the engine"))
    }

    /// Makes the next `operation` of this engine happen without an answer that reaches the caller.
    ///
    /// # Errors
    /// When that failed.
    async fn lose_reply(&self, operation: BackendOperation) -> Result<(), Unready> {
        Err(undone("lose_reply", operation))
    }

    /// Makes something of somebody else, who knows nothing of leasehold or is another deployment, under the name that the
    /// engine would give the sandbox `id`.
    ///
    /// # Errors
    /// When that failed.
    async fn plant_foreign(&self, id: &SandboxId) -> Result<(), Unready> {
        Err(undone("plant_foreign", id))
    }

    /// Whether what was planted for `id` is still there as it was.
    ///
    /// # Errors
    /// When that can't be told.
    async fn foreign_is_there(&self, id: &SandboxId) -> Result<bool, Unready> {
        Err(undone("foreign_is_there", id))
    }

    /// Makes an instance of the case's own namespace, under the name of `id`, that can't be understood: by a version of
    /// another form, or damaged.
    ///
    /// # Errors
    /// When that failed.
    async fn plant_unreadable(&self, id: &SandboxId) -> Result<(), Unready> {
        Err(undone("plant_unreadable", id))
    }

    /// Removes what was planted, which no backend removes. Called at the end of each case.
    ///
    /// # Errors
    /// When that failed.
    async fn clear(&self) -> Result<(), Unready> {
        Ok(())
    }
}

fn undone(hook: &str, of: impl std::fmt::Display) -> Unready {
    Unready::broken(format!("the harness declares {hook} and does not have it (asked for {of})"))
}

/// A namespace that nobody else has, for sites on an engine that others use too.
#[must_use]
pub fn own_namespace() -> Namespace {
    let mut hasher = DefaultHasher::new();
    OwnerId::generate().hash(&mut hasher);
    Namespace::new(&format!("kit-{:016x}", hasher.finish()))
        .expect("a dash and digits in the middle are allowed")
}
