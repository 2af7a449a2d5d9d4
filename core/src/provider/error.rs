use std::error::Error;
use std::fmt;
use std::time::Duration;

use super::home::HomeError;
use super::registry::Refusal;
use crate::{BackendError, BackendErrorKind, ErrorKind, InvalidConfig, InvalidId, StoreError};

/// Why no sandbox was handed out, and so what a gateway answers. Whichever it is, nothing was handed out and nothing that
/// others use was touched.
///
/// | error | what it says | what a gateway answers |
/// | --- | --- | --- |
/// | `AtCapacity` | no slot, and nothing that may be evicted | busy (503); again after its `retry_after` |
/// | `BeingDestroyed` | a stop is under way, here or at a peer | busy (503); again in a moment |
/// | `StoreUnknown` | the lease could not be had | unavailable (503); alert if [`is_transient`](Self::is_transient) says no |
/// | `Backend` | the engine did not or could not | unavailable (503); alert if [`is_transient`](Self::is_transient) says no |
/// | `DeadlinePassed` | it took longer than the request allowed | timed out (504); again in a moment |
/// | `Panicked` | a fault of the code | failed (500); again in a moment, and report it |
/// | `ShuttingDown` | this gateway ends | unavailable (503); another gateway, at once |
/// | `Foreign` | the sandbox is another session's | failed (500); an operator looks at it |
/// | `Home` | a directory or lock of the deployment | failed (500); an operator mends it |
///
/// ```
/// use leasehold::{AcquireError, ErrorKind, StoreError};
/// use std::time::Duration;
///
/// let busy = AcquireError::AtCapacity { retry_after: Duration::from_secs(5) };
/// assert_eq!(busy.retry_after(), Some(Duration::from_secs(5)));
/// let misconfigured = AcquireError::StoreUnknown(StoreError::new(ErrorKind::Denied, "the password is wrong"));
/// assert_eq!(misconfigured.retry_after(), None);
/// ```
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
    /// The store did not answer, or refused to (H2, K7). Ask again, unless its kind says that somebody has to mend it.
    StoreUnknown(StoreError),
    /// The engine did not answer, or could not make one. Ask again, unless its kind says that somebody has to mend it.
    Backend(BackendError),
    /// The deadline of the request passed. What has begun goes on to a safe end, and the next acquire finds it.
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
    /// A task of the provider panicked, or the preparation of a home (Z3). Ask again, and report it.
    Panicked,
}

impl AcquireError {
    /// A pause before asking again where nothing better is known.
    const MOMENT: Duration = Duration::from_secs(1);

    /// Whether asking this gateway again may help without anybody changing anything.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        self.retry_after().is_some()
    }

    /// After how long asking this gateway again may help; `None` when it won't until somebody changes something, or, for
    /// [`ShuttingDown`](Self::ShuttingDown), at all.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::AtCapacity { retry_after } => Some(*retry_after),
            Self::BeingDestroyed | Self::DeadlinePassed { .. } | Self::Panicked => Some(Self::MOMENT),
            Self::StoreUnknown(error) => may_mend_itself(error.kind()).then_some(Self::MOMENT),
            Self::Backend(error) => engine_may_mend_itself(error.kind()).then_some(Self::MOMENT),
            Self::Foreign { .. } | Self::Home(_) | Self::ShuttingDown => None,
        }
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
                let then = if self.is_transient() { "try again" } else { "an operator has to look at it" };
                write!(f, "the lease could not be had, so nothing is handed out (H2); {then}: {error}")
            }
            Self::Backend(error) => {
                let then = if self.is_transient() { "try again" } else { "an operator has to look at it" };
                write!(f, "the engine made or showed no sandbox; {then}: {error}")
            }
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

