//! A backend of one's own, and the whole of its proof: `cargo run -p leasehold-conformance --features backend --example own_backend`.
//!
//! Its sandboxes are rows of a table and no command runs in them. What it shows is the shape: what is compared, what is a
//! value and what is an error, and that names and instances are two things.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use leasehold::{
    BackendError, BackendErrorKind, BackendListing, Command, Condemned, Condition, Destroyed, EngineId,
    Execution, InstanceId, Namespace, SandboxBackend, SandboxId, SandboxInfo, SandboxSpec, Seen,
};
use leasehold_conformance::Unready;
use leasehold_conformance::backend::{Abilities, BackendHarness, Site};

/// The engine: every room of every namespace, and how many there ever were.
#[derive(Clone, Default)]
struct House {
    rooms: Arc<Mutex<(u64, BTreeMap<InstanceId, SandboxInfo>)>>,
}

/// A handle for the rooms of one namespace.
struct Rooms {
    house: House,
    namespace: Namespace,
}

impl House {
    fn lock(&self) -> MutexGuard<'_, (u64, BTreeMap<InstanceId, SandboxInfo>)> {
        self.rooms.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Rooms {
    /// Does something with a room of ours; another namespace's is an error, since it is there and not ours to judge.
    fn with<T>(
        &self,
        instance: &InstanceId,
        gone: T,
        change: impl FnOnce(&mut BTreeMap<InstanceId, SandboxInfo>) -> T,
    ) -> Result<T, BackendError> {
        let (_, rooms) = &mut *self.house.lock();
        match rooms.get(instance) {
            None => Ok(gone),
            Some(room) if room.identity.namespace == self.namespace => Ok(change(rooms)),
            Some(room) => {
                let text = format!("it is a room of namespace {}; leave it alone", room.identity.namespace);
                Err(BackendError::new(BackendErrorKind::Foreign, text).on(instance))
            }
        }
    }

    /// A room that has to be there.
    fn room(&self, instance: &InstanceId) -> Result<SandboxInfo, BackendError> {
        let missing = || BackendError::new(BackendErrorKind::Missing, "there is no such room").on(instance);
        self.with(instance, None, |rooms| rooms.get(instance).cloned())?.ok_or_else(missing)
    }
}

#[async_trait]
impl SandboxBackend for Rooms {
    fn kind(&self) -> &'static str {
        "rooms"
    }

    fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    async fn engine_id(&self) -> Result<EngineId, BackendError> {
        Ok(EngineId::new("house"))
    }

    async fn create(&self, spec: &SandboxSpec) -> Result<SandboxInfo, BackendError> {
        let (last, rooms) = &mut *self.house.lock();
        // Looking and making are one step under one lock: two who come at once can't both find the name free.
        if let Some(other) = rooms.values().find(|other| other.id == spec.id && !other.condemned) {
            let (kind, text) = match &other.identity.namespace {
                ours if *ours == self.namespace => {
                    (BackendErrorKind::Conflict, "a room has that name".to_owned())
                }
                theirs => (BackendErrorKind::Foreign, format!("a room of namespace {theirs} has that name")),
            };
            return Err(BackendError::new(kind, text).of(&spec.id));
        }
        *last += 1;
        let made = SandboxInfo {
            id: spec.id.clone(),
            instance: InstanceId::new(format!("room-{last}")),
            identity: spec.identity.clone(),
            creator: spec.creator.clone(),
            endpoint: None,
            created: None,
            condemned: false,
            condition: Condition::Running,
        };
        rooms.insert(made.instance.clone(), made.clone());
        Ok(made)
    }

    async fn wait_ready(&self, instance: &InstanceId, _: Duration) -> Result<SandboxInfo, BackendError> {
        self.room(instance)
    }

    async fn inspect(&self, instance: &InstanceId) -> Result<Seen, BackendError> {
        self.with(instance, Seen::Gone, |rooms| {
            rooms.get(instance).cloned().map_or(Seen::Gone, Seen::Present)
        })
    }

    async fn discover(&self, id: &SandboxId) -> Result<Option<SandboxInfo>, BackendError> {
        let listing = self.list().await?;
        Ok(listing.found.into_iter().find(|room| room.id == *id && !room.condemned))
    }

    async fn list(&self) -> Result<BackendListing, BackendError> {
        let (_, rooms) = &*self.house.lock();
        let ours = rooms.values().filter(|room| room.identity.namespace == self.namespace);
        Ok(BackendListing { found: ours.cloned().collect(), unreadable: Vec::new() })
    }

    async fn condemn(&self, instance: &InstanceId) -> Result<Condemned, BackendError> {
        self.with(instance, Condemned::Gone, |rooms| {
            rooms.entry(instance.clone()).and_modify(|room| room.condemned = true);
            Condemned::Condemned
        })
    }

    async fn destroy(&self, instance: &InstanceId) -> Result<Destroyed, BackendError> {
        self.with(instance, Destroyed::AlreadyGone, |rooms| {
            rooms.remove(instance);
            Destroyed::Destroyed
        })
    }

    async fn exec(&self, instance: &InstanceId, _: Command) -> Result<Box<dyn Execution>, BackendError> {
        self.room(instance)?;
        Err(BackendError::new(BackendErrorKind::Unsupported, "nothing runs in a room").on(instance))
    }
}

/// What the kit needs to know of it.
#[derive(Default)]
pub(crate) struct RoomsHarness;

#[async_trait]
impl BackendHarness for RoomsHarness {
    fn name(&self) -> String {
        "rooms".to_owned()
    }

    fn abilities(&self) -> Abilities {
        Abilities::new()
    }

    async fn fresh(&self) -> Result<Box<dyn Site>, Unready> {
        Ok(Box::new(House::default()))
    }
}

impl Site for House {
    fn namespace(&self) -> Namespace {
        // A house of each case's own: nobody else is in it.
        Namespace::new("x").expect("x is a namespace")
    }

    fn open(&self, namespace: &Namespace) -> Result<Arc<dyn SandboxBackend>, BackendError> {
        Ok(Arc::new(Rooms { house: self.clone(), namespace: namespace.clone() }))
    }
}

leasehold_conformance::backend_main!(RoomsHarness);
