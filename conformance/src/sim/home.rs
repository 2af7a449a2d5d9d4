//! The disk of the simulated hosts: create locks that all gateways of a host share, and none with another host.

use std::sync::Arc;

use leasehold::{CreateGuard, Home, HomeError, Prepared, SandboxId, SessionKey};

use super::executor::Life;
use super::world::World;

/// The home directory as one gateway sees it.
pub(super) struct SimHome {
    world: World,
    life: Life,
    host: usize,
}

impl SimHome {
    pub(super) fn new(world: &World, life: Life, gateway: usize) -> Self {
        Self { world: world.clone(), life, host: world.host_of(gateway) }
    }
}

impl Home for SimHome {
    fn prepare(&self, session: &SessionKey) -> Result<Prepared, HomeError> {
        // Every other session works under a policy.
        let policy = session.thread().ends_with(['1', '3']).then(|| Arc::from("p1"));
        Ok(Prepared { policy, mounts: Vec::new() })
    }

    fn try_lock(&self, id: &SandboxId) -> Result<Option<CreateGuard>, HomeError> {
        let number = self.world.executor.steps();
        let key = (self.host, id.clone());
        let mut inside = self.world.inside();
        if inside.locks.contains_key(&key) {
            return Ok(None);
        }
        inside.locks.insert(key.clone(), (self.life, number));
        Ok(Some(Box::new(Guard { world: self.world.clone(), key, number })))
    }
}

struct Guard {
    world: World,
    key: (usize, SandboxId),
    number: u64,
}

impl Drop for Guard {
    fn drop(&mut self) {
        let mut inside = self.world.inside();
        if inside.locks.get(&self.key).is_some_and(|(_, number)| *number == self.number) {
            inside.locks.remove(&self.key);
        }
    }
}
