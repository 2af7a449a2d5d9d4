//! The harness of the file store.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use leasehold::{BootClock, CellStore, Clock, OwnerId, OwnershipStore, Reach, SandboxId, StoreError, Ttl};
use leasehold_conformance::{Capabilities, Damage, Faults, Harness, Namespace, Outage, Unready};
use leasehold_stores::StoreUrl;
use leasehold_stores::file::{FileCell, FileConfig};
use tempfile::TempDir;

/// Every namespace is a directory of its own, in the system's temporary directory or beneath one that is named.
#[derive(Clone, Debug, Default)]
pub struct FileHarness {
    /// Where fresh directories are made.
    beneath: Option<PathBuf>,
    network: bool,
}

impl FileHarness {
    /// What the store promises here: less than it does by default, so that cases with a hung lock go faster.
    const DEADLINE: Duration = Duration::from_secs(1);
    /// How long it waits for locks of that; the rest is for noticing that the time is over on a busy machine.
    const WAIT: Duration = Duration::from_millis(800);

    /// Fresh directories beneath `dir`, which is made if it isn't there; nothing else in it is touched.
    #[must_use]
    pub fn at_dir(dir: PathBuf) -> Self {
        Self { beneath: Some(dir), network: false }
    }

    /// The same for the directory and with the settings that `url` names.
    ///
    /// # Errors
    /// Those of [`FileConfig::from_url`].
    pub fn at_url(url: &StoreUrl) -> Result<Self, StoreError> {
        let network = url.settings().word("network", &["allow", "refuse"])? == Some("allow");
        let config = FileConfig::from_url(url)?;
        Ok(Self { network, ..Self::at_dir(config.dir().to_owned()) })
    }
}

impl Harness for FileHarness {
    fn name(&self) -> String {
        "file".to_owned()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::virtual_time(Reach::Host).boot_bound().deadline(Self::DEADLINE)
    }

    fn fresh(&self) -> Result<Box<dyn Namespace>, Unready> {
        let mut builder = tempfile::Builder::new();
        builder.prefix("leasehold-");
        let made = match &self.beneath {
            Some(dir) => {
                fs::create_dir_all(dir)?;
                builder.tempdir_in(dir)?
            }
            None => builder.tempdir()?,
        };
        let dir = made.path().join("leases");
        // The kit may look at the directory before any store was opened on it.
        fs::create_dir(&dir)?;
        Ok(Box::new(FileNamespace::new(dir, self.network, Some(made))))
    }

    fn at(&self, address: &str) -> Result<Box<dyn Namespace>, Unready> {
        let read = |url: StoreUrl| Ok((url.path()?, Self::at_url(&url)?.network));
        let (dir, network) =
            address.parse().and_then(read).map_err(|e: StoreError| Unready::broken(e.to_string()))?;
        Ok(Box::new(FileNamespace::new(dir, network, None)))
    }
}

struct FileNamespace {
    dir: PathBuf,
    network: bool,
    /// What a fault holds on to until the outage ends.
    outage: Mutex<Broken>,
    /// The directory around it, which goes when this value goes.
    _made: Option<TempDir>,
}

/// What is broken right now.
enum Broken {
    Nothing,
    /// The directory is at this path, and a file stands in its place.
    Moved(PathBuf),
    /// These files are locked.
    Locked(#[expect(dead_code, reason = "held for their locks")] Vec<File>),
}

impl FileNamespace {
    fn new(dir: PathBuf, network: bool, made: Option<TempDir>) -> Self {
        Self { dir, network, outage: Mutex::new(Broken::Nothing), _made: made }
    }

    fn config(&self) -> FileConfig {
        FileConfig::new(&self.dir).deadline(FileHarness::WAIT).allow_network(self.network)
    }

    fn record(&self, id: &SandboxId) -> PathBuf {
        self.config().record_path(id)
    }

    /// The record files, whatever they are.
    fn records(&self) -> io::Result<Vec<PathBuf>> {
        let paths = fs::read_dir(&self.dir)?.map(|entry| entry.map(|entry| entry.path()));
        paths.filter(|path| path.as_ref().is_ok_and(|path| is_record(path)) || path.is_err()).collect()
    }

