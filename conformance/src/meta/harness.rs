use std::sync::Arc;
use std::time::Duration;

use leasehold::{Clock, OwnerId, OwnershipStore, Phase, Reach, SandboxId, StoreError, Ttl};

use super::Fault;
use super::store::FaultyStore;
use super::world::{Row, World};
use crate::{Capabilities, Damage, Faults, Harness, Namespace, Outage, Unready};

/// The harness of a store with one fault, or of the faultless model.
#[derive(Clone, Debug)]
pub struct FaultyHarness {
    fault: Option<Fault>,
    /// The one world that a store whose namespaces leak has.
    leaked: World,
}

impl FaultyHarness {
    /// A store with `fault`, or the faultless model.
    #[must_use]
    pub fn new(fault: Option<Fault>) -> Self {
        Self { fault, leaked: World::default() }
    }
}

impl Harness for FaultyHarness {
    fn name(&self) -> String {
        self.fault.map_or("faultless".to_owned(), |fault| fault.name().to_owned())
    }

    fn capabilities(&self) -> Capabilities {
        let reach = if self.fault == Some(Fault::ReachIsExaggerated) { Reach::Host } else { Reach::Process };
        Capabilities::virtual_time(reach).boot_bound()
    }

    fn fresh(&self) -> Result<Box<dyn Namespace>, Unready> {
        let leaks = self.fault == Some(Fault::NamespacesLeak);
        let world = if leaks { self.leaked.clone() } else { World::default() };
        Ok(Box::new(FaultyNamespace { fault: self.fault, world }))
    }

    fn at(&self, _: &str) -> Result<Box<dyn Namespace>, Unready> {
        // What an exaggerated reach comes to: the other process finds a place of its own.
        Ok(Box::new(FaultyNamespace { fault: self.fault, world: World::default() }))
    }
}

struct FaultyNamespace {
    fault: Option<Fault>,
    world: World,
}

impl Namespace for FaultyNamespace {
    fn open(
        &self,
        owner: OwnerId,
        ttl: Ttl,
        clock: Arc<dyn Clock>,
    ) -> Result<Arc<dyn OwnershipStore>, StoreError> {
        Ok(Arc::new(FaultyStore::new(self.fault, self.world.clone(), owner, ttl, clock)))
    }

    fn address(&self) -> Option<String> {
        (self.fault == Some(Fault::ReachIsExaggerated)).then(|| "somewhere".to_owned())
    }

    fn stored(&self) -> Option<u64> {
        Some(self.world.lock().rows.len() as u64)
    }

    fn faults(&self) -> Option<&dyn Faults> {
        Some(self)
    }
}

impl FaultyNamespace {
    fn row<T>(&self, id: &SandboxId, change: impl FnOnce(&mut Row) -> T) -> Result<T, Unready> {
        let mut state = self.world.lock();
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
        let state = self.world.lock();
        Ok(state.rows.get(id.as_str()).map(|row| row.bytes.clone().unwrap_or_default()))
    }

    fn outages(&self) -> &'static [Outage] {
        &[Outage::Down, Outage::Hung, Outage::Refusing]
    }

    fn start_outage(&self, outage: Outage) -> Result<(), Unready> {
        self.world.lock().outage = Some(outage);
        Ok(())
    }

    fn end_outage(&self) -> Result<(), Unready> {
        self.world.lock().outage = None;
        Ok(())
    }

    fn can_wipe(&self) -> bool {
        true
    }

    fn wipe(&self) -> Result<(), Unready> {
        let mut state = self.world.lock();
        state.rows.clear();
        state.mark = 0;
        Ok(())
    }

    fn can_plant_foreign(&self) -> bool {
        false
    }

    fn plant_foreign(&self, id: &SandboxId, _: &str, _: Phase, _: Duration) -> Result<(), Unready> {
        Err(Unready::broken(format!("the form of {id} has no room for a lease without a fence")))
    }
}
