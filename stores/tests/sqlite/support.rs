//! A directory for each test, stores in it, and a connection beside them that does what another program would.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use leasehold::{
    ClaimOutcome, Clock, Fence, Intent, ManualClock, OwnerId, OwnershipStore, RenewOutcome, SandboxId,
    StoreError, TakeOutcome, Tenure, Ttl,
};
use leasehold_stores::sqlite::{SqliteCell, SqliteConfig, SqliteStore};
use rusqlite::Connection;
use tempfile::TempDir;

/// Long enough that no lease runs out while a test looks elsewhere.
pub(crate) const LONG: u64 = 600_000;

/// A place for a database, and the clock of its host.
pub(crate) struct Place {
    directory: TempDir,
    pub(crate) clock: ManualClock,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap(), clock: ManualClock::new() }
    }

    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.directory().join("leases.db")
    }

    /// The database's file, its log or the index of its log.
    pub(crate) fn file(&self, suffix: &str) -> PathBuf {
        format!("{}{suffix}", self.path().display()).into()
    }

    pub(crate) fn open(&self, owner: &str) -> Box<dyn OwnershipStore> {
        self.open_with(owner, "").unwrap()
    }

    /// `settings` as they stand in a URL, with the `?` in front.
    pub(crate) fn open_with(
        &self,
        owner: &str,
        settings: &str,
    ) -> Result<Box<dyn OwnershipStore>, StoreError> {
        open(&format!("sqlite:{}{settings}", self.path().display()), owner, Arc::new(self.clock.clone()))
    }

    /// With leases of `ttl_ms`, timed by `clock`.
    pub(crate) fn store(&self, owner: &str, ttl_ms: u64, clock: &ManualClock) -> SqliteStore {
        let cell = SqliteCell::open(SqliteConfig::new(self.path()), Arc::new(clock.clone())).unwrap();
        SqliteStore::new(cell, OwnerId::new(owner).unwrap(), Ttl::from_millis(ttl_ms).unwrap())
    }

    /// A connection beside the store's.
    pub(crate) fn sql(&self) -> Connection {
        Connection::open(self.path()).unwrap()
    }

    pub(crate) fn rows(&self) -> i64 {
        self.sql().query_row("SELECT count(*) FROM lease", [], |row| row.get(0)).unwrap()
    }

    pub(crate) fn record(&self, id: &SandboxId) -> Vec<u8> {
        let sql = "SELECT record FROM lease WHERE id = ?1";
        self.sql().query_row(sql, [id.as_str()], |row| row.get(0)).unwrap()
    }

    pub(crate) fn put(&self, id: &SandboxId, record: impl rusqlite::ToSql) {
        let sql = "REPLACE INTO lease VALUES (?1, ?2)";
        assert_eq!(self.sql().execute(sql, rusqlite::params![id.as_str(), record]).unwrap(), 1);
    }
}

pub(crate) fn open(
    url: &str,
    owner: &str,
    clock: Arc<dyn Clock>,
) -> Result<Box<dyn OwnershipStore>, StoreError> {
    let (owner, ttl) = (OwnerId::new(owner).unwrap(), Ttl::from_millis(LONG).unwrap());
    leasehold_stores::sqlite::open(&url.parse()?, owner, ttl, clock)
}

pub(crate) fn id(text: &str) -> SandboxId {
    text.parse().unwrap()
}

pub(crate) fn take(store: &dyn OwnershipStore, id: &SandboxId) -> Tenure {
    match store.take(id).unwrap() {
        TakeOutcome::Taken { tenure, .. } => tenure,
        TakeOutcome::BeingDestroyed => panic!("{id} is being destroyed"),
    }
}

pub(crate) fn destroy(store: &dyn OwnershipStore, id: &SandboxId) -> Tenure {
    match store.claim(id, Intent::Destroy).unwrap() {
        ClaimOutcome::Claimed { tenure, .. } => tenure,
        other => panic!("{id}: {other:?}"),
    }
}

pub(crate) fn fence_of(store: &dyn OwnershipStore, id: &SandboxId) -> Option<Fence> {
    store.inspect(id).unwrap().and_then(|lease| lease.fence)
}

pub(crate) fn is_renewed(outcome: &Result<RenewOutcome, StoreError>) -> bool {
    matches!(outcome, Ok(RenewOutcome::Renewed(_)))
}

/// Says that a test is not run and why, unless `LEASEHOLD_REQUIRE` names what it needs.
pub(crate) fn not_run(needs: &str, why: &str) {
    let required = std::env::var("LEASEHOLD_REQUIRE").unwrap_or_default();
    assert!(!required.split(',').any(|name| name.trim() == needs), "not run: {why}");
    eprintln!("not run: {why}");
}
