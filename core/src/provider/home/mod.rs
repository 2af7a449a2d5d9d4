//! The part of the provider that touches the disk: directories of users and threads, policy views, create locks.

mod directory;
mod lock;
mod policy;

use std::any::Any;
use std::error::Error;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use directory::HomeDirectory;

use crate::{Mount, SandboxId, SessionKey};

/// Where sessions have their directories and sandboxes their create locks.
///
/// Both methods may block; the provider calls them where that harms nobody.
pub trait Home: Send + Sync + 'static {
    /// Makes the session's directories and finds out under which policy it works.
    ///
    /// # Errors
    /// [`HomeError`] names the path and the way out.
    fn prepare(&self, session: &SessionKey) -> Result<Prepared, HomeError>;

    /// Tries to get the right to make the sandbox `id`, across processes; `None` when somebody else has it. Dropping the
    /// guard, which may block too, gives it back.
    ///
    /// # Errors
    /// [`HomeError`] names the path and the way out. An error is never taken for "somebody else has it".
    fn try_lock(&self, id: &SandboxId) -> Result<Option<CreateGuard>, HomeError>;
}

/// The right to make a sandbox, until dropped.
pub type CreateGuard = Box<dyn Any + Send>;

/// A session's place on the disk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prepared {
    /// The digest of its policy view, where it has one.
    pub policy: Option<Arc<str>>,
    /// What its sandbox is to see.
    pub mounts: Vec<Mount>,
}

/// Why the home directory could not be used: the path, what was tried and the cause as `source`.
#[derive(Clone, Debug)]
pub struct HomeError {
    what: String,
    path: PathBuf,
    source: Option<Arc<std::io::Error>>,
}

impl HomeError {
    /// `what` was tried on `path`, and why it can't be.
    pub fn new(what: impl Into<String>, path: impl Into<PathBuf>) -> Self {
        Self { what: what.into(), path: path.into(), source: None }
    }

    /// The same with the operating system's word.
    #[must_use]
    pub fn with_source(mut self, source: std::io::Error) -> Self {
        self.source = Some(Arc::new(source));
        self
    }

    /// Which path it is about.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl fmt::Display for HomeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "home directory: {} {}", self.what, self.path.display())?;
        match &self.source {
            Some(source) => write!(f, ": {source}"),
            None => Ok(()),
        }
    }
}

impl Error for HomeError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as &(dyn Error + 'static))
    }
}
