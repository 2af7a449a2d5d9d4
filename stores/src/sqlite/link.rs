use std::sync::Arc;

use leasehold::{Deadline, Fence, SandboxId, StoreError};
use rusqlite::config::DbConfig;
use rusqlite::types::{ToSql, ToSqlOutput, ValueRef};
use rusqlite::{CachedStatement, Connection, FileControl, OpenFlags, OptionalExtension, params};

use super::error::{Failure, is_busy, locked};
use super::files::{Files, Identity};
use super::schema;
use super::watch::Watcher;
use crate::backoff;

/// One connection, and the files it has open.
pub(super) struct Link {
    connection: Connection,
    files: Arc<Files>,
    opened: Identity,
    watcher: Watcher,
}

impl Link {
    /// Connects to a database that is there; makes its tables if it is empty and `make` is given.
    pub(super) fn open(files: &Arc<Files>, deadline: &Deadline, make: bool) -> Result<Self, StoreError> {
        let attempt = || match Self::try_open(files, make) {
            Err(Failure::Sqlite(error)) if is_busy(&error) => Ok(None),
            other => other.map(Some).map_err(|failure| schema::told(failure, files.path())),
        };
        backoff::until(deadline, attempt, || locked(files.path(), deadline.allowed()))
    }

    fn try_open(files: &Arc<Files>, make: bool) -> Result<Self, Failure> {
        // One connection is used by one thread at a time, which the pool sees to. The path holds no link any more.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        let mut connection = Connection::open_with_flags(files.path(), flags)?;
        schema::prepare(&connection)?;
        schema::ensure(&mut connection, files.path(), make)?;
        // Looking made it open the log and its index, and it keeps them from being removed by a last one to close.
        let (watcher, opened) = files.watched();
        let mut moved = 0;
        connection.file_control(Some("main"), FileControl::HasMoved(&mut moved))?;
        let link = Self { connection, files: Arc::clone(files), opened, watcher };
        if moved != 0 || !opened.is_whole() {
            link.abandon();
            return Err(Failure::Swapped);
        }
        Ok(link)
    }

    /// Closes it without a look back at the files, which are not ours any more.
    ///
    /// The last to close a database otherwise moves its log into it and removes the log by its name.
    pub(super) fn abandon(self) {
        // Should that fail, SQLite still looks by itself whether the database is where it was.
        let _ = self.connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
    }

    pub(super) fn close(self) -> rusqlite::Result<()> {
        self.connection.close().map_err(|(_, error)| error)
    }

    /// The identity of the files it has open.
    pub(super) fn opened(&self) -> &Identity {
        &self.opened
    }

    /// Fails if the path leads to other files than those that are open.
    pub(super) fn check_files(&self) -> Result<(), Failure> {
        let is_right = self.watcher.is_right(|| self.files.identity() == self.opened);
        if is_right { Ok(()) } else { Err(Failure::Swapped) }
    }

    /// Whether it can go on being used: a failed statement may have ended the transaction or not.
    pub(super) fn is_idle(&self) -> bool {
        self.connection.is_autocommit()
    }

    /// Begins a transaction that excludes all other writers. Whoever is in the way is waited for until `deadline`.
    pub(super) fn begin(&self, deadline: &Deadline) -> Result<Held<'_>, Failure> {
        self.patiently(deadline, || self.run("BEGIN IMMEDIATE"))?;
        Ok(Held { link: self, open: true })
    }

    /// Runs `attempt` until nobody is in its way.
    pub(super) fn patiently<T>(
        &self,
        deadline: &Deadline,
        mut attempt: impl FnMut() -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let attempt = || match attempt() {
            Err(Failure::Sqlite(error)) if is_busy(&error) => Ok(None),
            other => Ok(Some(other)),
        };
        backoff::until(deadline, attempt, || locked(self.files.path(), deadline.allowed()))?
    }

    /// Shows the record column of `id` to `look`, as it is at one moment.
    pub(super) fn row<T>(
        &self,
        id: &SandboxId,
        look: impl FnOnce(Option<ValueRef<'_>>) -> T,
    ) -> Result<T, Failure> {
        let mut select = self.statement("SELECT record FROM lease WHERE id = ?1")?;
        let mut rows = select.query([id.as_str()])?;
        Ok(match rows.next()? {
            None => look(None),
            Some(row) => look(Some(row.get_ref(0)?)),
        })
    }

    /// All rows, as they are at one moment: `begun` is called once that moment has come, `each` for every row.
    pub(super) fn rows(
        &self,
        begun: impl FnOnce() -> Result<(), Failure>,
        mut each: impl FnMut(ValueRef<'_>, ValueRef<'_>),
    ) -> Result<(), Failure> {
        let mut select = self.statement("SELECT id, record FROM lease")?;
        let mut rows = select.query([])?;
        let mut row = rows.next()?;
        begun()?;
        while let Some(found) = row {
            each(found.get_ref(0)?, found.get_ref(1)?);
            row = rows.next()?;
        }
        Ok(())
    }

    /// How many pages the log has, and how many of them are in the database too, after moving over what can be moved
    /// if `moving`.
    pub(super) fn log_pages(&self, moving: bool) -> rusqlite::Result<(i64, i64)> {
        let sql = if moving { "PRAGMA wal_checkpoint(PASSIVE)" } else { "PRAGMA wal_checkpoint(NOOP)" };
        self.connection.query_row(sql, [], |row| Ok((row.get(1)?, row.get(2)?)))
    }

    fn statement(&self, sql: &str) -> rusqlite::Result<CachedStatement<'_>> {
        self.connection.prepare_cached(sql)
    }

    fn run(&self, sql: &str) -> Result<(), Failure> {
        self.statement(sql)?.execute([])?;
        Ok(())
    }
}

