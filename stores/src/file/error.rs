//! What the operating system says, in our words.

use std::io;
use std::path::Path;

use leasehold::{ErrorKind, StoreError};
use rustix::io::Errno;

/// The error for a step that failed on `path`: `doing` is its verb, as in "cannot open".
pub(super) fn failed(doing: &str, path: &Path, cause: impl Into<io::Error>) -> StoreError {
    let cause = cause.into();
    let errno = Errno::from_io_error(&cause);
    let (kind, way_out) = errno.map_or((ErrorKind::Unavailable, ""), meaning);
    StoreError::new(kind, format!("cannot {doing} {}: {cause}{way_out}", path.display())).with_source(cause)
}

/// The error for a record at `place` that can't be understood.
pub(super) fn corrupt(what: impl std::fmt::Display, place: &Path) -> StoreError {
    let way_out = "and discard the id once you know that nobody uses it";
    StoreError::new(ErrorKind::Corrupt, format!("{what}; look at {}, {way_out}", place.display()))
}

/// The error for what stands at `place` and is no file at all.
pub(super) fn odd(what: &str, place: &Path) -> StoreError {
    corrupt(format!("{what} stands where a record belongs"), place)
}

fn meaning(errno: Errno) -> (ErrorKind, &'static str) {
    match errno {
        Errno::NOSPC | Errno::DQUOT => (ErrorKind::Full, "; make room there"),
        Errno::FBIG => (ErrorKind::Full, "; raise the limit of this process' file sizes"),
        Errno::MFILE => (ErrorKind::Full, "; raise this process' limit of open files"),
        Errno::NFILE => (ErrorKind::Full, "; raise this system's limit of open files"),
        Errno::NOMEM | Errno::NOLCK => (ErrorKind::Full, "; the system is out of memory for it"),
        Errno::ACCESS | Errno::PERM => (ErrorKind::Denied, "; give this process' user the right to"),
        Errno::ROFS => (ErrorKind::Denied, "; mount it writable"),
        Errno::OPNOTSUPP | Errno::NOSYS => {
            (ErrorKind::Unsupported, "; use a directory on a local file system")
        }
        Errno::NAMETOOLONG | Errno::LOOP => (ErrorKind::Invalid, "; use another path"),
        _ => (ErrorKind::Unavailable, ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_says_what_to_do_next() {
        for (errno, kind) in [
            (Errno::NOSPC, ErrorKind::Full),
            (Errno::DQUOT, ErrorKind::Full),
            (Errno::MFILE, ErrorKind::Full),
            (Errno::NFILE, ErrorKind::Full),
            (Errno::ACCESS, ErrorKind::Denied),
            (Errno::ROFS, ErrorKind::Denied),
            (Errno::OPNOTSUPP, ErrorKind::Unsupported),
            (Errno::IO, ErrorKind::Unavailable),
        ] {
            let error = failed("write", Path::new("/d/x"), errno);
            assert_eq!(error.kind(), kind, "{error}");
            assert!(error.to_string().contains("cannot write /d/x"), "{error}");
        }
    }
}
