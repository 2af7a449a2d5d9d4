use std::fmt;

use tokio::sync::broadcast;

use super::registry::{Refusal, StopWhy};
use crate::{BackendError, InstanceId, SandboxId, SessionKey, StoreError};

/// What a provider did or decided, and why.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Event {
    /// A sandbox was handed out.
    Acquired {
        /// Which.
        id: SandboxId,
        /// The instance.
        instance: InstanceId,
        /// To whom; `None` for an anonymous one.
        session: Option<SessionKey>,
        /// How it was come by.
        path: AcquirePath,
    },
    /// Nothing was handed out.
    NotAcquired {
        /// Of which sandbox; `None` before its id was known.
        id: Option<SandboxId>,
        /// Why, with the clause.
        why: String,
    },
    /// The last holder let go; it is kept warm.
    Parked {
        /// Which.
        id: SandboxId,
    },
    /// A peer has it, or its lease could not be claimed again; its holders were told.
    Lost {
        /// Which.
        id: SandboxId,
    },
    /// Its lease ran out while it was warm. It is watched and may be adopted, by anyone.
    Unowned {
        /// Which.
        id: SandboxId,
    },
    /// A lease that had run out while the sandbox was in use was claimed again.
    Reclaimed {
        /// Which.
        id: SandboxId,
    },
    /// A sandbox that nobody owned became ours.
    Adopted {
        /// Which.
        id: SandboxId,
        /// The instance.
        instance: InstanceId,
    },
    /// A sandbox was stopped.
    Stopped {
        /// Which.
        id: SandboxId,
        /// The instance.
        instance: InstanceId,
        /// Why.
        why: StopWhy,
    },
    /// A stop was refused or went wrong; the sandbox is still tracked.
    NotStopped {
        /// Which.
        id: SandboxId,
        /// Why it was to be stopped.
        why: StopWhy,
        /// What stood against it, with the clause.
        because: String,
    },
    /// A condemned instance that an earlier stop had left was finished.
    Finished {
        /// Of which sandbox.
        id: SandboxId,
        /// The instance.
        instance: InstanceId,
    },
    /// The store did not answer; what is held is kept (N3, K7).
    StoreUnknown {
        /// What was asked.
        doing: &'static str,
        /// The answer.
        error: StoreError,
    },
    /// The engine did not answer; nothing is adopted, stopped or handed out for it (K7).
    EngineUnknown {
        /// What was asked.
        doing: &'static str,
        /// The answer.
        error: BackendError,
    },
    /// The cap was exceeded, as configured.
    CapacityExceeded {
        /// For which sandbox.
        id: SandboxId,
    },
    /// A task of the provider panicked, or a call of its backend; it costs that sandbox at most (Z3).
    Panicked {
        /// What it was doing; the operation where it was the backend.
        doing: &'static str,
        /// What it said.
        message: String,
    },
}

/// How an acquire came by its sandbox (H6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AcquirePath {
    /// It was in use here.
    Reused,
    /// It was warm here.
    Reclaimed,
    /// It was running somewhere.
    Discovered,
    /// It was made.
    Created,
}

impl fmt::Display for AcquirePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Reused => "reused",
            Self::Reclaimed => "reclaimed",
            Self::Discovered => "discovered",
            Self::Created => "created",
        })
    }
}

/// A bounded stream of what a provider does; see [`Provider::events`](super::Provider::events). A reader that is too slow
/// misses the oldest and is told how many.
#[derive(Debug)]
pub struct Events {
    receiver: broadcast::Receiver<Event>,
}

impl Events {
    /// How many events wait for the slowest reader at most.
    pub const BOUND: usize = 1_024;

    /// The next event; `None` once the provider is gone.
    ///
    /// # Errors
    /// [`Missed`] says how many this reader was too slow for; the next call goes on after them.
    ///
    /// # Cancel safety
    /// Nothing is lost when the future is dropped.
    pub async fn next(&mut self) -> Result<Option<Event>, Missed> {
        match self.receiver.recv().await {
            Ok(event) => Ok(Some(event)),
            Err(broadcast::error::RecvError::Closed) => Ok(None),
            Err(broadcast::error::RecvError::Lagged(missed)) => Err(Missed(missed)),
        }
    }

