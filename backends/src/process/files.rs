//! Files and directories of this user alone, with no link followed.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use leasehold::BackendError;
use rustix::fs::OFlags;

use super::error::{corrupt, failed};

/// More than any record has; larger is damage.
const LARGEST: u64 = 1 << 20;

/// Makes the directory if need be, and sees to it that it is a real one, this user's own, and that nobody else may write
/// in it.
pub(super) fn own_directory(path: &Path) -> Result<(), BackendError> {
    match DirBuilder::new().mode(0o700).create(path) {
        Ok(()) => {}
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
        Err(e) => return Err(failed("make the directory", path, e)),
    }
    check_own_directory(path)
}

/// Sees to it that there is a real directory, this user's own, in which nobody else may write.
pub(super) fn check_own_directory(path: &Path) -> Result<(), BackendError> {
    let found = fs::symlink_metadata(path).map_err(|e| failed("look at", path, e))?;
    if !found.is_dir() {
        return Err(corrupt("a directory was expected, and something else (a link, perhaps) is there", path));
    }
    let me = rustix::process::geteuid().as_raw();
    if found.uid() != me {
        let text =
            format!("cannot use {}: user {} owns it, and this is user {me}", path.display(), found.uid());
        return Err(BackendError::new(leasehold::BackendErrorKind::Denied, text));
    }
    if found.mode() & 0o022 != 0 {
        let text = format!("cannot use {}: others may write in it; chmod go-w it", path.display());
        return Err(BackendError::new(leasehold::BackendErrorKind::Denied, text));
    }
    Ok(())
}

/// The whole of a small file of this user; `None` when there is none.
pub(super) fn read(path: &Path) -> Result<Option<Vec<u8>>, BackendError> {
    // A pipe in the place of a file would wait for a writer, hence the third flag.
    let flags = OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file = match OpenOptions::new().read(true).custom_flags(flags.bits() as i32).open(path) {
        Ok(file) => file,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) if e.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => {
            return Err(corrupt("a link stands where a file belongs", path));
        }
        Err(e) => return Err(failed("open", path, e)),
    };
    let found = file.metadata().map_err(|e| failed("look at", path, e))?;
    if !found.is_file() {
        return Err(corrupt("something that is not a file stands where one belongs", path));
    }
    if found.uid() != rustix::process::geteuid().as_raw() {
        return Err(corrupt(format!("user {} owns the file", found.uid()), path));
    }
    if found.len() > LARGEST {
        return Err(corrupt(format!("the file has {} bytes", found.len()), path));
    }
    let mut bytes = Vec::new();
    file.take(LARGEST).read_to_end(&mut bytes).map_err(|e| failed("read", path, e))?;
    Ok(Some(bytes))
}

/// A new file of this user, for writing; there must be none yet.
pub(super) fn create(path: &Path) -> Result<File, BackendError> {
    OpenOptions::new()
        .append(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .map_err(|e| failed("make the file", path, e))
}

/// Puts `bytes` at `path` at once: whoever reads it finds the old or the new, and so does whoever reads it after the host
/// lost power. `draft` is a name beside it that nobody else uses meanwhile.
pub(super) fn replace(path: &Path, draft: &Path, bytes: &[u8]) -> Result<(), BackendError> {
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .custom_flags(OFlags::NOFOLLOW.bits() as i32)
        .open(draft)
        .map_err(|e| failed("write", draft, e))?;
    file.write_all(bytes).and_then(|()| file.sync_all()).map_err(|e| failed("write", draft, e))?;
    fs::rename(draft, path).map_err(|e| failed("put in place", path, e))
}

/// Removes a file; one that isn't there is removed already.
pub(super) fn remove(path: &Path) -> Result<(), BackendError> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(failed("remove", path, e)),
        _ => Ok(()),
    }
}

/// Removes a directory with all that is in it, never following a link. Whatever rights a sandbox took from its own
/// directories are put back first.
pub(super) fn remove_tree(path: &Path) -> Result<(), BackendError> {
    let removed = match fs::remove_dir_all(path) {
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied => {
            unlock(path);
            fs::remove_dir_all(path)
        }
        other => other,
    };
    match removed {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(failed("remove", path, e)),
        _ => Ok(()),
    }
}

/// What can't be changed shows when it can't be removed.
fn unlock(directory: &Path) {
    let _ = fs::set_permissions(directory, Permissions::from_mode(0o700));
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            unlock(&entry.path());
        }
    }
}
