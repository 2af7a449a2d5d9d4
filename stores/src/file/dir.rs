//! The directory: made, checked, and entered again for every step that depends on what is *not* in it.

use std::fs::{self, DirBuilder, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use leasehold::{ErrorKind, SandboxId, StoreError};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::FileConfig;
use super::entered::Entered;
use super::error::failed;
use super::network;
use super::spot::Spot;

/// The path of the directory. It is walked anew by each operation, so that all processes mean the same directory also
/// after somebody moved it and put another in its place.
#[derive(Debug)]
pub(super) struct LeaseDir {
    path: PathBuf,
}

impl LeaseDir {
    /// Makes the directory if it isn't there, and makes sure that nobody else can meddle with it.
    pub(super) fn prepare(config: &FileConfig) -> Result<Self, StoreError> {
        let dir = Self { path: config.dir.clone() };
        if dir.path.as_os_str().as_bytes().contains(&0) {
            return Err(StoreError::new(
                ErrorKind::Invalid,
                format!("the path {:?} has a NUL byte", dir.path),
            ));
        }
        if !dir.path.is_absolute() {
            let why = "must be absolute, so that every gateway means the same place";
            return Err(StoreError::new(
                ErrorKind::Invalid,
                format!("the path {} {why}", dir.path.display()),
            ));
        }
        dir.make()?;
        let entered = dir.enter()?;
        dir.check_owner(&entered)?;
        if !config.network {
            dir.check_file_system(&entered)?;
        }
        Ok(dir)
    }

    /// The spot of the record file of `id`.
    pub(super) fn spot(&self, id: &SandboxId) -> Spot {
        Spot::of(&self.path, id)
    }

    /// The directory that the path names right now. Only with a directory in hand can one say that a file is not in it:
    /// "no such file" of a whole path may as well mean that the directory was moved away.
    pub(super) fn enter(&self) -> Result<Entered<'_>, StoreError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        match rustix::fs::open(&self.path, flags, Mode::empty()) {
            Ok(fd) => Ok(Entered::new(fd, &self.path)),
            Err(Errno::NOENT | Errno::NOTDIR) => Err(StoreError::new(
                ErrorKind::Unavailable,
                format!("the directory {} is gone; put it back, or open the store anew", self.path.display()),
            )),
            Err(e) => Err(failed("open the directory", &self.path, e)),
        }
    }

    fn make(&self) -> Result<(), StoreError> {
        match fs::symlink_metadata(&self.path) {
            Ok(found) => self.check_kind(&found),
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                if let Some(parent) = self.path.parent() {
                    fs::create_dir_all(parent).map_err(|e| failed("make the directory", parent, e))?;
                }
                match DirBuilder::new().mode(0o700).create(&self.path) {
                    // Another process that opens the same store made it first, which is just as good.
                    Err(e) if e.kind() != io::ErrorKind::AlreadyExists => {
                        Err(failed("make the directory", &self.path, e))
                    }
                    _ => Ok(()),
                }
            }
            Err(e) => Err(failed("look at", &self.path, e)),
        }
    }

    /// A symbolic link is followed at every operation, so whoever owns it decides where the leases are.
    fn check_kind(&self, found: &Metadata) -> Result<(), StoreError> {
        if found.is_symlink() {
            let owner = found.uid();
            if owner != 0 && owner != rustix::process::geteuid().as_raw() {
                return Err(self.unsafe_because(format!(
                    "is a symbolic link of user {owner}; name the directory itself"
                )));
            }
            let target = fs::metadata(&self.path).map_err(|e| failed("follow the link", &self.path, e))?;
            return if target.is_dir() { Ok(()) } else { Err(self.no_directory()) };
        }
        if found.is_dir() { Ok(()) } else { Err(self.no_directory()) }
    }

    fn check_owner(&self, entered: &Entered<'_>) -> Result<(), StoreError> {
        let stat = entered.stat()?;
        let me = rustix::process::geteuid().as_raw();
        if stat.st_uid != me {
            return Err(self.unsafe_because(format!(
                "belongs to user {} and this process runs as user {me}; run as that user, or use another directory",
                stat.st_uid
            )));
        }
        if stat.st_mode & 0o022 != 0 {
            let way_out = "chmod go-w it once you know that nobody else wrote there";
            return Err(self.unsafe_because(format!("can be written by other users; {way_out}")));
        }
        Ok(())
    }

    fn check_file_system(&self, entered: &Entered<'_>) -> Result<(), StoreError> {
        match network::name(entered.file_system()?) {
            None => Ok(()),
            Some(network) => Err(StoreError::new(
                ErrorKind::Unsupported,
                format!(
                    "{} is on a {network} file system, where locks may not hold and other hosts may write; use a \
                     local directory, or add network=allow if this host alone uses it",
                    self.path.display()
                ),
            )),
        }
    }

    fn no_directory(&self) -> StoreError {
        let why =
            format!("{} is not a directory; name one, or a path where one can be made", self.path.display());
        StoreError::new(ErrorKind::Invalid, why)
    }

    fn unsafe_because(&self, why: String) -> StoreError {
        StoreError::new(ErrorKind::Unsafe, format!("the directory {} {why}", self.path.display()))
    }

    /// The path itself, for messages and for opening a record without entering first.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}