    fn outage(&self) -> MutexGuard<'_, Broken> {
        self.outage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The bytes of another id's record, as the store writes them.
    fn record_of_another(&self) -> Result<Vec<u8>, Unready> {
        let broken = |e: StoreError| Unready::broken(e.to_string());
        let elsewhere = tempfile::tempdir()?;
        let config = FileConfig::new(elsewhere.path());
        let id: SandboxId = "another".parse().map_err(|_| Unready::broken("no id"))?;
        let cell = FileCell::open(&config, Arc::new(BootClock::new().map_err(broken)?)).map_err(broken)?;
        let _ = CellStore::new(cell, OwnerId::generate(), Ttl::MAX).take(&id).map_err(broken)?;
        Ok(fs::read(config.record_path(&id))?)
    }
}

fn is_record(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "lease")
}

impl Namespace for FileNamespace {
    fn open(
        &self,
        owner: OwnerId,
        ttl: Ttl,
        clock: Arc<dyn Clock>,
    ) -> Result<Arc<dyn OwnershipStore>, StoreError> {
        Ok(Arc::new(CellStore::new(FileCell::open(&self.config(), clock)?, owner, ttl)))
    }

    fn address(&self) -> Option<String> {
        let settings = if self.network { "?network=allow" } else { "" };
        Some(format!("file:{}{settings}", self.dir.display()))
    }

    fn stored(&self) -> Option<u64> {
        self.records().ok().map(|records| records.len() as u64)
    }

    fn faults(&self) -> Option<&dyn Faults> {
        Some(self)
    }
}

impl Faults for FileNamespace {
    fn damages(&self) -> &'static [Damage] {
        use Damage::{Flipped, Garbage, Misplaced, Newer, Torn, WrongType};
        &[Torn, Flipped, Newer, Garbage, WrongType, Misplaced]
    }

    fn damage(&self, id: &SandboxId, how: Damage) -> Result<(), Unready> {
        let path = self.record(id);
        let mut bytes = fs::read(&path)?;
        match how {
            Damage::Torn => bytes.truncate(30),
            Damage::Flipped => bytes[20] ^= 0x10,
            Damage::Newer => bytes[4] += 1,
            Damage::Garbage => bytes = b"not a record ".repeat(40)[..512].to_vec(),
            Damage::Misplaced => bytes = self.record_of_another()?,
            Damage::WrongType => {
                fs::remove_file(&path)?;
                return Ok(fs::create_dir(&path)?);
            }
            other => return Err(Unready::broken(format!("can't do {other:?} to {id}"))),
        }
        Ok(fs::write(&path, bytes)?)
    }

    fn raw(&self, id: &SandboxId) -> Result<Option<Vec<u8>>, Unready> {
        let path = self.record(id);
        match fs::symlink_metadata(&path) {
            Ok(found) if found.is_file() => Ok(Some(fs::read(&path)?)),
            Ok(found) => Ok(Some(format!("{:?}", found.file_type()).into_bytes())),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(e.into()),
        }
    }

    fn outages(&self) -> &'static [Outage] {
        &[Outage::Down, Outage::Hung]
    }

    fn start_outage(&self, outage: Outage) -> Result<(), Unready> {
        let mut broken = self.outage();
        *broken = match outage {
            Outage::Down => {
                let away = self.dir.with_extension("away");
                fs::rename(&self.dir, &away)?;
                fs::write(&self.dir, "the directory was moved away")?;
                Broken::Moved(away)
            }
            // What is absent needs the lock of the fence mark, all else that of its own file.
            Outage::Hung => {
                let mut locked = Vec::new();
                for path in self.records()?.into_iter().chain([self.dir.join("fence-mark")]) {
                    let file =
                        File::options().read(true).write(true).create(true).truncate(false).open(path)?;
                    file.lock()?;
                    locked.push(file);
                }
                Broken::Locked(locked)
            }
            Outage::Refusing => return Err(Unready::broken("can't bring about a refusal")),
        };
        Ok(())
    }

    fn end_outage(&self) -> Result<(), Unready> {
        if let Broken::Moved(away) = std::mem::replace(&mut *self.outage(), Broken::Nothing) {
            fs::remove_file(&self.dir)?;
            fs::rename(away, &self.dir)?;
        }
        Ok(())
    }

    fn can_wipe(&self) -> bool {
        true
    }

    fn wipe(&self) -> Result<(), Unready> {
        for entry in fs::read_dir(&self.dir)? {
            let path = entry?.path();
            let removed = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
            removed?;
        }
        Ok(())
    }
}
