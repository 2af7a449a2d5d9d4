//! A directory for each test, stores in it, and what another program would do to its files.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use leasehold::{
    ClaimOutcome, Clock, ErrorKind, Fence, Intent, ManualClock, OwnerId, OwnershipStore, SandboxId,
    StoreError, TakeOutcome, Tenure, Ttl,
};
use leasehold_stores::file::{FileCell, FileConfig, FileStore};
use tempfile::TempDir;

/// Long enough that no lease runs out while a test looks elsewhere.
pub(crate) const LONG: u64 = 600_000;

/// A place for a directory of leases, and the clock of its host.
pub(crate) struct Place {
    around: TempDir,
    pub(crate) clock: ManualClock,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self { around: tempfile::tempdir().unwrap(), clock: ManualClock::new() }
    }

    /// The directory around that of the leases.
    pub(crate) fn around(&self) -> &Path {
        self.around.path()
    }

    /// The directory of the leases, which the first store makes.
    pub(crate) fn dir(&self) -> PathBuf {
        self.around().join("leases")
    }

    pub(crate) fn config(&self) -> FileConfig {
        FileConfig::new(self.dir())
    }

    pub(crate) fn store(&self, owner: &str) -> FileStore {
        self.store_of(owner, LONG, &self.clock)
    }

    pub(crate) fn store_of(&self, owner: &str, ttl_ms: u64, clock: &ManualClock) -> FileStore {
        self.store_with(&self.config(), owner, ttl_ms, clock).unwrap()
    }

    /// With locks waited for no longer than `millis`.
    pub(crate) fn hurried(&self, owner: &str, millis: u64) -> FileStore {
        let config = self.config().deadline(Duration::from_millis(millis));
        self.store_with(&config, owner, LONG, &self.clock).unwrap()
    }

    fn store_with(
        &self,
        config: &FileConfig,
        owner: &str,
        ttl_ms: u64,
        clock: &ManualClock,
    ) -> Result<FileStore, StoreError> {
        let cell = FileCell::open(config, Arc::new(clock.clone()))?;
        Ok(FileStore::new(cell, OwnerId::new(owner).unwrap(), Ttl::from_millis(ttl_ms).unwrap()))
    }

    /// The record file of `id`.
    pub(crate) fn record(&self, id: &SandboxId) -> PathBuf {
        self.config().record_path(id)
    }

    pub(crate) fn mark(&self) -> PathBuf {
        self.dir().join("fence-mark")
    }

    /// How many record files there are, whatever is in them.
    pub(crate) fn records(&self) -> usize {
        let names = fs::read_dir(self.dir()).unwrap().map(|entry| entry.unwrap().file_name());
        names.filter(|name| name.to_str().unwrap().ends_with(".lease")).count()
    }
}

pub(crate) fn open(
    url: &str,
    owner: &str,
    clock: Arc<dyn Clock>,
) -> Result<Box<dyn OwnershipStore>, StoreError> {
    let (owner, ttl) = (OwnerId::new(owner).unwrap(), Ttl::from_millis(LONG).unwrap());
    leasehold_stores::file::open(&url.parse()?, owner, ttl, clock)
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

/// Every operation on `id`, by name, with its error if it has one.
pub(crate) fn every_operation(
    store: &dyn OwnershipStore,
    id: &SandboxId,
) -> Vec<(&'static str, Option<StoreError>)> {
    let fence = Fence::MIN;
    vec![
        ("take", store.take(id).err()),
        ("claim", store.claim(id, Intent::Keep).err()),
        ("claim to destroy", store.claim(id, Intent::Destroy).err()),
        ("claim to destroy a tenure", store.claim(id, Intent::DestroyTenure(fence)).err()),
        ("renew", store.renew(id).err()),
        ("renew many", store.renew_many(std::slice::from_ref(id)).remove(0).err()),
        ("release", store.release(id).err()),
        ("release a tenure", store.release_tenure(id, fence).err()),
        ("inspect", store.inspect(id).err()),
    ]
}

/// Asserts that every operation on `id` is refused with this kind of error, which names the id.
pub(crate) fn assert_all_fail(store: &dyn OwnershipStore, id: &SandboxId, kind: ErrorKind, when: &str) {
    for (operation, error) in every_operation(store, id) {
        let error = error.unwrap_or_else(|| panic!("{when}: {operation} gave an answer"));
        assert_eq!(error.kind(), kind, "{when}: {error}");
        assert_eq!(error.id(), Some(id), "{when}: {error}");
    }
}

/// Dates a file long before the clocks of these tests began.
pub(crate) fn age(path: &Path) {
    let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    File::options().write(true).open(path).unwrap().set_modified(long_ago).unwrap();
}

/// Says that a test is not run and why, unless `LEASEHOLD_REQUIRE` names what it needs.
pub(crate) fn not_run(needs: &str, why: &str) {
    let required = std::env::var("LEASEHOLD_REQUIRE").unwrap_or_default();
    assert!(!required.split(',').any(|name| name.trim() == needs), "not run: {why}");
    eprintln!("not run: {why}");
}
