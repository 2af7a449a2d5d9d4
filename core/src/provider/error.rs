use std::error::Error;
use std::fmt;
use std::time::Duration;

use super::home::HomeError;
use super::registry::Refusal;
use crate::{BackendError, InvalidConfig, InvalidId, StoreError};

/// Why no sandbox was handed out, and so what a gateway answers.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum AcquireError {
    /// All slots are taken by sandboxes that may not be stopped (G2). Ask again after the given time.
    AtCapacity {
        /// A time after which asking again may help.
        retry_after: Duration,
    },
    /// It is being stopped, here or by a peer, and that took longer than the caller would wait (H5). Ask again.
    BeingDestroyed,
    /// The store did not answer (H2, K7). Nothing was handed out; ask again.
    StoreUnknown(StoreError),
    /// The engine did not answer, or could not make one. Ask again.
    Backend(BackendError),
    /// The deadline passed.
    DeadlinePassed {
        /// What was going on when it did.
        doing: &'static str,
    },
    /// The sandbox under this id belongs to another session (H4). Nothing was changed; an operator looks at it.
    Foreign {
        /// Whose it is.
        whose: String,
    },
    /// The home directory or a create lock could not be used (H9). Fix the deployment.
    Home(HomeError),
    /// The provider is shutting down. Ask another gateway.
    ShuttingDown,
    /// A task of the provider panicked (Z3). Ask again.
    Panicked,
}

impl AcquireError {
    /// Whether asking again may help without anybody changing anything.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        !matches!(self, Self::Foreign { .. } | Self::Home(_) | Self::ShuttingDown)
    }
}

impl fmt::Display for AcquireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtCapacity { retry_after } => {
                write!(
                    f,
                    "at capacity, and no sandbox may be stopped to make room (G2); try again after {retry_after:?}"
                )
            }
            Self::BeingDestroyed => f.write_str("the sandbox is being stopped (H5); try again"),
            Self::StoreUnknown(error) => {
                write!(f, "the lease store did not answer, so nothing is handed out (H2): {error}")
            }
            Self::Backend(error) => write!(f, "the engine: {error}"),
            Self::DeadlinePassed { doing } => write!(f, "the deadline passed while {doing}; try again"),
            Self::Foreign { whose } => {
                write!(f, "the sandbox under this id belongs to {whose} (H4); an operator has to look at it")
            }
            Self::Home(error) => error.fmt(f),
            Self::ShuttingDown => f.write_str("this provider is shutting down; ask another gateway"),
            Self::Panicked => f.write_str("a task of the provider panicked (Z3); try again"),
        }
    }
}

impl Error for AcquireError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::StoreUnknown(error) => Some(error),
            Self::Backend(error) => Some(error),
            Self::Home(error) => error.source(),
            _ => None,
        }
    }
}

/// Why a sandbox that was asked to be stopped was not.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum DestroyError {
    /// It may not be stopped now.
    Refused(Refusal),
    /// A peer has it, or another tenure is in force (K1).
    NotOurs,
    /// The store did not answer (K7). It is still tracked.
    StoreUnknown(StoreError),
    /// The engine did not stop it, or did not say so. It is still tracked.
    Backend(BackendError),
    /// Too little was left of the lease to begin (K8). It is still tracked.
    NoTime,
    /// A task of the provider panicked (Z3). It is still tracked.
    Panicked,
}

impl fmt::Display for DestroyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(refusal) => write!(f, "not stopped: {refusal}"),
            Self::NotOurs => f.write_str("not stopped: a peer has it, or it was taken since (K1)"),
            Self::StoreUnknown(error) => {
                write!(f, "not stopped, since the lease store did not answer (K7): {error}")
            }
            Self::Backend(error) => write!(f, "the engine: {error}"),
            Self::NoTime => f.write_str("not stopped: too little was left of the lease to begin (K8)"),
            Self::Panicked => f.write_str("a task of the provider panicked (Z3)"),
        }
    }
}

impl Error for DestroyError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::StoreUnknown(error) => Some(error),
            Self::Backend(error) => Some(error),
            _ => None,
        }
    }
}

/// Why a provider could not be built or started.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum StartError {
    /// A setting can't be right.
    Config(InvalidConfig),
    /// An id can't be right.
    Id(InvalidId),
    /// The home directory can't be used.
    Home(HomeError),
    /// The clock or a thread is not to be had.
    Host(StoreError),
    /// The engine did not say who it is.
    Backend(BackendError),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(error) => error.fmt(f),
            Self::Id(error) => error.fmt(f),
            Self::Home(error) => error.fmt(f),
            Self::Host(error) => error.fmt(f),
            Self::Backend(error) => write!(f, "the engine did not say who it is: {error}"),
        }
    }
}

impl Error for StartError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Config(error) => Some(error),
            Self::Id(error) => Some(error),
            Self::Home(error) => Some(error),
            Self::Host(error) => Some(error),
            Self::Backend(error) => Some(error),
        }
    }
}
