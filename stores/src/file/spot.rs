//! Where a file of the store is, and what is done to it there.

use std::ffi::{CStr, CString, OsStr};
use std::fs::File;
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use leasehold::{Deadline, ErrorKind, SandboxId, Stage, StoreError};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Statx, StatxFlags};
use rustix::io::Errno;

use super::entered::Entered;
use super::error::failed;
use super::name;

/// The path of one file, whose end is its name. Both are kept as the kernel takes them.
#[derive(Debug)]
pub(super) struct Spot {
    path: CString,
    name_at: usize,
}

impl Spot {
    /// The file `name` in the directory `dir`.
    pub(super) fn new(dir: &Path, name: &[u8]) -> Self {
        Self::build(dir, name.len(), |path| path.extend_from_slice(name))
    }

    /// The record file of `id` in the directory `dir`.
    pub(super) fn of(dir: &Path, id: &SandboxId) -> Self {
        Self::build(dir, name::len(id), |path| name::push(path, id))
    }

    fn build(dir: &Path, name_len: usize, push_name: impl FnOnce(&mut Vec<u8>)) -> Self {
        let dir = dir.as_os_str().as_bytes();
        // Exactly as long as it gets, the zero byte at the end included: so it is never moved.
        let mut path = Vec::with_capacity(dir.len() + 1 + name_len + 1);
        path.extend_from_slice(dir);
        path.push(b'/');
        push_name(&mut path);
        let path = CString::new(path).expect("the directory was opened, and no name has a NUL byte");
        Self { path, name_at: dir.len() + 1 }
    }

    fn name(&self) -> &CStr {
        &self.path.as_c_str()[self.name_at..]
    }

    /// The path, for messages.
    pub(super) fn path(&self) -> &Path {
        Path::new(OsStr::from_bytes(self.path.to_bytes()))
    }
}

/// A spot seen from somewhere: by its whole path, or from a directory in hand.
#[derive(Clone, Copy, Debug)]
pub(super) struct At<'a> {
    spot: &'a Spot,
    dir: BorrowedFd<'a>,
    name: &'a CStr,
}

/// What was found at a spot.
#[derive(Debug)]
pub(super) enum Opened {
    /// A file, which may yet turn out not to be a regular one.
    File(File),
    /// No file.
    Nothing,
    /// Something that is never opened, in words.
    Odd(&'static str),
}

/// What a file is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// To look. Opened for writing all the same where that is allowed, because NFS gives an exclusive lock to writers
    /// alone; but looking works on a file system that an error turned read-only, too.
    Read,
    /// To look and to change.
    Write,
    /// To look and to change, making an empty file if there is none.
    Create,
}

impl<'a> At<'a> {
    /// Each call walks the whole path.
    pub(super) fn path(spot: &'a Spot) -> Self {
        Self { spot, dir: CWD, name: &spot.path }
    }

    /// Each call looks into `dir`, whatever its path names by now.
    pub(super) fn inside(dir: &'a Entered<'_>, spot: &'a Spot) -> Self {
        Self { spot, dir: dir.fd(), name: spot.name() }
    }

    pub(super) fn spot(&self) -> &'a Spot {
        self.spot
    }

    /// Links are not followed, a pipe does not block, and a program started meanwhile does not inherit the file.
    pub(super) fn open(&self, access: Access) -> Result<Opened, StoreError> {
        let safely = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let open = |how| rustix::fs::openat(self.dir, self.name, how | safely, Mode::RUSR | Mode::WUSR);
        let opened = match access {
            Access::Read => open(OFlags::RDWR).or_else(|e| match e {
                Errno::ROFS | Errno::ACCESS => open(OFlags::RDONLY),
                e => Err(e),
            }),
            Access::Write => open(OFlags::RDWR),
            Access::Create => open(OFlags::RDWR | OFlags::CREATE),
        };
        match opened {
            Ok(fd) => Ok(Opened::File(File::from(fd))),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(Opened::Nothing),
            Err(Errno::LOOP) => Ok(Opened::Odd("a symbolic link")),
            Err(Errno::ISDIR) => Ok(Opened::Odd("a directory")),
            Err(Errno::NXIO | Errno::NODEV) => Ok(Opened::Odd("a socket or a device")),
            Err(e) => Err(self.failed("open", e)),
        }
    }

    /// What stands there, a link taken for itself; `None` for nothing.
    pub(super) fn look(&self) -> Result<Option<Looks>, StoreError> {
        match rustix::fs::statx(self.dir, self.name, AtFlags::SYMLINK_NOFOLLOW, Looks::ASKED) {
            Ok(found) => Ok(Some(Looks::of(&found))),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
            Err(e) => Err(self.failed("look at", e)),
        }
    }

    /// What `file`, which was opened there, looks like; `None` once something else or nothing stands there.
    pub(super) fn look_again(&self, file: &File) -> Result<Option<Looks>, StoreError> {
        let ours = rustix::fs::statx(file, c"", AtFlags::EMPTY_PATH, Looks::ASKED)
            .map(|found| Looks::of(&found))
            .map_err(|e| self.failed("look at", e))?;
        Ok(self.look()?.is_some_and(|named| named.file == ours.file).then_some(ours))
    }

    /// Takes away what stands there and is no directory. Nothing is just as good.
    pub(super) fn unlink(&self) -> Result<(), StoreError> {
        match rustix::fs::unlinkat(self.dir, self.name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(e) => Err(self.failed("remove", e)),
        }
    }

    /// Takes away an empty directory; `false` if it is not empty.
    pub(super) fn remove_dir(&self) -> Result<bool, StoreError> {
        match rustix::fs::unlinkat(self.dir, self.name, AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT) => Ok(true),
            Err(Errno::NOTEMPTY | Errno::EXIST) => Ok(false),
            Err(e) => Err(self.failed("remove", e)),
        }
    }

    /// Nothing, while there is time to try again what found another file at each attempt.
    pub(super) fn in_time(&self, deadline: &Deadline) -> Result<(), StoreError> {
        if !deadline.passed() {
            return Ok(());
        }
        let (path, waited) = (self.spot.path().display(), deadline.allowed());
        let why = format!("{path} was replaced again and again for {waited:?}");
        Err(StoreError::new(ErrorKind::Timeout, why).at(Stage::Lock))
    }

    /// The error for a step that failed here.
    pub(super) fn failed(&self, doing: &str, cause: impl Into<std::io::Error>) -> StoreError {
        failed(doing, self.spot.path(), cause)
    }
}

/// What the store wants to know of a file, its times apart. After a kernel was asked for a file's times, it gives the next
/// write a finer one, which costs that as much as the write itself; so they are not asked for without need.
#[derive(Clone, Copy, Debug)]
pub(super) struct Looks {
    pub(super) kind: FileType,
    /// Which file it is: equal for two names of one file alone.
    file: (u32, u32, u64),
}

impl Looks {
    const ASKED: StatxFlags = StatxFlags::TYPE.union(StatxFlags::INO);

    fn of(found: &Statx) -> Self {
        let kind = FileType::from_raw_mode(found.stx_mode.into());
        Self { kind, file: (found.stx_dev_major, found.stx_dev_minor, found.stx_ino) }
    }

    /// What this kind of file is called in a sentence.
    pub(super) fn in_words(&self) -> &'static str {
        match self.kind {
            FileType::RegularFile => "a file",
            FileType::Directory => "a directory",
            FileType::Symlink => "a symbolic link",
            FileType::Fifo => "a pipe",
            FileType::Socket => "a socket",
            _ => "a device",
        }
    }
}
