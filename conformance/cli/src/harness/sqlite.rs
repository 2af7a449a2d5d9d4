//! The harness of the SQLite store.

use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use leasehold::{Clock, OwnerId, OwnershipStore, Reach, SandboxId, StoreError, Ttl};
use leasehold_conformance::{Capabilities, Damage, Faults, Harness, Namespace, Outage, Unready};
use rusqlite::types::Value;
use rusqlite::{Connection, OpenFlags, OptionalExtension, params};

/// Every namespace is a database of its own: in a directory of its own, or beside one that a URL names.
#[derive(Clone, Debug, Default)]
pub struct SqliteHarness {
    beside: Option<PathBuf>,
}

impl SqliteHarness {
    /// What the store promises here: less than it does by default, so that cases with a held lock go faster.
    const DEADLINE: Duration = Duration::from_secs(1);

    /// Each namespace in a new file beside `path`, with its name and random digits. Nothing that is there already is
    /// touched, `path` itself included.
    #[must_use]
    pub fn at_path(path: PathBuf) -> Self {
        Self { beside: Some(path) }
    }
}

impl Harness for SqliteHarness {
    fn name(&self) -> String {
        "sqlite".to_owned()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::virtual_time(Reach::Host).boot_bound().deadline(Self::DEADLINE)
    }

    fn fresh(&self) -> Result<Box<dyn Namespace>, Unready> {
        let Some(beside) = &self.beside else {
            let directory = tempfile::Builder::new().prefix("leasehold-sqlite-").tempdir()?;
            let path = directory.path().join("leases.db");
            return Ok(Box::new(SqliteNamespace::new(path, Owned::Directory(directory))));
        };
        let random = RandomState::new().hash_one(std::process::id());
        let mut name = beside.file_name().ok_or_else(|| Unready::broken("the URL names no file"))?.to_owned();
        name.push(format!("-{random:016x}"));
        Ok(Box::new(SqliteNamespace::new(beside.with_file_name(name), Owned::Files)))
    }

    fn at(&self, address: &str) -> Result<Box<dyn Namespace>, Unready> {
        Ok(Box::new(SqliteNamespace::new(address.into(), Owned::Nothing)))
    }
}

struct SqliteNamespace {
    path: PathBuf,
    owned: Owned,
    /// The outage that is on, and what keeps it on.
    outage: Mutex<Option<Trouble>>,
}

/// What goes away with the namespace.
enum Owned {
    Nothing,
    Files,
    /// Kept only to be dropped.
    Directory(#[expect(dead_code, reason = "its drop removes the directory")] tempfile::TempDir),
}

enum Trouble {
    /// The database lies elsewhere, and a directory in its place.
    MovedTo(PathBuf),
    /// A connection holds the write lock.
    Locked(#[expect(dead_code, reason = "the lock lasts as long as the connection")] Connection),
}

impl SqliteNamespace {
    fn new(path: PathBuf, owned: Owned) -> Self {
        Self { path, owned, outage: Mutex::new(None) }
    }

    /// A connection beside the store's. The file is never opened otherwise: closing it would drop the store's locks.
    fn connect(&self) -> Result<Connection, Unready> {
        let connection = Connection::open_with_flags(&self.path, OpenFlags::SQLITE_OPEN_READ_WRITE);
        connection.map_err(broken)
    }

    fn record(&self, id: &SandboxId) -> Result<Option<Value>, Unready> {
        let connection = self.connect()?;
        let sql = "SELECT record FROM lease WHERE id = ?1";
        connection.query_row(sql, [id.as_str()], |row| row.get(0)).optional().map_err(broken)
    }

    /// The record of `id` after `change`, which must be there and a blob.
    fn changed(&self, id: &SandboxId, change: impl FnOnce(&mut Vec<u8>)) -> Result<Value, Unready> {
        match self.record(id)? {
            Some(Value::Blob(mut bytes)) => {
                change(&mut bytes);
                Ok(Value::Blob(bytes))
            }
            other => Err(Unready::broken(format!("{id} has no record to damage but {other:?}"))),
        }
    }

    fn files(&self) -> [PathBuf; 3] {
        ["", "-wal", "-shm"].map(|suffix| with_suffix(&self.path, suffix))
    }
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn broken(error: rusqlite::Error) -> Unready {
    Unready::broken(error.to_string())
}

impl Namespace for SqliteNamespace {
    fn open(
        &self,
        owner: OwnerId,
        ttl: Ttl,
        clock: Arc<dyn Clock>,
    ) -> Result<Arc<dyn OwnershipStore>, StoreError> {
        let deadline = SqliteHarness::DEADLINE.as_millis();
        let url = format!("sqlite:{}?deadline_ms={deadline}", self.path.display());
        leasehold_stores::open_with(&url.parse()?, owner, ttl, clock).map(Arc::from)
    }

    fn address(&self) -> Option<String> {
        self.path.to_str().map(str::to_owned)
    }

    fn stored(&self) -> Option<u64> {
        let connection = self.connect().ok()?;
        let rows: i64 = connection.query_row("SELECT count(*) FROM lease", [], |row| row.get(0)).ok()?;
        u64::try_from(rows).ok()
    }

    fn faults(&self) -> Option<&dyn Faults> {
        Some(self)
    }
}

impl Faults for SqliteNamespace {
    fn damages(&self) -> &'static [Damage] {
        use Damage::{Flipped, Garbage, Misplaced, Newer, Torn, WrongType};
        &[Torn, Flipped, Newer, Garbage, WrongType, Misplaced]
    }

