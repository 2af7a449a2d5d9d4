use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use rusqlite::Connection;
use tempfile::TempDir;

/// A piece of real blocking work: at least one system call that may put its thread to sleep.
pub(super) trait Work: Send + Sync + 'static {
    /// Does it once.
    fn work(&self) -> io::Result<()>;
}

/// Writes a file, reads it back and asks for its size.
pub(super) struct FileWork {
    dir: TempDir,
}

impl FileWork {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self { dir: directory()? })
    }
}

impl Work for FileWork {
    fn work(&self) -> io::Result<()> {
        let path = self.dir.path().join("record");
        fs::write(&path, b"a lease")?;
        fs::read(&path)?;
        fs::metadata(&path).map(drop)
    }
}

/// Waits for a lock on a file, which another worker of the same probe may hold.
pub(super) struct LockWork {
    path: PathBuf,
    _dir: TempDir,
}

impl LockWork {
    pub(super) fn new() -> io::Result<Self> {
        let dir = directory()?;
        let path = dir.path().join("lock");
        File::create(&path)?;
        Ok(Self { path, _dir: dir })
    }
}

impl Work for LockWork {
    /// Nobody holds the lock for longer than this function runs, so the wait needs no deadline of its own.
    fn work(&self) -> io::Result<()> {
        let file = File::open(&self.path)?;
        fs2::FileExt::lock_exclusive(&file)?;
        fs2::FileExt::unlock(&file)
    }
}

/// Sleeps for a moment.
pub(super) struct SleepWork;

impl Work for SleepWork {
    #[expect(clippy::disallowed_methods, reason = "blocking for a moment is what this probe is for")]
    fn work(&self) -> io::Result<()> {
        std::thread::sleep(Duration::from_micros(200));
        Ok(())
    }
}

/// Opens a database and asks it a question.
pub(super) struct SqliteWork {
    path: PathBuf,
    _dir: TempDir,
}

impl SqliteWork {
    pub(super) fn new() -> io::Result<Self> {
        let dir = directory()?;
        let path = dir.path().join("leases.db");
        let made = Connection::open(&path)
            .and_then(|db| db.execute_batch("create table lease (id text); insert into lease values ('a')"));
        made.map_err(io::Error::other)?;
        Ok(Self { path, _dir: dir })
    }
}

impl Work for SqliteWork {
    fn work(&self) -> io::Result<()> {
        let count =
            |db: Connection| db.query_row("select count(*) from lease", [], |row| row.get::<_, i64>(0));
        let leases = Connection::open(&self.path).and_then(count).map_err(io::Error::other)?;
        if leases == 1 { Ok(()) } else { Err(io::Error::other(format!("{leases} rows where there is one"))) }
    }
}

fn directory() -> io::Result<TempDir> {
    tempfile::Builder::new().prefix("leasehold-probe-").tempdir()
}
