//! The engine that all gateways of a simulation share: instances, their names, and who stopped what.

use std::collections::BTreeMap;

use leasehold::{Condition, Endpoint, Identity, InstanceId, OwnerId, SandboxId, SandboxInfo, SandboxSpec};

use super::executor::Life;

/// Everything that runs.
#[derive(Default)]
pub(super) struct Engine {
    instances: BTreeMap<u64, Instance>,
    names: BTreeMap<SandboxId, u64>,
    next: u64,
    /// What is gone, and whether a gateway stopped it.
    gone: BTreeMap<u64, Option<Life>>,
}

/// One instance.
pub(super) struct Instance {
    pub(super) id: SandboxId,
    pub(super) identity: Identity,
    creator: OwnerId,
    created: u64,
    pub(super) condemned: bool,
    /// Its processes have ended.
    pub(super) ended: bool,
    /// From when on it is ready.
    pub(super) ready_at: u64,
    /// It was made long after it was asked for, when nobody counted on it any more.
    pub(super) late: bool,
    /// Who began to stop it.
    pub(super) stopped_by: Option<Life>,
}

/// Why nothing was made.
pub(super) enum NotMade {
    /// The name is another instance's.
    Taken(u64),
}

impl Instance {
    pub(super) fn creator(&self) -> &OwnerId {
        &self.creator
    }
}

impl Engine {
    pub(super) fn create(&mut self, spec: &SandboxSpec, now: u64, ready_at: u64) -> Result<u64, NotMade> {
        if let Some(&other) = self.names.get(&spec.id) {
            return Err(NotMade::Taken(other));
        }
        self.next += 1;
        let instance = Instance {
            id: spec.id.clone(),
            identity: spec.identity.clone(),
            creator: spec.creator.clone(),
            created: now,
            condemned: false,
            ended: false,
            ready_at,
            late: false,
            stopped_by: None,
        };
        self.instances.insert(self.next, instance);
        self.names.insert(spec.id.clone(), self.next);
        Ok(self.next)
    }

    pub(super) fn get(&self, number: u64) -> Option<&Instance> {
        self.instances.get(&number)
    }

    pub(super) fn get_mut(&mut self, number: u64) -> Option<&mut Instance> {
        self.instances.get_mut(&number)
    }

    /// The instance that has the name of `id`.
    pub(super) fn named(&self, id: &SandboxId) -> Option<u64> {
        self.names.get(id).copied()
    }

    pub(super) fn all(&self) -> impl Iterator<Item = (u64, &Instance)> {
        self.instances.iter().map(|(&number, instance)| (number, instance))
    }

    /// It gives up its name. `None` when it is gone.
    pub(super) fn condemn(&mut self, number: u64) -> Option<()> {
        let instance = self.instances.get_mut(&number)?;
        instance.condemned = true;
        if self.names.get(&instance.id) == Some(&number) {
            self.names.remove(&instance.id);
        }
        Some(())
    }

    /// It is removed, stopped or not.
    pub(super) fn remove(&mut self, number: u64) {
        if let Some(instance) = self.instances.remove(&number) {
            if self.names.get(&instance.id) == Some(&number) {
                self.names.remove(&instance.id);
            }
            self.gone.insert(number, instance.stopped_by);
        }
    }

    /// Who stopped an instance that is gone or going; `Some(None)` when it went by itself.
    pub(super) fn stopped_by(&self, number: u64) -> Option<Option<Life>> {
        match self.instances.get(&number) {
            Some(instance) if instance.stopped_by.is_some() => Some(instance.stopped_by),
            Some(instance) if instance.ended => Some(None),
            Some(_) => None,
            None => self.gone.get(&number).copied(),
        }
    }

    /// What the engine says of an instance.
    pub(super) fn info(&self, number: u64) -> Option<SandboxInfo> {
        let instance = self.instances.get(&number)?;
        Some(SandboxInfo {
            id: instance.id.clone(),
            instance: name(number),
            identity: instance.identity.clone(),
            creator: instance.creator.clone(),
            endpoint: Some(Endpoint { host: "10.0.0.1".to_owned(), port: 1_024 + (number % 60_000) as u16 }),
            created: Some(instance.created / 1_000),
            condemned: instance.condemned,
            condition: if instance.ended {
                Condition::Ended("exited".to_owned())
            } else {
                Condition::Running
            },
        })
    }
}

/// The engine's own id of an instance.
pub(super) fn name(number: u64) -> InstanceId {
    InstanceId::new(format!("i{number}"))
}

/// The number in such an id.
pub(super) fn number(instance: &InstanceId) -> u64 {
    instance.as_str().strip_prefix('i').and_then(|digits| digits.parse().ok()).unwrap_or(0)
}
