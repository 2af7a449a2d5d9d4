//! Whose database this is, and what is in it.

use std::path::Path;

use leasehold::{ErrorKind, StoreError};
use rusqlite::{Connection, ErrorCode};

use super::error::{Failure, explain};

/// `LHLD`, in the place of the file's header that says which program the file is for.
pub(super) const APPLICATION: i32 = 0x4c48_4c44;
/// The version of the tables below, kept as the database's `user_version`.
pub(super) const VERSION: i32 = 1;

/// Bytes a page.
const PAGE: i32 = 2048;

/// A row of `lease` is the record of one sandbox. The one row of `mark` is at least the fence of every record that was
/// ever forgotten.
const TABLES: &str = "
    CREATE TABLE lease (id TEXT NOT NULL PRIMARY KEY, record BLOB NOT NULL) WITHOUT ROWID;
    CREATE TABLE mark (one INTEGER PRIMARY KEY CHECK (one = 1), fence INTEGER NOT NULL);
    INSERT INTO mark VALUES (1, 0);
";

/// Sets up one connection; changes nothing in the file.
///
/// In WAL mode with NORMAL, a commit costs no fsync: what a power cut may take away are the last leases before a reboot,
/// which the reboot voids.
pub(super) fn prepare(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(std::time::Duration::ZERO)?;
    connection.set_prepared_statement_cache_capacity(32);
    connection.execute_batch(
        "PRAGMA synchronous = NORMAL; PRAGMA trusted_schema = OFF; PRAGMA temp_store = MEMORY; \
         PRAGMA journal_size_limit = 16777216;",
    )
}

/// Makes sure that the database is one of ours, in WAL mode and of this version; makes it so if it is empty and `make`
/// is given. Every step may meet others who do the same, so all of it may be done again.
pub(super) fn ensure(connection: &mut Connection, path: &Path, make: bool) -> Result<(), Failure> {
    match (look(connection, path)?, make) {
        (State::Ours, _) => in_wal_mode(connection),
        (State::Empty, true) => {
            // A commit writes whole pages: small ones halve its cost, and the longest row still fits into one.
            connection.pragma_update(None, "page_size", PAGE)?;
            in_wal_mode(connection)?;
            let writing = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
            if look(&writing, path)? == State::Empty {
                writing.execute_batch(TABLES)?;
                writing.pragma_update(None, "application_id", APPLICATION)?;
                writing.pragma_update(None, "user_version", VERSION)?;
            }
            Ok(writing.commit()?)
        }
        (State::Empty, false) => Err(Failure::Told(StoreError::new(
            ErrorKind::Unavailable,
            format!(
                "the database {} was emptied: put it back, or open the store anew to start afresh",
                path.display()
            ),
        ))),
    }
}

#[derive(PartialEq, Eq)]
enum State {
    Empty,
    Ours,
}

fn look(connection: &Connection, path: &Path) -> Result<State, Failure> {
    let told = |kind, why: String| {
        Err(Failure::Told(StoreError::new(kind, format!("the database {} {why}", path.display()))))
    };
    // One statement, so that all three are of one moment.
    let seen = connection.query_row(
        "SELECT (SELECT application_id FROM pragma_application_id), (SELECT user_version FROM pragma_user_version), \
         (SELECT count(*) FROM sqlite_schema), \
         (SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name IN ('lease', 'mark'))",
        [],
        |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)),
    );
    let seen: (i32, i32, i64, i64) = seen?;
    match seen {
        (APPLICATION, VERSION, _, 2) => Ok(State::Ours),
        (APPLICATION, version, ..) if version > VERSION => told(
            ErrorKind::Unsupported,
            format!("has version {version}; this build reads up to version {VERSION}: upgrade it"),
        ),
        (APPLICATION, version, _, tables) => told(
            ErrorKind::Corrupt,
            format!(
                "has version {version} and {tables} of the 2 tables of leases: stop every gateway that uses it and \
                 move it away with its -wal and -shm"
            ),
        ),
        (0, 0, 0, _) => Ok(State::Empty),
        _ => told(
            ErrorKind::Invalid,
            "is no leasehold database, it belongs to another program: name another file".to_owned(),
        ),
    }
}

/// Switching needs the database for a moment alone, and says so by a refusal or by an unchanged mode.
fn in_wal_mode(connection: &Connection) -> Result<(), Failure> {
    let mode: String = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
    if mode == "wal" {
        return Ok(());
    }
    let busy = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_BUSY);
    Err(Failure::Sqlite(rusqlite::Error::SqliteFailure(busy, Some(format!("journal mode is {mode}")))))
}

/// The error of an attempt to open, in the words of the stores.
pub(super) fn told(failure: Failure, path: &Path) -> StoreError {
    match failure {
        Failure::Told(error) => error,
        Failure::Sqlite(error) if error.sqlite_error_code() == Some(ErrorCode::NotADatabase) => {
            let text = format!("{} is no SQLite database: name another file", path.display());
            StoreError::new(ErrorKind::Invalid, text).with_source(error)
        }
        Failure::Sqlite(error) => explain(error, path),
        Failure::Swapped => {
            let text = format!("the database {} was replaced while it was opened: ask again", path.display());
            StoreError::new(ErrorKind::Unavailable, text)
        }
    }
}
