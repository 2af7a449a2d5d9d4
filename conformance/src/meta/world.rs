use std::collections::BTreeMap;
use std::fs::File;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::Duration;

use leasehold::StoreError;

use super::place::Place;
use super::row::Row;
use crate::Outage;

/// What a faulty store keeps, for all its handles: rows of bytes, a high-water mark, and what is broken just now.
#[derive(Clone, Debug)]
pub(super) struct World {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    /// The thread that made this world, which is the one that sets a case's scene.
    scene: ThreadId,
    /// Where the rows are, when other processes are to see them.
    place: Option<Place>,
}

/// The state behind the lock.
#[derive(Clone, Debug, Default)]
pub(super) struct State {
    pub(super) rows: BTreeMap<String, Row>,
    pub(super) mark: u64,
    pub(super) outage: Option<Outage>,
    /// A handle has met an outage and never got over it.
    pub(super) broken: bool,
    /// How many rows there have to be for the next sweep.
    pub(super) sweep_at: usize,
    /// How many changes there were in all.
    pub(super) writes: u64,
    /// How often each row was changed, so that a race can be seen.
    pub(super) changes: BTreeMap<String, Changes>,
}

/// How often a row was changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Changes {
    pub(super) all: u64,
    pub(super) by_claims: u64,
}

impl Default for World {
    fn default() -> Self {
        Self::of(None)
    }
}

impl World {
    /// How long a step waits in its middle for somebody else to change its row.
    const WINDOW: Duration = Duration::from_millis(5);

    /// A world that other processes see.
    pub(super) fn shared(place: Place) -> Self {
        Self::of(Some(place))
    }

    fn of(place: Option<Place>) -> Self {
        let (state, changed, scene) = (Mutex::default(), Condvar::new(), thread::current().id());
        Self { shared: Arc::new(Shared { state, changed, scene, place }) }
    }

    pub(super) fn place(&self) -> Option<&Place> {
        self.shared.place.as_ref()
    }

    /// Whether the process `writer` still runs, as far as this world can tell.
    pub(super) fn is_alive(&self, writer: u32) -> bool {
        self.place().is_none_or(|place| place.is_alive(writer))
    }

    /// # Errors
    /// What reading the place of a world in files brings.
    pub(super) fn lock(&self) -> Result<Held<'_>, StoreError> {
        let mut state = self.shared.state.lock().unwrap_or_else(PoisonError::into_inner);
        let file = self.place().map(|place| place.read(&mut state)).transpose()?;
        Ok(Held { shared: &self.shared, state: Some(state), file, dirty: false })
    }

    /// Lets others in between the two halves of a step that should be one, until `key` is changed or a moment is over.
    ///
    /// The thread that sets a case's scene never waits: while it is in a step nobody else races it, and the cases that
    /// ask one thing after the other lose no time here.
    pub(super) fn give_way<'a>(&'a self, mut held: Held<'a>, key: &str) -> Held<'a> {
        if thread::current().id() == self.shared.scene {
            return held;
        }
        let seen = held.changes.get(key).copied();
        let state = held.state.take().expect("it is taken here alone, and put back below");
        let unchanged = |state: &mut State| state.changes.get(key).copied() == seen;
        let waited = self.shared.changed.wait_timeout_while(state, Self::WINDOW, unchanged);
        held.state = Some(waited.unwrap_or_else(PoisonError::into_inner).0);
        held
    }

    /// Counts a change of `key` and tells those who wait for one.
    pub(super) fn changed(&self, state: &mut State, key: String, by_claim: bool) {
        let changes = state.changes.entry(key).or_default();
        changes.all += 1;
        changes.by_claims += u64::from(by_claim);
        state.writes += 1;
        self.shared.changed.notify_all();
    }
}

/// The state while nobody else has it.
pub(super) struct Held<'a> {
    shared: &'a Shared,
    state: Option<MutexGuard<'a, State>>,
    file: Option<File>,
    dirty: bool,
}

impl Deref for Held<'_> {
    type Target = State;

    fn deref(&self) -> &State {
        self.state.as_ref().expect("it is missing only within `give_way`")
    }
}

impl DerefMut for Held<'_> {
    fn deref_mut(&mut self) -> &mut State {
        self.dirty = true;
        self.state.as_mut().expect("it is missing only within `give_way`")
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        if let (Some(state), Some(file), Some(place)) = (&self.state, &mut self.file, &self.shared.place)
            && self.dirty
        {
            place.write(file, state);
        }
    }
}
