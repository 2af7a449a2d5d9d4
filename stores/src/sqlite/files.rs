use std::ffi::{CStr, CString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use rustix::fs::stat;

use super::watch::{Watch, Watcher};

/// The three files of a database: itself, its write-ahead log and the index of that log.
pub(super) struct Files {
    path: PathBuf,
    is_local: bool,
    database: CString,
    log: CString,
    index: CString,
    /// What watches the names, and what they led to when it began.
    watch: Mutex<Option<(Arc<Watch>, Identity)>>,
}

/// Which files those names led to at some moment.
///
/// SQLite goes on with the files it has open, whatever becomes of their names, and so would two processes that opened
/// them before and after a swap: each with a copy of its own. Comparing these for every operation tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    database: Option<Inode>,
    log: Option<Inode>,
    index: Option<Inode>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Inode {
    device: u64,
    number: u64,
}

impl Files {
    /// The files of the database at `path`, which has no NUL byte; `is_local` if no other host can change them.
    pub(super) fn of(path: PathBuf, is_local: bool) -> Self {
        let beside = |suffix: &str| {
            let mut name = path.as_os_str().as_bytes().to_vec();
            name.extend_from_slice(suffix.as_bytes());
            CString::new(name).expect("a path that was looked up has no NUL byte")
        };
        let (database, log, index) = (beside(""), beside("-wal"), beside("-shm"));
        Self { path, is_local, database, log, index, watch: Mutex::new(None) }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// What watches these names, and what they lead to at a moment since which it does.
    pub(super) fn watched(&self) -> (Watcher, Identity) {
        let mut current = self.watch.lock();
        let watch = match &*current {
            Some((watch, names)) if *names == self.identity() => Arc::clone(watch),
            _ => {
                // Other hosts' changes reach no kernel but theirs.
                let watch =
                    if self.is_local { Watch::on(self.names(), &self.path) } else { Watch::nothing() };
                let watch = Arc::new(watch);
                *current = Some((Arc::clone(&watch), self.identity()));
                watch
            }
        };
        let watcher = Watcher::new(watch);
        (watcher, self.identity())
    }

    fn names(&self) -> [&CStr; 3] {
        [&self.database, &self.log, &self.index]
    }

    /// What the names lead to right now.
    pub(super) fn identity(&self) -> Identity {
        let [database, log, index] = self
            .names()
            .map(|name| stat(name).ok().map(|stat| Inode { device: stat.st_dev, number: stat.st_ino }));
        Identity { database, log, index }
    }

    /// Whether the log's name leads to nothing, or to a log that nobody has written to.
    pub(super) fn has_no_log(&self) -> bool {
        stat(self.log.as_c_str()).map_or(true, |stat| stat.st_size == 0)
    }
}

impl Identity {
    /// Whether the database has both its companions, as it has from the first look of an open connection to the end of
    /// the last one.
    pub(super) fn is_whole(&self) -> bool {
        self.database.is_some() && self.log.is_some() && self.index.is_some()
    }

    pub(super) fn has_database(&self) -> bool {
        self.database.is_some()
    }

    pub(super) fn has_index(&self) -> bool {
        self.index.is_some()
    }

    pub(super) fn same_database(&self, other: &Self) -> bool {
        self.database == other.database
    }

    pub(super) fn same_log(&self, other: &Self) -> bool {
        self.log == other.log
    }

    pub(super) fn same_index(&self, other: &Self) -> bool {
        self.index == other.index
    }
}
