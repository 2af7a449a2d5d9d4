use std::time::Duration;

use crate::{EngineId, Fence, InstanceId, OwnerId, Reach, SandboxId, SessionKey};

/// A provider at one moment, for people and dashboards; see [`Provider::status`](super::Provider::status).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ProviderStatus {
    /// In whose name it holds leases.
    pub owner: OwnerId,
    /// The backend's kind.
    pub backend: &'static str,
    /// Which engine it talks to, once that is known.
    pub engine: Option<EngineId>,
    /// How far its leases are seen. With [`Reach::Process`] no other gateway can be kept off.
    pub reach: Reach,
    /// Why nothing is tidied up, while that is so.
    pub reaping_paused: Option<String>,
    /// Whether it is shutting down.
    pub closing: bool,
    /// Acquires under way.
    pub acquires: usize,
    /// Sandboxes that somebody here acquires, adopts or waits to.
    pub keys: usize,
    /// Slots taken, and how many there are.
    pub slots: (usize, Option<usize>),
    /// How long ago the last renewal that reached the store was sent.
    pub last_renewal: Option<Duration>,
    /// Every sandbox that it tracks, in the order of ids.
    pub sandboxes: Vec<SandboxStatus>,
}

/// One sandbox of a provider at one moment.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SandboxStatus {
    /// Which.
    pub id: SandboxId,
    /// Whose; `None` for an anonymous one.
    pub session: Option<SessionKey>,
    /// The instance, where there is one.
    pub instance: Option<InstanceId>,
    /// What it is to this provider.
    pub state: SandboxState,
    /// How many hold it here.
    pub holders: usize,
    /// Commands that run in it here.
    pub running: usize,
    /// Since when nobody did anything in it here.
    pub idle_for: Option<Duration>,
    /// The fence of the tenure under which it is held.
    pub fence: Option<Fence>,
    /// How long that tenure lasts unless it is renewed.
    pub lease_left: Option<Duration>,
    /// After how long it may be reaped, as far as the tenure's age goes.
    pub reapable_in: Option<Duration>,
}

/// What a sandbox is to a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SandboxState {
    /// Somebody here holds it.
    Active,
    /// Nobody holds it; it is kept for the next.
    Warm,
    /// It is being acquired.
    Acquiring,
    /// It is being stopped.
    Stopping,
    /// It was lost to a peer, and somebody here has not let go yet.
    Lost,
    /// It is here and nobody owns it: it is watched until the grace is over.
    Unowned,
    /// A stop began and did not end; it is never handed out, and will be finished.
    Condemned,
    /// Something was asked of the store or the engine and what became of it is not known yet.
    Unresolved,
}
