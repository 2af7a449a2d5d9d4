//! Ownership leases for shared sandboxes.
//!
//! Gateways (processes that serve AI agents) share sandbox containers. A conversation's next turn may land on any
//! gateway, so a gateway must be able to *take* a sandbox from a live peer; but tidying up must never stop a sandbox
//! that another gateway is using. A lease per sandbox says who may reap it; this crate is the contract of the stores
//! that keep those leases.
//!
//! | you want to | look at |
//! | --- | --- |
//! | keep leases | [`OwnershipStore`], and the crate `leasehold-stores` for four of them |
//! | write a store | [`LeaseCell`] and [`CellStore`]; the crate `leasehold-conformance` proves it |
//! | know the rules | [`rules`], the lease table as pure functions |
//! | know what an answer means | [`TakeOutcome`], [`ClaimOutcome`], [`RenewOutcome`], [`ReleaseOutcome`] |
//! | handle what went wrong | [`StoreError`] and [`ErrorKind`] |
//! | move time in a test | [`Clock`] and [`ManualClock`] |

#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used))]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "backend")]
mod backend;
#[cfg(feature = "bridged")]
mod bridged;
mod cell;
mod cell_store;
mod clock;
mod config;
mod deadline;
mod error;
#[cfg(feature = "facade")]
mod facade;
mod id;
mod lease;
mod moment;
#[cfg(feature = "provider")]
mod provider;
mod reach;
mod store;
mod ttl;

#[cfg(feature = "backend")]
pub use backend::{
    BackendError, BackendErrorKind, BackendListing, BackendOperation, Command, Condemned, Condition,
    Destroyed, Endpoint, EngineId, Execution, Exit, Identity, InstanceId, Mount, Output, SandboxBackend,
    SandboxInfo, SandboxSpec, Seen, Unreadable,
};
#[cfg(feature = "bridged")]
pub use bridged::{AsyncLeaseCell, Bridged, Found};
pub use cell::LeaseCell;
pub use cell_store::CellStore;
#[cfg(target_os = "linux")]
pub use clock::BootClock;
pub use clock::{Boot, BootId, Clock, ManualClock, WallTime};
pub use config::{InvalidConfig, OwnershipConfig};
pub use deadline::Deadline;
pub use error::{ErrorKind, Operation, Stage, StoreError};
#[cfg(feature = "facade")]
pub use facade::{
    AsyncOwnershipStore, CloseReport, FacadeStats, InvalidOffload, OffloadConfig, Offloaded, Orphan,
    OrphanFate, OrphanHook,
};
pub use id::{InvalidId, Namespace, OwnerId, SandboxId, SessionKey};
pub use lease::{
    ClaimOutcome, Damaged, DiscardOutcome, Fence, FenceExhausted, Intent, Lease, Listing, Phase, Reading,
    Record, ReleaseOutcome, RenewOutcome, Replaced, Step, TakeOutcome, Tenure, Write,
};
pub use lease::{codec, rules};
pub use moment::Moment;
#[cfg(feature = "planted")]
pub use provider::Planted;
#[cfg(all(unix, feature = "signals"))]
pub use provider::shutdown_on_signals;
#[cfg(feature = "provider")]
pub use provider::{
    Acquire, AcquireError, AcquirePath, CreateGuard, DestroyError, Env, Event, Events, Home, HomeDirectory,
    HomeError, LostReason, Missed, Parked, PrepareHook, Prepared, Provider, ProviderBuilder, ProviderConfig,
    ProviderStatus, Refusal, Sandbox, SandboxRef, SandboxState, SandboxStatus, ShutdownMode, ShutdownReport,
    StartError, StopWhy, Task, ThreadedEnv, Work,
};
pub use reach::Reach;
pub use store::OwnershipStore;
pub use ttl::{InvalidTtl, Ttl};
