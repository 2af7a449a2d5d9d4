use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use leasehold::{
    BackendError, BackendErrorKind, BackendOperation, Condition, Endpoint, Exit, InstanceId, Namespace,
    SandboxId, SandboxInfo, SandboxSpec,
};
use tokio::task::AbortHandle;

/// An engine in memory: what its handles have in common. Clones are the same engine.
#[derive(Clone, Default)]
pub struct ModelEngine {
    state: Arc<Mutex<State>>,
}

/// All there is in an engine.
#[derive(Default)]
pub(in crate::backend) struct State {
    last: u64,
    pub(in crate::backend) instances: BTreeMap<InstanceId, Instance>,
    pub(super) commands: BTreeMap<u32, Running>,
    /// Names that somebody else has.
    pub(in crate::backend) foreign: BTreeSet<SandboxId>,
    /// Names of instances that can't be read.
    pub(in crate::backend) unreadable: BTreeSet<SandboxId>,
    /// Nobody can reach it.
    pub(in crate::backend) down: bool,
    /// Whose next answer is lost.
    pub(in crate::backend) loses: Option<BackendOperation>,
}

/// One instance.
#[derive(Clone)]
pub(in crate::backend) struct Instance {
    pub(in crate::backend) info: SandboxInfo,
    /// The namespace of the handle that made it.
    pub(in crate::backend) namespace: Namespace,
    pub(in crate::backend) spec: SandboxSpec,
    pub(in crate::backend) conduct: Conduct,
    /// What commands wrote.
    pub(super) files: BTreeMap<String, Vec<u8>>,
}

/// What the program of a sandbox does, which its variable [`CONDUCT`] says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::backend) enum Conduct {
    Lasts,
    NeverReady,
    Ends,
}

/// The variable that tells a sandbox what to do.
pub(super) const CONDUCT: &str = "MODEL_CONDUCT";

/// A command that runs.
pub(super) struct Running {
    pub(super) instance: InstanceId,
    pub(super) task: Option<AbortHandle>,
    pub(super) end: Arc<Mutex<Option<Exit>>>,
}

impl ModelEngine {
    pub(in crate::backend) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Its state, for a call that has reached it.
    pub(in crate::backend) fn reach(&self) -> Result<MutexGuard<'_, State>, BackendError> {
        let state = self.lock();
        if state.down {
            return Err(BackendError::new(
                BackendErrorKind::Unavailable,
                "the engine is down; ask again later",
            ));
        }
        Ok(state)
    }

    /// Ends a command, unless it has ended.
    pub(super) fn end(&self, command: u32, how: Exit) {
        let running = self.lock().commands.remove(&command);
        if let Some(running) = running {
            running.stop(how);
        }
    }
}

impl Running {
    /// Says how it ended, and ends it.
    pub(super) fn stop(self, how: Exit) {
        self.end.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(how);
        if let Some(task) = self.task {
            task.abort();
        }
    }
}

impl State {
    /// The instance of any namespace that has this name.
    pub(in crate::backend) fn named(&self, id: &SandboxId) -> Option<&Instance> {
        self.instances.values().find(|instance| instance.info.id == *id && !instance.info.condemned)
    }

    /// A number that was never used before.
    pub(in crate::backend) fn next(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    pub(in crate::backend) fn add(&mut self, spec: &SandboxSpec, namespace: &Namespace) -> SandboxInfo {
        let number = self.next();
        let conduct = match spec.environment.get(CONDUCT).map(String::as_str) {
            Some("never") => Conduct::NeverReady,
            Some("ends") => Conduct::Ends,
            _ => Conduct::Lasts,
        };
        let ended = conduct == Conduct::Ends;
        let info = SandboxInfo {
            id: spec.id.clone(),
            instance: InstanceId::new(format!("model-{number:08}")),
            identity: spec.identity.clone(),
            creator: spec.creator.clone(),
            endpoint: Some(Endpoint { host: "192.0.2.1".to_owned(), port: 1_024 + (number % 60_000) as u16 }),
            created: Some(1_700_000_000_000_000 + number),
            condemned: false,
            condition: if ended { Condition::Ended("exited".to_owned()) } else { Condition::Running },
        };
        let instance = Instance {
            info: info.clone(),
            namespace: namespace.clone(),
            spec: spec.clone(),
            conduct,
            files: BTreeMap::new(),
        };
        self.instances.insert(info.instance.clone(), instance);
        info
    }

    /// Ends the commands of an instance.
    pub(in crate::backend) fn stop_commands(&mut self, of: &InstanceId) {
        let (stopped, others) =
            std::mem::take(&mut self.commands).into_iter().partition(|(_, running)| running.instance == *of);
        self.commands = others;
        BTreeMap::into_values(stopped).for_each(|running| running.stop(Exit::Killed));
    }
}

impl fmt::Debug for ModelEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelEngine").field("instances", &self.lock().instances.len()).finish_non_exhaustive()
    }
}