    fn damage(&self, id: &SandboxId, how: Damage) -> Result<(), Unready> {
        let record = match how {
            Damage::Torn => self.changed(id, |bytes| bytes.truncate(bytes.len() / 2))?,
            Damage::Flipped => self.changed(id, |bytes| bytes[20] ^= 0x10)?,
            Damage::Newer => self.changed(id, |bytes| bytes[4] = 2)?,
            Damage::Garbage => Value::Blob(b"\xff\x00 no record at all".to_vec()),
            Damage::WrongType => Value::Integer(42),
            Damage::Misplaced => {
                // Another id's record, written by the store itself and thus intact.
                let other: SandboxId = format!("{:.100}.misplaced", id.as_str())
                    .parse()
                    .map_err(|e| Unready::broken(format!("no second id: {e}")))?;
                let ttl = Ttl::from_millis(60_000).map_err(|e| Unready::broken(e.to_string()))?;
                let failed = |e: StoreError| Unready::broken(e.to_string());
                let clock = leasehold::ManualClock::new();
                let store = self.open(OwnerId::generate(), ttl, Arc::new(clock)).map_err(failed)?;
                let _taken = store.take(&other).map_err(failed)?;
                let record = self.record(&other)?.ok_or_else(|| Unready::broken("nothing was written"))?;
                let _discarded = store.discard(&other, true).map_err(failed)?;
                record
            }
            Damage::NoExpiry => return Err(Unready::broken(format!("can't do {how:?}"))),
        };
        let sql = "UPDATE lease SET record = ?2 WHERE id = ?1";
        match self.connect()?.execute(sql, params![id.as_str(), record]).map_err(broken)? {
            1 => Ok(()),
            rows => Err(Unready::broken(format!("{id} has {rows} rows"))),
        }
    }

    fn raw(&self, id: &SandboxId) -> Result<Option<Vec<u8>>, Unready> {
        Ok(self.record(id)?.map(|record| match record {
            Value::Blob(bytes) => bytes,
            other => format!("{other:?}").into_bytes(),
        }))
    }

    fn outages(&self) -> &'static [Outage] {
        &[Outage::Down, Outage::Hung]
    }

    fn start_outage(&self, outage: Outage) -> Result<(), Unready> {
        let trouble = match outage {
            Outage::Down => {
                let elsewhere = with_suffix(&self.path, ".away");
                fs::rename(&self.path, &elsewhere)?;
                fs::create_dir(&self.path)?;
                Trouble::MovedTo(elsewhere)
            }
            Outage::Hung => {
                let connection = self.connect()?;
                connection.execute_batch("BEGIN EXCLUSIVE").map_err(broken)?;
                Trouble::Locked(connection)
            }
            Outage::Refusing => return Err(Unready::broken("a database can't be made to refuse")),
        };
        *self.outage.lock().unwrap_or_else(PoisonError::into_inner) = Some(trouble);
        Ok(())
    }

    fn end_outage(&self) -> Result<(), Unready> {
        let trouble = self.outage.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(Trouble::MovedTo(elsewhere)) = trouble {
            fs::remove_dir(&self.path)?;
            fs::rename(elsewhere, &self.path)?;
        }
        Ok(())
    }

    fn can_wipe(&self) -> bool {
        true
    }

    fn wipe(&self) -> Result<(), Unready> {
        let sql = "BEGIN IMMEDIATE; DELETE FROM lease; UPDATE mark SET fence = 0; COMMIT";
        self.connect()?.execute_batch(sql).map_err(broken)
    }
}

impl Drop for SqliteNamespace {
    fn drop(&mut self) {
        if matches!(self.owned, Owned::Files) {
            for file in self.files() {
                // What was never made needs no removing.
                let _ = fs::remove_file(file);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use leasehold::{ErrorKind, ManualClock};

    fn store(namespace: &dyn Namespace) -> Arc<dyn OwnershipStore> {
        let ttl = Ttl::from_millis(60_000).unwrap();
        namespace.open(OwnerId::generate(), ttl, Arc::new(ManualClock::new())).unwrap()
    }

    #[test]
    fn every_damage_is_seen_as_such() {
        let namespace = SqliteHarness::default().fresh().unwrap();
        let store = store(&*namespace);
        let faults = namespace.faults().unwrap();
        for (n, how) in faults.damages().iter().enumerate() {
            let id = format!("sbx-{n}").parse().unwrap();
            let _taken = store.take(&id).unwrap();
            faults.damage(&id, *how).unwrap();
            let before = faults.raw(&id).unwrap();
            assert_eq!(store.take(&id).unwrap_err().kind(), ErrorKind::Corrupt, "{how:?}");
            assert_eq!(faults.raw(&id).unwrap(), before, "{how:?}");
        }
        assert_eq!(namespace.stored(), Some(faults.damages().len() as u64));
    }

    #[test]
    fn an_outage_ends_with_everything_as_it_was() {
        let namespace = SqliteHarness::default().fresh().unwrap();
        let store = store(&*namespace);
        let faults = namespace.faults().unwrap();
        let id = "sbx-1".parse().unwrap();
        let _taken = store.take(&id).unwrap();
        for outage in faults.outages() {
            faults.start_outage(*outage).unwrap();
            assert!(store.renew(&id).is_err(), "{outage:?}");
            faults.end_outage().unwrap();
            assert!(matches!(store.renew(&id), Ok(leasehold::RenewOutcome::Renewed(_))), "{outage:?}");
        }
    }

    #[test]
    fn a_path_that_is_given_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("prod.db");
        {
            let namespace = SqliteHarness::at_path(path.clone()).fresh().unwrap();
            let _taken = store(&*namespace).take(&"sbx-1".parse().unwrap()).unwrap();
            assert!(!path.exists() && fs::read_dir(directory.path()).unwrap().count() > 0);
        }
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}
