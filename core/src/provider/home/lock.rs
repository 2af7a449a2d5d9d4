use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::HomeError;

/// A locked file, which is removed with the lock still held, so that lock files don't pile up.
#[derive(Debug)]
pub(super) struct LockFile {
    file: File,
    path: PathBuf,
}

/// Tries to lock `path` for this holder alone; `None` when another has it.
pub(super) fn try_lock(path: &Path) -> Result<Option<LockFile>, HomeError> {
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits() as i32)
        .open(path)
        .map_err(|e| HomeError::new("cannot open the create lock", path).with_source(e))?;
    // Called by its full name, since std has a method of the same one.
    match fs2::FileExt::try_lock_exclusive(&file) {
        Ok(()) => {}
        Err(error) if error.kind() == fs2::lock_contended_error().kind() => return Ok(None),
        Err(error) => return Err(HomeError::new("cannot lock", path).with_source(error)),
    }
    // The one before may have removed the file between the opening and the lock: then this lock is on nothing.
    let locked = file.metadata().map_err(|e| HomeError::new("cannot look at", path).with_source(e))?;
    match fs::symlink_metadata(path) {
        Ok(named) if (named.dev(), named.ino()) == (locked.dev(), locked.ino()) => {
            Ok(Some(LockFile { file, path: path.to_owned() }))
        }
        Ok(_) => Ok(None),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(HomeError::new("cannot look at", path).with_source(error)),
    }
}

impl Drop for LockFile {
    fn drop(&mut self) {
        // Where it can't be removed it stays, which harms nobody.
        let _ = fs::remove_file(&self.path);
        let _ = fs2::FileExt::unlock(&self.file);
    }
}