    /// The next event if there is one already. What was missed is passed over.
    #[must_use]
    pub fn try_next(&mut self) -> Option<Event> {
        loop {
            match self.receiver.try_recv() {
                Ok(event) => return Some(event),
                Err(broadcast::error::TryRecvError::Lagged(_)) => {}
                Err(_) => return None,
            }
        }
    }
}

/// How many events a reader was too slow for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Missed(pub u64);

impl fmt::Display for Missed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} events were missed; read faster", self.0)
    }
}

impl std::error::Error for Missed {}

/// Where the provider tells what it does: the stream, the log and the counters.
pub(super) struct EventLog {
    sender: broadcast::Sender<Event>,
}

impl EventLog {
    pub(super) fn new() -> Self {
        let (sender, _) = broadcast::channel(Events::BOUND);
        Self { sender }
    }

    pub(super) fn subscribe(&self) -> Events {
        Events { receiver: self.sender.subscribe() }
    }

    pub(super) fn refused(&self, id: &SandboxId, why: StopWhy, refusal: Refusal) {
        self.tell(Event::NotStopped { id: id.clone(), why, because: refusal.to_string() });
    }

    pub(super) fn tell(&self, event: Event) {
        event.log();
        event.count();
        // Nobody listening is fine.
        let _ = self.sender.send(event);
    }
}

impl Event {
    fn log(&self) {
        match self {
            Self::Acquired { id, instance, session, path } => {
                tracing::info!(%id, %instance, session = session.as_ref().map(tracing::field::display), %path, "handed out");
            }
            Self::NotAcquired { id, why } => {
                tracing::warn!(id = id.as_ref().map(tracing::field::display), why, "not handed out");
            }
            Self::Parked { id } => tracing::debug!(%id, "parked"),
            Self::Lost { id } => tracing::warn!(%id, clause = "N2", "lost to a peer; its holders were told"),
            Self::Unowned { id } => {
                tracing::info!(%id, clause = "N2", "ran out while warm; watched until the grace is over")
            }
            Self::Reclaimed { id } => {
                tracing::warn!(%id, clause = "N2", "had run out while in use; claimed again")
            }
            Self::Adopted { id, instance } => tracing::info!(%id, %instance, clause = "D1", "adopted"),
            Self::Stopped { id, instance, why } => tracing::info!(%id, %instance, %why, "stopped"),
            Self::NotStopped { id, why, because } => tracing::info!(%id, %why, because, "not stopped"),
            Self::Finished { id, instance } => tracing::info!(%id, %instance, clause = "K8", "finished"),
            Self::StoreUnknown { doing, error } => {
                tracing::warn!(doing, %error, clause = "N3", "the store did not answer; all is kept");
            }
            Self::EngineUnknown { doing, error } => {
                tracing::warn!(doing, %error, clause = "K7", "the engine did not answer; all is kept");
            }
            Self::CapacityExceeded { id } => tracing::warn!(%id, clause = "G2", "the cap was exceeded"),
            Self::Panicked { doing, message } => tracing::error!(doing, message, clause = "Z3", "panicked"),
        }
    }

    fn count(&self) {
        let name = match self {
            Self::Acquired { path, .. } => {
                metrics::counter!("leasehold_acquired_total", "path" => path.to_string()).increment(1);
                return;
            }
            Self::Stopped { why, .. } => {
                metrics::counter!("leasehold_stopped_total", "why" => format!("{why:?}")).increment(1);
                return;
            }
            Self::NotAcquired { .. } => "leasehold_not_acquired_total",
            Self::Parked { .. } => "leasehold_parked_total",
            Self::Lost { .. } => "leasehold_lost_total",
            Self::Unowned { .. } => "leasehold_unowned_total",
            Self::Reclaimed { .. } => "leasehold_reclaimed_total",
            Self::Adopted { .. } => "leasehold_adopted_total",
            Self::NotStopped { .. } => "leasehold_not_stopped_total",
            Self::Finished { .. } => "leasehold_finished_total",
            Self::StoreUnknown { .. } => "leasehold_store_unknown_total",
            Self::EngineUnknown { .. } => "leasehold_engine_unknown_total",
            Self::CapacityExceeded { .. } => "leasehold_capacity_exceeded_total",
            Self::Panicked { .. } => "leasehold_panicked_total",
        };
        metrics::counter!(name).increment(1);
    }
}
