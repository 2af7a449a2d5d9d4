use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use leasehold::BackendError;
use rustix::fs::OFlags;

use super::error::failed;
use super::files;

/// The right to change what is in one sandbox id's directory, across processes; it ends when this value goes.
///
/// The directory itself is locked, so that no lock file is left behind. The kernel takes the lock back when the last
/// descriptor of it is closed, and a child process has a copy of each until it runs its program. So whoever gets the
/// lock knows that no creator is at work *and* that no child of a dead one is still about to become a sandbox.
#[derive(Debug)]
pub(super) struct IdLock {
    directory: File,
    path: PathBuf,
}

/// What came of trying.
#[derive(Debug)]
pub(super) enum Locking {
    Locked(IdLock),
    /// Somebody else has it. Try again in a moment.
    Busy,
    /// There is no such directory.
    Absent,
}

impl IdLock {
    /// Tries once to lock the directory, and makes it first if `make` says so.
    pub(super) fn attempt(path: &Path, make: bool) -> Result<Locking, BackendError> {
        if make {
            match DirBuilder::new().mode(0o700).create(path) {
                Err(e) if e.kind() != io::ErrorKind::AlreadyExists => {
                    return Err(failed("make the directory", path, e));
                }
                _ => {}
            }
        }
        match open(path)? {
            Some(directory) => Self::take(directory, path),
            // Whoever had it last removed it in between.
            None if make => Ok(Locking::Busy),
            None => Ok(Locking::Absent),
        }
    }

    /// Tries once to lock what was opened at `path`.
    fn take(directory: File, path: &Path) -> Result<Locking, BackendError> {
        // Called by its full name, since std has a method of the same one.
        match fs2::FileExt::try_lock_exclusive(&directory) {
            Ok(()) => {}
            Err(e) if e.kind() == fs2::lock_contended_error().kind() => return Ok(Locking::Busy),
            Err(e) => return Err(failed("lock the directory", path, e)),
        }
        let locked = directory.metadata().map_err(|e| failed("look at", path, e))?;
        match fs::symlink_metadata(path) {
            Ok(named) if (named.dev(), named.ino()) == (locked.dev(), locked.ino()) => {
                files::check_own_directory(path)?;
                Ok(Locking::Locked(Self { directory, path: path.to_owned() }))
            }
            // It was removed before it was locked: this lock is on nothing.
            Ok(_) => Ok(Locking::Busy),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(Locking::Busy),
            Err(e) => Err(failed("look at", path, e)),
        }
    }

    /// Gives the lock back and removes the directory if nothing is left in it.
    pub(super) fn finish(self) {
        // It is removed with the lock held, which is how a waiter notices. One that is not empty stays, as it must.
        let _ = fs::remove_file(self.path.join(super::place::DRAFT));
        let _ = fs::remove_dir(&self.path);
        drop(self.directory);
    }
}

/// The directory, open; `None` when there is none.
fn open(path: &Path) -> Result<Option<File>, BackendError> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match OpenOptions::new().read(true).custom_flags(flags.bits() as i32).open(path) {
        Ok(directory) => Ok(Some(directory)),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) if e.kind() == io::ErrorKind::NotADirectory => {
            files::check_own_directory(path)?;
            Err(failed("open the directory", path, e))
        }
        Err(e) => Err(failed("open the directory", path, e)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn locked(path: &Path) -> Option<IdLock> {
        match IdLock::attempt(path, true).unwrap() {
            Locking::Locked(lock) => Some(lock),
            Locking::Busy => None,
            Locking::Absent => panic!("it was to be made"),
        }
    }

    #[test]
    fn one_at_a_time_has_it_and_nothing_is_left_of_it() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("a");
        assert!(matches!(IdLock::attempt(&path, false).unwrap(), Locking::Absent));
        let first = locked(&path).unwrap();
        assert!(locked(&path).is_none());
        first.finish();
        assert!(!path.exists());
        assert!(locked(&path).is_some());
    }

    #[test]
    fn it_is_held_as_long_as_a_child_has_a_copy_of_it() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("a");
        let first = locked(&path).unwrap();
        // What a child has of it before it runs its program.
        let copy = first.directory.try_clone().unwrap();
        drop(first);
        assert!(locked(&path).is_none());
        drop(copy);
        assert!(locked(&path).is_some());
    }

    #[test]
    fn a_child_that_runs_its_program_has_it_no_more() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("a");
        let first = locked(&path).unwrap();
        let mut child = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
        drop(first);
        // Another test of this program may be starting a child at this moment, which has a copy for as long.
        let patience = leasehold::Deadline::after(std::time::Duration::from_secs(20));
        let again = std::iter::from_fn(|| (!patience.passed()).then(|| locked(&path))).flatten().next();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(again.is_some());
    }

    #[test]
    fn a_lock_on_what_was_removed_and_made_again_is_none() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("a");
        let first = locked(&path).unwrap();
        let waiting = open(&path).unwrap().unwrap();
        first.finish();
        let second = locked(&path).unwrap();
        assert!(matches!(IdLock::take(waiting, &path).unwrap(), Locking::Busy));
        second.finish();
    }
}
