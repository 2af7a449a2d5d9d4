use std::sync::OnceLock;
use std::sync::atomic::AtomicUsize;

use leasehold::{
    BackendError, BackendErrorKind, BackendListing, Condemned, EngineId, SandboxId, SandboxInfo, Seen,
    Unreadable,
};

use super::config::ProcessConfig;
use super::host::Host;
use super::life::Life;
use super::lock::{IdLock, Locking};
use super::name::InstanceName;
use super::place::{Kept, Place};
use super::reaper::Reaper;

/// Everything of the backend that may block, each step without waiting for anybody: where it would have to wait it says
/// so, and its caller waits without holding a thread.
#[derive(Debug)]
pub(super) struct Engine {
    pub(super) config: ProcessConfig,
    pub(super) host: Host,
    pub(super) place: Place,
    pub(super) reaper: Reaper,
    /// Commands under way.
    pub(super) commands: AtomicUsize,
    /// Whether what dead creators left was looked for.
    swept: OnceLock<()>,
}

/// What came of one step.
#[derive(Debug)]
pub(super) enum Step<T> {
    Done(T),
    /// Somebody else is changing this sandbox id's directory. Try again in a moment.
    Busy,
}

/// What a look showed, and whether somebody was changing what was looked at: then it may be clearer in a moment.
#[derive(Debug)]
pub(super) struct Looked<T> {
    pub(super) shown: T,
    pub(super) blurred: bool,
}

impl Engine {
    pub(super) fn new(config: ProcessConfig) -> Result<Self, BackendError> {
        let place = Place::new(config.root.clone(), config.namespace.clone());
        Ok(Self {
            host: Host::new()?,
            reaper: Reaper::start()?,
            commands: AtomicUsize::new(0),
            swept: OnceLock::new(),
            place,
            config,
        })
    }

    pub(super) fn engine_id(&self) -> Result<EngineId, BackendError> {
        self.place.enter()?;
        self.host.engine(self.place.root())
    }

    pub(super) fn inspect(&self, instance: &InstanceName) -> Result<Looked<Seen>, BackendError> {
        self.place.enter()?;
        let Looked { shown, blurred } = match self.place.find(instance)? {
            Some(kept) => self.info(&kept)?,
            None => Looked { shown: None, blurred: false },
        };
        Ok(Looked { shown: shown.map_or(Seen::Gone, Seen::Present), blurred })
    }

    pub(super) fn discover(&self, id: &SandboxId) -> Result<Looked<Option<SandboxInfo>>, BackendError> {
        self.place.enter()?;
        match self.place.named(id)? {
            Some(kept) => self.info(&kept),
            None => Ok(Looked { shown: None, blurred: false }),
        }
    }

    pub(super) fn list(&self) -> Result<Looked<BackendListing>, BackendError> {
        let mut listing = BackendListing::default();
        let mut any_blurred = false;
        let (directories, odd) = self.place.directories()?;
        listing.unreadable = odd;
        for directory in directories {
            let shelf = self.place.shelf(&directory)?;
            listing.unreadable.extend(shelf.unreadable);
            for kept in shelf.kept {
                match self.info(&kept) {
                    Ok(Looked { shown, blurred }) => {
                        listing.found.extend(shown);
                        any_blurred |= blurred;
                    }
                    Err(e) => {
                        let instance = kept.record.name.id();
                        listing.unreadable.push(Unreadable { instance, why: e.to_string() });
                    }
                }
            }
        }
        Ok(Looked { shown: listing, blurred: any_blurred })
    }

    pub(super) fn condemn(&self, instance: &InstanceName) -> Result<Step<Condemned>, BackendError> {
        let lock = match self.place.lock(&instance.directory, false)? {
            Locking::Locked(lock) => lock,
            Locking::Busy => return Ok(Step::Busy),
            Locking::Absent => return Ok(Step::Done(Condemned::Gone)),
        };
        let ended = match self.place.find(instance)? {
            None => Condemned::Gone,
            Some(Kept { condemned: true, .. }) => Condemned::Condemned,
            Some(_) => {
                self.place.condemn(&lock, instance)?;
                Condemned::Condemned
            }
        };
        Ok(Step::Done(ended))
    }

    /// Removes, once, the empty directories that creators left which died before they wrote a record.
    pub(super) fn sweep_once(&self) {
        if self.swept.set(()).is_err() {
            return;
        }
        let Ok((directories, _)) = self.place.directories() else { return };
        for directory in directories.iter().filter(|directory| self.place.is_bare(directory)) {
            if let Ok(Locking::Locked(lock)) = self.place.lock(directory, false) {
                lock.finish();
            }
        }
    }

    /// The lock of an instance's directory and its record as it is under it; `None` when it is gone.
    pub(super) fn locked(
        &self,
        instance: &InstanceName,
    ) -> Result<Step<Option<(IdLock, Kept)>>, BackendError> {
        match self.place.lock(&instance.directory, false)? {
            Locking::Busy => Ok(Step::Busy),
            Locking::Absent => Ok(Step::Done(None)),
            Locking::Locked(lock) => Ok(Step::Done(self.place.find(instance)?.map(|kept| (lock, kept)))),
        }
    }

    /// Removes an instance of which nothing runs, its record last: until then it can be found.
    pub(super) fn remove(&self, lock: &IdLock, kept: &Kept) -> Result<(), BackendError> {
        self.place.empty(lock, &kept.record.name)?;
        self.after_step("emptied");
        self.place.forget(lock, kept)
    }

    /// Where tests stop a gateway half-way.
    pub(super) fn after_step(&self, step: &str) {
        if let Some(after_step) = &self.config.after_step {
            after_step(step);
        }
    }

    fn info(&self, kept: &Kept) -> Result<Looked<Option<SandboxInfo>>, BackendError> {
        let life =
            Life::of(self, &kept.record).map_err(|e| e.of(&kept.record.id).on(&kept.record.name.id()))?;
        let blurred = life == Life::Starting;
        let shown = match life {
            Life::Removed => None,
            life => Some(kept.record.info(kept.condemned, life.condition())),
        };
        Ok(Looked { shown, blurred })
    }
}

/// The error where an instance is needed and there is none.
pub(super) fn missing(instance: &InstanceName, why: &str) -> BackendError {
    let text = format!("{why}; acquire the sandbox again");
    BackendError::new(BackendErrorKind::Missing, text).on(&instance.id())
}
