use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::process;

use leasehold::{ErrorKind, OwnerId, StoreError};

use super::row::Row;
use super::world::State;

/// A directory in which several processes keep one world: a file of rows behind a lock, and for each process a file that
/// it has locked for as long as it runs.
#[derive(Debug)]
pub(super) struct Place {
    directory: PathBuf,
    rows: PathBuf,
    /// Locked, so that others can tell that this process runs.
    _alive: File,
    /// Whether the directory goes when this value goes.
    is_mine: bool,
}

impl Place {
    /// A new one, which goes when this value goes. Where the processes are `apart`, each has rows of its own.
    pub(super) fn new(apart: bool) -> io::Result<Self> {
        let name = format!("leasehold-faulty-{}", OwnerId::generate().as_str().replace(':', "-"));
        let directory = std::env::temp_dir().join(name);
        fs::create_dir(&directory)?;
        Self::open(directory, apart, true)
    }

    /// The one at `directory`.
    pub(super) fn at(directory: &Path, apart: bool) -> io::Result<Self> {
        Self::open(directory.to_owned(), apart, false)
    }

    fn open(directory: PathBuf, apart: bool, is_mine: bool) -> io::Result<Self> {
        let alive = open(&directory.join(format!("alive-{}", process::id())))?;
        alive.lock_shared()?;
        let rows = if apart { format!("rows-{}", process::id()) } else { "rows".to_owned() };
        Ok(Self { rows: directory.join(rows), directory, _alive: alive, is_mine })
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    pub(super) fn is_alive(&self, writer: u32) -> bool {
        let alive = File::open(self.directory.join(format!("alive-{writer}")));
        alive.is_ok_and(|alive| matches!(alive.try_lock(), Err(TryLockError::WouldBlock)))
    }

    /// Locks the rows and reads them into `state`.
    pub(super) fn read(&self, state: &mut State) -> Result<File, StoreError> {
        let read = || -> io::Result<(File, String)> {
            let mut file = open(&self.rows)?;
            file.lock()?;
            let mut text = String::new();
            file.read_to_string(&mut text)?;
            Ok((file, text))
        };
        let failed = |why: &dyn std::fmt::Display| {
            StoreError::new(ErrorKind::Unavailable, format!("{}: {why}", self.rows.display()))
        };
        let (file, text) = read().map_err(|e| failed(&e))?;
        state.rows.clear();
        for line in text.lines() {
            match *line.split('\t').collect::<Vec<_>>() {
                [mark] => state.mark = mark.parse().map_err(|e| failed(&e))?,
                [key, writer, bytes] => {
                    let row = Row {
                        bytes: unhex(bytes),
                        writer: writer.parse().map_err(|e| failed(&e))?,
                        ..Row::default()
                    };
                    state.rows.insert(key.to_owned(), row);
                }
                _ => return Err(failed(&"a line of neither kind")),
            }
        }
        Ok(file)
    }

    /// Writes `state` back, before the lock of `file` goes.
    pub(super) fn write(&self, file: &mut File, state: &State) {
        let mut text = format!("{}\n", state.mark);
        for (key, row) in &state.rows {
            let bytes = row.bytes.as_ref().map_or("-".to_owned(), |bytes| hex(bytes));
            text.push_str(&format!("{key}\t{}\t{bytes}\n", row.writer));
        }
        let written =
            file.rewind().and_then(|()| file.set_len(0)).and_then(|()| file.write_all(text.as_bytes()));
        // A case has no way to hear of it here, and its next look finds what is missing.
        drop(written);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if self.is_mine {
            // What can't be removed lies in the system's temporary directory.
            let _ = fs::remove_dir_all(&self.directory);
        }
    }
}

fn open(path: &Path) -> io::Result<File> {
    File::options().read(true).write(true).create(true).truncate(false).open(path)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let byte = |at| u8::from_str_radix(text.get(at..at + 2)?, 16).ok();
    if text == "-" { None } else { (0..text.len()).step_by(2).map(byte).collect() }
}
