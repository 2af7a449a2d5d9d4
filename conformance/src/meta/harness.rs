use std::error::Error;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use leasehold::codec::Stamped;
use leasehold::{Clock, OwnerId, OwnershipStore, Phase, Reach, Record, SandboxId, StoreError, Ttl};

use super::Fault;
use super::place::Place;
use super::row::Row;
use super::store::FaultyStore;
use super::world::{Held, World};
use crate::{Capabilities, Damage, Faults, Harness, Namespace, Outage, Unready};

/// The harness of a store with one fault, or of the faultless model.
#[derive(Clone, Debug)]
pub struct FaultyHarness {
    fault: Option<Fault>,
    /// Other processes see the store too.
    shared: bool,
    /// The one world that a store whose namespaces leak has.
    leaked: World,
}

impl FaultyHarness {
    const SHARED: &'static str = "faultless-shared";

    /// A store with `fault`, or the faultless model. It is seen by this process alone, unless the fault is one that only
    /// other processes can tell of.
    #[must_use]
    pub fn new(fault: Option<Fault>) -> Self {
        let of_processes =
            [Fault::OtherProcessesSeeNothing, Fault::DiesWithItsProcess, Fault::OutlivesItsProcess];
        let shared = fault.is_some_and(|fault| of_processes.contains(&fault));
        Self { fault, shared, leaked: World::default() }
    }

    /// The faultless model in a place that other processes see.
    #[must_use]
    pub fn shared() -> Self {
        Self { shared: true, ..Self::new(None) }
    }

    /// The harness of that name, for a child process that was told it.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name {
            Self::SHARED => Some(Self::shared()),
            name => Fault::named(name).map(|fault| Self::new(Some(fault))),
        }
    }

    /// Whether other processes see the store.
    pub(super) fn is_shared(&self) -> bool {
        self.shared
    }

    fn has(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }
}

impl Harness for FaultyHarness {
    fn name(&self) -> String {
        let faultless = if self.shared { Self::SHARED } else { "faultless" };
        self.fault.map_or(faultless, Fault::name).to_owned()
    }

    fn capabilities(&self) -> Capabilities {
        let beyond = self.shared || self.has(Fault::ReachIsExaggerated);
        Capabilities::virtual_time(if beyond { Reach::Host } else { Reach::Process }).boot_bound()
    }

    fn ttl(&self, seconds: f64) -> Result<Ttl, Box<dyn Error + Send + Sync>> {
        if self.has(Fault::AnyTtlWillDo) {
            let nearest = if seconds > 0.0 { (seconds * 1e3).ceil() } else { 1.0 };
            return Ok(Ttl::from_millis((nearest as u64).clamp(1, Ttl::MAX.as_millis()))?);
        }
        Ok(Ttl::from_secs_f64(seconds)?)
    }

    fn fresh(&self) -> Result<Box<dyn Namespace>, Unready> {
        let world = if self.shared {
            World::shared(Place::new(self.has(Fault::OtherProcessesSeeNothing))?)
        } else if self.has(Fault::NamespacesLeak) {
            self.leaked.clone()
        } else {
            World::default()
        };
        Ok(Box::new(FaultyNamespace { fault: self.fault, world, clock: Mutex::default() }))
    }

    fn at(&self, address: &str) -> Result<Box<dyn Namespace>, Unready> {
        let world = if self.shared {
            World::shared(Place::at(Path::new(address), self.has(Fault::OtherProcessesSeeNothing))?)
        } else {
            // What an exaggerated reach comes to: whoever comes by the address finds a place of their own.
            World::default()
        };
        Ok(Box::new(FaultyNamespace { fault: self.fault, world, clock: Mutex::default() }))
    }
}

struct FaultyNamespace {
    fault: Option<Fault>,
    world: World,
    /// The clock that the last handle was opened with, by which a foreign program writes.
    clock: Mutex<Option<Arc<dyn Clock>>>,
}

