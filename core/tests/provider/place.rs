//! A disk that says on which threads it was used, and how often.

use std::sync::Arc;
use std::thread::ThreadId;

use leasehold::{CreateGuard, Home, HomeDirectory, HomeError, Prepared, SandboxId, SessionKey};
use parking_lot::Mutex;

/// A real home directory, watched. Clones are the same.
#[derive(Clone)]
pub(crate) struct Place {
    home: HomeDirectory,
    seen: Arc<Mutex<Vec<(&'static str, ThreadId)>>>,
}

impl Place {
    pub(crate) fn new(home: HomeDirectory) -> Self {
        Self { home, seen: Arc::default() }
    }

    /// What was done since this was asked last, in order, and where.
    pub(crate) fn seen(&self) -> Vec<(&'static str, ThreadId)> {
        std::mem::take(&mut *self.seen.lock())
    }

    pub(crate) fn note(&self, what: &'static str) {
        self.seen.lock().push((what, std::thread::current().id()));
    }
}

struct Unlocks {
    place: Place,
    _guard: CreateGuard,
}

impl Drop for Unlocks {
    fn drop(&mut self) {
        self.place.note("unlock");
    }
}

impl Home for Place {
    fn prepare(&self, session: &SessionKey) -> Result<Prepared, HomeError> {
        self.note("prepare");
        self.home.prepare(session)
    }

    fn try_lock(&self, id: &SandboxId) -> Result<Option<CreateGuard>, HomeError> {
        self.note("lock");
        let locked = self.home.try_lock(id)?;
        Ok(locked.map(|guard| Box::new(Unlocks { place: self.clone(), _guard: guard }) as CreateGuard))
    }
}
