//! Where a host store may lie: on a local file system, in a directory that is there, in files that are ours.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use leasehold::{ErrorKind, StoreError};
use rustix::fs::{CWD, FileType, Mode};
use rustix::io::Errno;

/// The real path of the database that `path` names, once it is known that it may be used.
///
/// # Errors
/// [`ErrorKind::Invalid`] for a path that can't be right, [`ErrorKind::Denied`] for somebody else's,
/// [`ErrorKind::Unsupported`] for a network file system.
pub(super) fn find(path: &Path, allow_network: bool) -> Result<PathBuf, StoreError> {
    if !path.is_absolute() {
        return Err(refuse(ErrorKind::Invalid, path, "the path must be absolute"));
    }
    let name = path.file_name().ok_or_else(|| refuse(ErrorKind::Invalid, path, "it names no file"))?;
    let parent = path.parent().expect("a path with a file name has a parent");
    let parent = fs::canonicalize(parent).map_err(|e| unreachable_place(e, parent))?;
    let plain = parent.join(name);
    let is_link = fs::symlink_metadata(&plain).is_ok_and(|file| file.is_symlink());
    let real = if is_link {
        // A link to nothing would have the file made wherever it points.
        fs::canonicalize(&plain).map_err(|e| {
            refuse(ErrorKind::Invalid, path, "it is a link to a file that isn't there").with_source(e)
        })?
    } else {
        plain
    };
    let directory = real.parent().expect("a path with a file name has a parent");
    let owner_of_directory = fs::metadata(directory).map_err(|e| unreachable_place(e, directory))?.uid();
    let me = rustix::process::geteuid().as_raw();
    if real != path && owner_of_directory != me && owner_of_directory != 0 {
        return Err(refuse(
            ErrorKind::Denied,
            path,
            &format!(
                "it is a link into a directory of user {owner_of_directory}; give a directory of your own"
            ),
        ));
    }
    if let Ok(file) = fs::metadata(&real) {
        if file.is_dir() {
            return Err(refuse(ErrorKind::Invalid, path, "it is a directory; name a file in it"));
        }
        if !file.is_file() {
            return Err(refuse(ErrorKind::Invalid, path, "it is no regular file"));
        }
        check_owner(&real)?;
    }
    if !allow_network {
        refuse_network(path, directory)?;
    }
    Ok(real)
}

/// Refuses a file of another user; one that isn't there is nobody's.
pub(super) fn check_owner(path: &Path) -> Result<(), StoreError> {
    let me = rustix::process::geteuid().as_raw();
    match fs::metadata(path) {
        Ok(file) if file.uid() != me => {
            let why = format!("it belongs to user {}; give a file of your own", file.uid());
            Err(refuse(ErrorKind::Denied, path, &why))
        }
        _ => Ok(()),
    }
}

/// Makes an empty file that only this user can read, unless there is one.
///
/// It is made without being opened: closing a second descriptor of a database drops all the locks that this process has
/// on it, those of another store among them.
pub(super) fn create(path: &Path) -> Result<(), StoreError> {
    let kind = match rustix::fs::mknodat(CWD, path, FileType::RegularFile, Mode::RUSR | Mode::WUSR, 0) {
        Ok(()) | Err(Errno::EXIST) => return Ok(()),
        Err(Errno::ACCESS | Errno::PERM | Errno::ROFS) => ErrorKind::Denied,
        Err(Errno::NOSPC | Errno::DQUOT) => ErrorKind::Full,
        Err(_) => ErrorKind::Unavailable,
    };
    Err(refuse(kind, path, "it can't be made: check its directory's permissions and room"))
}

fn refuse_network(path: &Path, directory: &Path) -> Result<(), StoreError> {
    // From linux/magic.h and the file systems' own sources. Locks on these come and go with a network, or are none.
    const NETWORK: [(u64, &str); 12] = [
        (0x6969, "nfs"),
        (0x517b, "smb"),
        (0xff53_4d42, "cifs"),
        (0xfe53_4d42, "smb2"),
        (0x0102_1997, "9p"),
        (0x00c3_6400, "ceph"),
        (0x564c, "ncp"),
        (0x5346_414f, "afs"),
        (0x6b41_4653, "kafs"),
        (0x7375_7245, "coda"),
        (0x0bd0_0bd0, "lustre"),
        (0x4750_4653, "gpfs"),
    ];
    let stat = rustix::fs::statfs(directory).map_err(|e| unreachable_place(e.into(), directory))?;
    // The type is a signed word on some machines; only its low 32 bits are the magic number.
    let magic = stat.f_type as u64 & 0xffff_ffff;
    match NETWORK.iter().find(|(number, _)| *number == magic) {
        None => Ok(()),
        Some((_, name)) => Err(refuse(
            ErrorKind::Unsupported,
            path,
            &format!(
                "it lies on a network file system ({name}), whose locks can't be relied on; give a local one, use a \
                 server, or say network=allow if you know better"
            ),
        )),
    }
}

fn unreachable_place(error: std::io::Error, place: &Path) -> StoreError {
    let kind = match error.kind() {
        std::io::ErrorKind::PermissionDenied => ErrorKind::Denied,
        std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => ErrorKind::Invalid,
        _ => ErrorKind::Unavailable,
    };
    let way_out = "make the directory and see that this user may enter it";
    StoreError::new(kind, format!("{} can't be reached: {way_out} ({error})", place.display()))
        .with_source(error)
}

fn refuse(kind: ErrorKind, path: &Path, why: &str) -> StoreError {
    StoreError::new(kind, format!("{} can't be used: {why}", path.display()))
}
