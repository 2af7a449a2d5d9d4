//! Exclusive and shared locks on open files; the only file that uses `fs2`.
//!
//! The lock is `flock(2)`: it belongs to the open file, so two opens in one process exclude each other as well as two
//! processes do, and the kernel drops it when the last copy of the descriptor is closed, however its process ended. A
//! child that is forked while the lock is held has such a copy. That is why a guard unlocks by itself rather than
//! leaving it to the close: unlocking through any copy unlocks for all.

use std::fs::File;
use std::io;
use std::ops::Deref;
use std::path::Path;

use leasehold::{Deadline, ErrorKind, Stage, StoreError};

use super::error::failed;
use crate::backoff;

/// A file with a lock on it, unlocked when dropped.
#[derive(Debug)]
pub(super) struct Locked(File);

/// Whom a lock keeps out.
#[derive(Clone, Copy, Debug)]
pub(super) enum Mode {
    /// Everyone.
    Exclusive,
    /// Those who want it exclusively.
    Shared,
}

impl Locked {
    /// Locks `file`, which was opened at `path`, by the deadline, and says whether it had to wait. At least one attempt
    /// is made.
    pub(super) fn acquire(
        file: File,
        mode: Mode,
        path: &Path,
        deadline: &Deadline,
    ) -> Result<(Self, bool), StoreError> {
        let late = || {
            let waited = deadline.allowed();
            let way_out = "see who holds it with lslocks";
            StoreError::new(
                ErrorKind::Timeout,
                format!("{} stayed locked by somebody else for {waited:?}; {way_out}", path.display()),
            )
            .at(Stage::Lock)
        };
        let mut attempts = 0;
        let mut attempt = || {
            attempts += 1;
            attempt(&file, mode, path)
        };
        backoff::until(deadline, &mut attempt, late)?;
        Ok((Self(file), attempts > 1))
    }
}

/// `Some` once the lock is ours, `None` while it is somebody else's.
fn attempt(file: &File, mode: Mode, path: &Path) -> Result<Option<()>, StoreError> {
    let tried = match mode {
        Mode::Exclusive => fs2::FileExt::try_lock_exclusive(file),
        Mode::Shared => fs2::FileExt::try_lock_shared(file),
    };
    match tried {
        Ok(()) => Ok(Some(())),
        Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => Ok(None),
        Err(e) => Err(failed("lock", path, e)),
    }
}

impl Deref for Locked {
    type Target = File;

    fn deref(&self) -> &File {
        &self.0
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        // Unlocking a lock that is held can't fail; if it did, the close that follows would still end it here.
        let _ = fs2::FileExt::unlock(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn acquire(file: File, mode: Mode) -> Result<Locked, StoreError> {
        Locked::acquire(file, mode, Path::new("it"), &Deadline::after(Duration::ZERO))
            .map(|(locked, _)| locked)
    }

    #[test]
    fn a_copy_of_the_descriptor_in_a_forked_child_does_not_keep_the_lock() {
        let dir = tempfile::tempdir().unwrap();
        let open = || File::create(dir.path().join("x")).unwrap();
        let locked = acquire(open(), Mode::Exclusive).unwrap();
        // What fork leaves in the child: another descriptor of the same open file.
        let copy = locked.try_clone().unwrap();
        assert_eq!(acquire(open(), Mode::Exclusive).unwrap_err().kind(), ErrorKind::Timeout);
        drop(locked);
        acquire(open(), Mode::Exclusive).unwrap();
        drop(copy);
    }

    #[test]
    fn readers_share_and_writers_do_not() {
        let dir = tempfile::tempdir().unwrap();
        let open = || File::create(dir.path().join("x")).unwrap();
        let readers = [acquire(open(), Mode::Shared).unwrap(), acquire(open(), Mode::Shared).unwrap()];
        let error = acquire(open(), Mode::Exclusive).unwrap_err();
        assert_eq!((error.kind(), error.stage()), (ErrorKind::Timeout, Some(Stage::Lock)));
        assert!(!error.may_have_happened());
        drop(readers);
        acquire(open(), Mode::Exclusive).unwrap();
    }
}
