//! What the operating system says, in our words.

use std::io;
use std::path::Path;

use leasehold::{BackendError, BackendErrorKind};
use rustix::io::Errno;

/// The error for a step that failed on `path`: `doing` is its verb, as in "cannot open".
pub(super) fn failed(doing: &str, path: &Path, cause: impl Into<io::Error>) -> BackendError {
    let cause = cause.into();
    let errno = Errno::from_io_error(&cause);
    let (kind, way_out) = errno.map_or((BackendErrorKind::Unavailable, ""), meaning);
    BackendError::new(kind, format!("cannot {doing} {}: {cause}{way_out}", path.display())).with_source(cause)
}

/// The error for what stands at `path` and can't be understood.
pub(super) fn corrupt(what: impl std::fmt::Display, path: &Path) -> BackendError {
    let way_out = "and remove it once you know that no process of it is left";
    let text = format!("{what}; look at {}, {way_out}", path.display());
    BackendError::new(BackendErrorKind::Corrupt, text)
}

fn meaning(errno: Errno) -> (BackendErrorKind, &'static str) {
    use BackendErrorKind::{Denied, Full, Invalid, Unavailable, Unsupported};
    match errno {
        Errno::NOSPC | Errno::DQUOT => (Full, "; make room there"),
        Errno::FBIG => (Full, "; raise the limit of this process' file sizes"),
        Errno::MFILE => (Full, "; raise this process' limit of open files"),
        Errno::NFILE => (Full, "; raise this system's limit of open files"),
        Errno::AGAIN => (Full, "; raise the limit of processes"),
        Errno::NOMEM | Errno::NOLCK => (Full, "; the system is out of memory for it"),
        Errno::ACCESS | Errno::PERM => (Denied, "; give this process' user the right to"),
        Errno::ROFS => (Denied, "; mount it writable"),
        Errno::OPNOTSUPP | Errno::NOSYS => (Unsupported, "; use a directory on a local file system"),
        Errno::LOOP => (Invalid, "; a link stands there, and none is followed"),
        Errno::NAMETOOLONG => (Invalid, "; use a shorter path"),
        _ => (Unavailable, ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_says_what_to_do_next() {
        for (errno, kind) in [
            (Errno::NOSPC, BackendErrorKind::Full),
            (Errno::AGAIN, BackendErrorKind::Full),
            (Errno::ACCESS, BackendErrorKind::Denied),
            (Errno::LOOP, BackendErrorKind::Invalid),
            (Errno::IO, BackendErrorKind::Unavailable),
        ] {
            assert_eq!(failed("open", Path::new("/x"), errno).kind(), kind, "{errno}");
        }
    }
}
