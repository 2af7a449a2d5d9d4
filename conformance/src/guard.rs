//! Keeps the harness's own panics apart from those of the store: a harness that panics says nothing of the store.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use leasehold::{Phase, SandboxId};

use crate::case::Stop;
use crate::{Damage, Faults, Outage, Unready};

/// Runs a piece of the harness; `what` says which in words.
pub(crate) fn guarded<T>(what: &str, run: impl FnOnce() -> T) -> Result<T, Stop> {
    catch_unwind(AssertUnwindSafe(run))
        .map_err(|panic| Stop::Harness(format!("the harness panicked in {what}: {}", said(&*panic))))
}

/// What a panic said.
pub(crate) fn said(panic: &(dyn Any + Send)) -> &str {
    let literal = || panic.downcast_ref::<&str>().copied();
    panic.downcast_ref::<String>().map(String::as_str).or_else(literal).unwrap_or("something that is no text")
}

/// The faults of a harness, each call guarded.
#[derive(Clone, Copy)]
pub struct Guarded<'a> {
    faults: &'a dyn Faults,
}

impl<'a> Guarded<'a> {
    pub(crate) fn new(faults: &'a dyn Faults) -> Self {
        Self { faults }
    }

    fn call<T>(self, what: &str, run: impl FnOnce(&dyn Faults) -> Result<T, Unready>) -> Result<T, Stop> {
        Ok(guarded(what, || run(self.faults))??)
    }

    /// See [`Faults::damages`].
    #[must_use]
    pub fn damages(self) -> &'static [Damage] {
        self.faults.damages()
    }

    /// See [`Faults::damage`].
    ///
    /// # Errors
    /// [`Stop::Harness`] when that failed.
    pub fn damage(self, id: &SandboxId, how: Damage) -> Result<(), Stop> {
        self.call("damage", |faults| faults.damage(id, how))
    }

    /// See [`Faults::raw`].
    ///
    /// # Errors
    /// [`Stop::Harness`] when that failed.
    pub fn raw(self, id: &SandboxId) -> Result<Option<Vec<u8>>, Stop> {
        self.call("raw", |faults| faults.raw(id))
    }

    /// See [`Faults::outages`].
    #[must_use]
    pub fn outages(self) -> &'static [Outage] {
        self.faults.outages()
    }

    /// Breaks the server, does `during` and mends the server again, whatever came of it.
    ///
    /// # Errors
    /// [`Stop::Harness`] when the server could not be broken or mended; otherwise what `during` says.
    pub fn through<T>(self, outage: Outage, during: impl FnOnce() -> T) -> Result<T, Stop> {
        self.call("start_outage", |faults| faults.start_outage(outage))?;
        let done = catch_unwind(AssertUnwindSafe(during));
        self.call("end_outage", |faults| faults.end_outage())?;
        Ok(done.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    }

    /// See [`Faults::wipe`].
    ///
    /// # Errors
    /// [`Stop::Harness`] when that failed.
    pub fn wipe(self) -> Result<(), Stop> {
        self.call("wipe", |faults| faults.wipe())
    }

    /// See [`Faults::plant_foreign`].
    ///
    /// # Errors
    /// [`Stop::Harness`] when that failed.
    pub fn plant_foreign(self, id: &SandboxId, owner: &str, phase: Phase, ttl: Duration) -> Result<(), Stop> {
        self.call("plant_foreign", |faults| faults.plant_foreign(id, owner, phase, ttl))
    }
}