/// Whether the store may answer otherwise without anybody changing anything.
fn may_mend_itself(kind: ErrorKind) -> bool {
    match kind {
        ErrorKind::Unavailable | ErrorKind::Timeout | ErrorKind::Panicked | ErrorKind::Full => true,
        ErrorKind::Corrupt
        | ErrorKind::Unsafe
        | ErrorKind::Closed
        | ErrorKind::Invalid
        | ErrorKind::Unsupported
        | ErrorKind::Denied => false,
    }
}

/// The same for the engine.
fn engine_may_mend_itself(kind: BackendErrorKind) -> bool {
    use BackendErrorKind::*;
    match kind {
        Unavailable | Timeout | Conflict | NotReady | Exited | Missing | Full | Panicked => true,
        Foreign | Invalid | Unsupported | Denied | Corrupt => false,
    }
}

/// Why a sandbox that was asked to be stopped was not. It runs on, or its stop is finished later; either way it stays
/// tracked by whoever owns it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum DestroyError {
    /// It may not be stopped now; [`Refusal::TooYoung`] says after how long it may.
    Refused(Refusal),
    /// A peer has it, or another tenure is in force (K1). Leave it to its owner.
    NotOurs,
    /// The store did not answer (K7). It is still tracked; ask again.
    StoreUnknown(StoreError),
    /// The engine did not stop it, or did not say so. It is still tracked, and the stop is tried again by itself.
    Backend(BackendError),
    /// Too little was left of the lease to begin (K8). It is still tracked; ask again after the next renewal.
    NoTime,
    /// A task of the provider panicked (Z3). It is still tracked; ask again, and report it.
    Panicked,
}

impl fmt::Display for DestroyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(refusal) => write!(f, "not stopped: {refusal}"),
            Self::NotOurs => f.write_str("not stopped: a peer has it, or it was taken since (K1); leave it to its owner"),
            Self::StoreUnknown(error) => {
                write!(f, "not stopped, since the lease store did not answer (K7); try again: {error}")
            }
            Self::Backend(error) => write!(f, "not stopped, or not known to be; it is tried again: {error}"),
            Self::NoTime => f.write_str(
                "not stopped: too little was left of the lease to begin (K8); try again after the next renewal",
            ),
            Self::Panicked => f.write_str("not stopped: a task of the provider panicked (Z3); try again"),
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

/// Why a provider could not be built or started. Only [`Backend`](Self::Backend) and [`Host`](Self::Host) may pass by
/// themselves; the others name what has to be changed.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_may_pass_by_itself_is_asked_again() {
        let store = |kind| AcquireError::StoreUnknown(StoreError::new(kind, "x"));
        let engine = |kind| AcquireError::Backend(BackendError::new(kind, "x"));
        let again = [
            AcquireError::BeingDestroyed,
            AcquireError::DeadlinePassed { doing: "x" },
            AcquireError::Panicked,
            store(ErrorKind::Timeout),
            store(ErrorKind::Full),
            engine(BackendErrorKind::Unavailable),
            engine(BackendErrorKind::Panicked),
        ];
        assert!(again.iter().all(AcquireError::is_transient));
        let never = [
            AcquireError::ShuttingDown,
            AcquireError::Foreign { whose: "x".to_owned() },
            AcquireError::Home(HomeError::new("cannot open", "/x")),
            store(ErrorKind::Denied),
            store(ErrorKind::Unsafe),
            store(ErrorKind::Corrupt),
            engine(BackendErrorKind::Denied),
            engine(BackendErrorKind::Foreign),
        ];
        assert!(!never.iter().any(AcquireError::is_transient));
    }

    #[test]
    fn the_text_says_what_to_do_next() {
        let said = |kind| AcquireError::StoreUnknown(StoreError::new(kind, "x")).to_string();
        assert!(said(ErrorKind::Timeout).contains("try again"));
        assert!(said(ErrorKind::Denied).contains("an operator has to look"));
        let full = AcquireError::AtCapacity { retry_after: Duration::from_secs(5) };
        assert_eq!(full.retry_after(), Some(Duration::from_secs(5)));
        assert!(full.to_string().contains("try again after 5s"));
    }
}