impl Namespace for FaultyNamespace {
    fn open(
        &self,
        owner: OwnerId,
        ttl: Ttl,
        clock: Arc<dyn Clock>,
    ) -> Result<Arc<dyn OwnershipStore>, StoreError> {
        *self.clock.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&clock));
        Ok(Arc::new(FaultyStore::new(self.fault, self.world.clone(), owner, ttl, clock)))
    }

    fn address(&self) -> Option<String> {
        match self.world.place() {
            Some(place) => Some(place.directory().display().to_string()),
            None => (self.fault == Some(Fault::ReachIsExaggerated)).then(|| "somewhere".to_owned()),
        }
    }

    fn stored(&self) -> Option<u64> {
        Some(self.lock().ok()?.rows.len() as u64)
    }

    fn faults(&self) -> Option<&dyn Faults> {
        Some(self)
    }
}

impl FaultyNamespace {
    fn lock(&self) -> Result<Held<'_>, Unready> {
        self.world.lock().map_err(|error| Unready::broken(error.to_string()))
    }

    fn row<T>(&self, id: &SandboxId, change: impl FnOnce(&mut Row) -> T) -> Result<T, Unready> {
        let mut state = self.lock()?;
        let row = state.rows.get_mut(id.as_str());
        row.map(change).ok_or_else(|| Unready::broken(format!("there is no record of {id} to damage")))
    }
}

impl Faults for FaultyNamespace {
    fn damages(&self) -> &'static [Damage] {
        &[Damage::Torn, Damage::Flipped, Damage::Newer, Damage::Garbage, Damage::WrongType, Damage::Misplaced]
    }

    fn damage(&self, id: &SandboxId, how: Damage) -> Result<(), Unready> {
        let damaged = |bytes: &mut Vec<u8>| match how {
            Damage::Torn => bytes.truncate(bytes.len() / 2),
            Damage::Flipped => bytes[20] ^= 4,
            Damage::Newer => bytes[4] += 1,
            Damage::Garbage => *bytes = b"what is this?".to_vec(),
            // Any byte of the name counts into the checksum, so another id's record is one with another checksum.
            Damage::Misplaced => {
                let last = bytes.len() - 1;
                bytes[last] ^= 0xff;
            }
            Damage::WrongType | Damage::NoExpiry => {}
        };
        self.row(id, |row| match how {
            Damage::WrongType => row.bytes = None,
            _ => row.bytes.iter_mut().for_each(damaged),
        })
    }

    fn raw(&self, id: &SandboxId) -> Result<Option<Vec<u8>>, Unready> {
        let state = self.lock()?;
        Ok(state.rows.get(id.as_str()).map(|row| row.bytes.clone().unwrap_or_default()))
    }

    fn outages(&self) -> &'static [Outage] {
        &[Outage::Down, Outage::Hung, Outage::Refusing]
    }

    fn start_outage(&self, outage: Outage) -> Result<(), Unready> {
        self.lock()?.outage = Some(outage);
        Ok(())
    }

    fn end_outage(&self) -> Result<(), Unready> {
        self.lock()?.outage = None;
        Ok(())
    }

    fn can_wipe(&self) -> bool {
        true
    }

    fn wipe(&self) -> Result<(), Unready> {
        let mut state = self.lock()?;
        state.rows.clear();
        state.mark = 0;
        Ok(())
    }

    fn can_plant_foreign(&self) -> bool {
        self.world.place().is_none()
    }

    fn plant_foreign(&self, id: &SandboxId, owner: &str, phase: Phase, ttl: Duration) -> Result<(), Unready> {
        let clock = self.clock.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let clock = clock.ok_or_else(|| Unready::broken("no handle was opened yet, so there is no clock"))?;
        let owner = OwnerId::new(owner).map_err(|e| Unready::broken(e.to_string()))?;
        let record = Record { owner, phase, fence: None, expires: clock.now() + ttl };
        let foreign = Some(Stamped { record, boot: clock.boot().id, written: clock.wall() });
        self.lock()?.rows.insert(id.as_str().to_owned(), Row { foreign, ..Row::default() });
        Ok(())
    }
}
