//! What a canary stands on: files and peers, made before the gate goes up and cleared away after it is down.

use std::any::Any;
use std::io;
use std::path::{Path, PathBuf};

/// One canary's work, ready to be done once.
pub(super) struct Work {
    pub(super) act: Act,
    /// Dropped when the gate is down again: directories, peers, servers.
    pub(super) ground: Box<dyn Any + Send>,
}

pub(super) type Act = Box<dyn FnOnce() -> io::Result<()> + Send>;

impl Work {
    pub(super) fn new(
        ground: impl Any + Send,
        act: impl FnOnce() -> io::Result<()> + Send + 'static,
    ) -> Result<Self, Setback> {
        Ok(Self { act: Box::new(act), ground: Box::new(ground) })
    }
}

/// Why a canary could not be made ready.
#[derive(Debug)]
pub(super) enum Setback {
    /// Something that not every machine has is missing; `need` is its name in `LEASEHOLD_REQUIRE`.
    Missing { need: &'static str, why: String },
    /// What every machine has did not work.
    Failed(io::Error),
}

impl From<io::Error> for Setback {
    fn from(error: io::Error) -> Self {
        Setback::Failed(error)
    }
}

/// A directory with one file in it.
pub(super) struct Place {
    directory: tempfile::TempDir,
}

impl Place {
    pub(super) fn new() -> io::Result<Self> {
        let directory = tempfile::tempdir()?;
        std::fs::write(directory.path().join("file"), b"some text")?;
        Ok(Self { directory })
    }

    pub(super) fn path(&self) -> &Path {
        self.directory.path()
    }

    pub(super) fn file(&self) -> PathBuf {
        self.path().join("file")
    }

    pub(super) fn other(&self) -> PathBuf {
        self.path().join("other")
    }
}