/// A transaction of the only writer; undone unless it is committed.
pub(super) struct Held<'a> {
    link: &'a Link,
    open: bool,
}

impl Held<'_> {
    /// Shows the record column of `id` to `look`.
    pub(super) fn row<T>(
        &self,
        id: &SandboxId,
        look: impl FnOnce(Option<ValueRef<'_>>) -> T,
    ) -> Result<T, Failure> {
        self.link.row(id, look)
    }

    pub(super) fn put(&self, id: &SandboxId, record: &[u8]) -> Result<(), Failure> {
        self.link.statement("REPLACE INTO lease VALUES (?1, ?2)")?.execute(params![id.as_str(), record])?;
        Ok(())
    }

    /// Removes the row of `id`; its fence must have gone into the mark before.
    pub(super) fn remove(&self, id: &dyn ToSql) -> Result<(), Failure> {
        self.link.statement("DELETE FROM lease WHERE id = ?1")?.execute([id])?;
        Ok(())
    }

    /// The high-water mark of fences.
    pub(super) fn mark(&self) -> Result<u64, Failure> {
        let mark: Option<i64> = self
            .link
            .statement("SELECT fence FROM mark WHERE one = 1")?
            .query_row([], |row| row.get(0))
            .optional()?;
        mark.and_then(|mark| u64::try_from(mark).ok()).ok_or_else(|| {
            let error = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT);
            Failure::Sqlite(rusqlite::Error::SqliteFailure(
                error,
                Some("the mark of fences is gone".to_owned()),
            ))
        })
    }

    /// Raises the mark to `fence` at least.
    pub(super) fn raise_mark(&self, fence: Fence) -> Result<(), Failure> {
        let raised = self
            .link
            .statement("UPDATE mark SET fence = max(fence, ?1) WHERE one = 1")?
            .execute([fence.get() as i64])?;
        // Without the row a fence would be forgotten; reading it says what is wrong.
        if raised == 1 { Ok(()) } else { self.mark().map(drop) }
    }

    /// Shows up to two rows that follow `cursor` in the order of ids.
    pub(super) fn rows_after(
        &self,
        cursor: &Key,
        mut each: impl FnMut(ValueRef<'_>, ValueRef<'_>),
    ) -> Result<(), Failure> {
        let mut select =
            self.link.statement("SELECT id, record FROM lease WHERE id > ?1 ORDER BY id LIMIT 2")?;
        let mut rows = select.query([cursor])?;
        while let Some(row) = rows.next()? {
            each(row.get_ref(0)?, row.get_ref(1)?);
        }
        Ok(())
    }

    pub(super) fn commit(mut self, deadline: &Deadline) -> Result<(), Failure> {
        self.link.patiently(deadline, || self.link.run("COMMIT"))?;
        self.open = false;
        Ok(())
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        if self.open && !self.link.is_idle() {
            // Should that fail, the pool sees that the connection is not idle and throws it away.
            let _ = self.link.run("ROLLBACK");
        }
    }
}

/// A key of the table of leases, whatever somebody else may have put there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Text(Vec<u8>),
    Blob(Vec<u8>),
}

impl Key {
    /// Before all other keys.
    pub(super) fn first() -> Self {
        Self::Text(Vec::new())
    }

    /// The key in a row; the column turns numbers into text and takes no NULL.
    pub(super) fn of(value: ValueRef<'_>) -> Self {
        match value {
            ValueRef::Text(bytes) => Self::Text(bytes.to_vec()),
            ValueRef::Blob(bytes) => Self::Blob(bytes.to_vec()),
            _ => Self::first(),
        }
    }
}

impl ToSql for Key {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Text(bytes) => ValueRef::Text(bytes),
            Self::Blob(bytes) => ValueRef::Blob(bytes),
        }))
    }
}
