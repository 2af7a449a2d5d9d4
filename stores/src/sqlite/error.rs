use std::fmt;
use std::path::Path;

use leasehold::{ErrorKind, Stage, StoreError};
use rusqlite::ErrorCode;

/// Why a step inside a connection did not work out.
pub(super) enum Failure {
    /// SQLite says so; the connection is not used again.
    Sqlite(rusqlite::Error),
    /// One record or one wait is at fault; the connection is fine.
    Told(StoreError),
    /// The files under the connection are no longer those that the path names.
    Swapped,
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Told(error)
    }
}

/// Whether somebody else is in the way and trying again will do.
pub(super) fn is_busy(error: &rusqlite::Error) -> bool {
    use ErrorCode::{DatabaseBusy, DatabaseLocked, FileLockingProtocolFailed};
    matches!(error.sqlite_error_code(), Some(DatabaseBusy | DatabaseLocked | FileLockingProtocolFailed))
}

/// SQLite's error in the words of the stores.
pub(super) fn explain(error: rusqlite::Error, path: &Path) -> StoreError {
    let path = path.display();
    let (kind, way_out) = match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull | ErrorCode::OutOfMemory) => {
            (ErrorKind::Full, format!("there is no room for {path}: make room"))
        }
        // Found out when the log was written already, so not the plain Full, which says that nothing was.
        Some(ErrorCode::SystemIoFailure) if is_extended(&error, rusqlite::ffi::SQLITE_IOERR_SHMSIZE) => {
            (ErrorKind::Unavailable, format!("there is no room for {path}-shm: make room"))
        }
        Some(
            ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::AuthorizationForStatementDenied,
        ) => (
            ErrorKind::Denied,
            format!("{path} can't be written: check the permissions of it and its directory"),
        ),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => (ErrorKind::Corrupt, damaged(&path)),
        // What SQLite calls a plain error is a statement that doesn't fit the tables.
        Some(ErrorCode::Unknown) => (ErrorKind::Corrupt, damaged(&path)),
        Some(ErrorCode::CannotOpen) => (
            ErrorKind::Unavailable,
            format!("{path} or a file beside it can't be opened: check that its directory is there"),
        ),
        code if code.is_some_and(|_| is_busy(&error)) => (ErrorKind::Timeout, format!("{path} is locked")),
        _ => (ErrorKind::Unavailable, format!("{path} can't be read or written: check its disk")),
    };
    StoreError::new(kind, format!("{way_out} ({error})")).with_source(error)
}

/// The deadline passed while another process or thread held the lock of the database.
pub(super) fn locked(path: &Path, waited: std::time::Duration) -> StoreError {
    let text = format!("somebody held the lock of {} for {waited:?}: look who has it open", path.display());
    StoreError::new(ErrorKind::Timeout, text).at(Stage::Lock)
}

/// The deadline passed while this process' other threads used its connections.
pub(super) fn no_connection(path: &Path, waited: std::time::Duration) -> StoreError {
    let text = format!("no connection to {} was free for {waited:?}", path.display());
    StoreError::new(ErrorKind::Timeout, text).at(Stage::Pool)
}

fn damaged(path: &impl fmt::Display) -> String {
    format!(
        "the database {path} is damaged: stop every gateway that uses it and move it away with its -wal and -shm; \
         the next to open it makes a new one"
    )
}

fn is_extended(error: &rusqlite::Error, code: i32) -> bool {
    error.sqlite_error().is_some_and(|inner| inner.extended_code == code)
}
