use std::time::Duration;

use leasehold::{Phase, SandboxId};

use super::Unready;

/// What a harness can do to the server or the medium behind a namespace. Everything is optional; cases that need what is
/// not offered are "not applicable".
pub trait Faults: Send + Sync {
    /// Which damage [`damage`](Self::damage) can do.
    fn damages(&self) -> &'static [Damage] {
        &[]
    }

    /// Damages the existing record of `id` behind the store's back.
    ///
    /// # Errors
    /// [`Unready::Broken`] when that failed.
    fn damage(&self, id: &SandboxId, how: Damage) -> Result<(), Unready> {
        Err(Unready::broken(format!("can't do {how:?} to {id}")))
    }

    /// The bytes kept for `id`, in whatever form, so that a case can see that they were left alone; `None` for nothing.
    ///
    /// # Errors
    /// [`Unready::Broken`] when they could not be read.
    fn raw(&self, id: &SandboxId) -> Result<Option<Vec<u8>>, Unready> {
        Err(Unready::broken(format!("can't read the bytes of {id}")))
    }

    /// Which outages [`start_outage`](Self::start_outage) can bring about.
    fn outages(&self) -> &'static [Outage] {
        &[]
    }

    /// Breaks the server or the medium until [`end_outage`](Self::end_outage).
    ///
    /// # Errors
    /// [`Unready::Broken`] when that failed.
    fn start_outage(&self, outage: Outage) -> Result<(), Unready> {
        Err(Unready::broken(format!("can't bring about {outage:?}")))
    }

    /// Mends it again, with everything that was stored before.
    ///
    /// # Errors
    /// [`Unready::Broken`] when that failed.
    fn end_outage(&self) -> Result<(), Unready> {
        Ok(())
    }

    /// Whether [`wipe`](Self::wipe) works.
    fn can_wipe(&self) -> bool {
        false
    }

    /// Makes the server lose everything, high-water marks included, under the open handles.
    ///
    /// # Errors
    /// [`Unready::Broken`] when that failed.
    fn wipe(&self) -> Result<(), Unready> {
        Err(Unready::broken("can't wipe"))
    }

    /// Whether [`plant_foreign`](Self::plant_foreign) works.
    fn can_plant_foreign(&self) -> bool {
        false
    }

    /// Writes a lease of `owner` as a foreign program would: without a fence.
    ///
    /// # Errors
    /// [`Unready::Broken`] when that failed.
    fn plant_foreign(&self, id: &SandboxId, owner: &str, phase: Phase, ttl: Duration) -> Result<(), Unready> {
        Err(Unready::broken(format!("can't plant a {phase} lease of {owner} on {id} for {ttl:?}")))
    }
}

/// A way for a record to be damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Damage {
    /// Cut short in the middle, as by a write that was never finished.
    Torn,
    /// One bit flipped.
    Flipped,
    /// The form of a newer version.
    Newer,
    /// Bytes that no version ever wrote.
    Garbage,
    /// Another kind of thing in its place: a directory, a list, a NULL.
    WrongType,
    /// A lease that would never end.
    NoExpiry,
    /// Another id's intact record in its place.
    Misplaced,
}

/// A way for the server or the medium not to answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outage {
    /// It is not there: stopped, unreachable, moved away.
    Down,
    /// It takes the call and says nothing; or somebody holds the lock and doesn't let go.
    Hung,
    /// It answers every call with a refusal: read-only, loading, out of memory.
    Refusing,
}
