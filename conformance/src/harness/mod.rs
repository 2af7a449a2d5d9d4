//! What the kit needs to know of a store in order to prove it.

mod capabilities;
mod faults;

pub use capabilities::Capabilities;
pub use faults::{Damage, Faults, Outage};

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use leasehold::{Clock, OwnerId, OwnershipStore, StoreError, Ttl};

use crate::Waiver;

/// The store under test: makes namespaces, each empty and of its own.
///
/// This is all an implementer writes to have a store proved. `Default` makes it in the macros.
///
/// ```
/// use std::sync::Arc;
/// use leasehold::{Clock, OwnerId, OwnershipStore, StoreError, Ttl};
/// use leasehold_conformance::{Capabilities, Harness, Namespace, Unready};
///
/// #[derive(Default)]
/// struct Mine;
///
/// impl Harness for Mine {
///     fn name(&self) -> String { "mine".to_owned() }
///     fn capabilities(&self) -> Capabilities { Capabilities::real_time(leasehold::Reach::Cluster) }
///     fn fresh(&self) -> Result<Box<dyn Namespace>, Unready> {
///         Err(Unready::not_run("no server: set MINE_URL"))
///     }
/// }
/// ```
pub trait Harness: Send + Sync + 'static {
    /// The store's name, as the report prints it.
    fn name(&self) -> String;

    /// What the store and this harness can do. Declared, never guessed; what is declared is checked.
    fn capabilities(&self) -> Capabilities;

    /// The TTL of `seconds`, as this store's own settings (its URL, its configuration) read it; by default as
    /// [`Ttl::from_secs_f64`] does. What is no TTL has to be refused by an error that names the value.
    ///
    /// # Errors
    /// What is no TTL.
    fn ttl(&self, seconds: f64) -> Result<Ttl, Box<dyn Error + Send + Sync>> {
        Ok(Ttl::from_secs_f64(seconds)?)
    }

    /// A new, empty namespace that shares nothing with any other, cleaned up when it is dropped.
    ///
    /// # Errors
    /// [`Unready`]: not run, and why, or the harness itself is broken.
    fn fresh(&self) -> Result<Box<dyn Namespace>, Unready>;

    /// The namespace at `address`, as another process sees it; dropping it cleans nothing up.
    ///
    /// # Errors
    /// [`Unready`]; by default because this harness declares no addresses.
    fn at(&self, address: &str) -> Result<Box<dyn Namespace>, Unready> {
        Err(Unready::broken(format!("{} was given the address {address} and declares none", self.name())))
    }

    /// Failures that are borne for a while, each with a reason and a last day. The core tier can't be waived.
    ///
    /// ```
    /// use leasehold_conformance::Waiver;
    ///
    /// fn waivers() -> Vec<Waiver> {
    ///     vec![Waiver::new("A2.takes_follow_one_another", "the driver's bug 123 is fixed in its next release", "2026-12-31")]
    /// }
    /// # assert_eq!(waivers().len(), 1);
    /// ```
    fn waivers(&self) -> Vec<Waiver> {
        Vec::new()
    }
}

/// One namespace of the store under test.
pub trait Namespace: Send + Sync {
    /// Opens the store on this namespace for `owner`. Stores that take a clock get `clock`, which moves on command
    /// where [`Capabilities::virtual_time`] is declared; others ignore it or use it for `valid_until` alone.
    ///
    /// # Errors
    /// Whatever the store says.
    fn open(
        &self,
        owner: OwnerId,
        ttl: Ttl,
        clock: Arc<dyn Clock>,
    ) -> Result<Arc<dyn OwnershipStore>, StoreError>;

    /// Where it is, in words that [`Harness::at`] understands in another process; `None` when it is in this one alone.
    fn address(&self) -> Option<String> {
        None
    }

    /// How many records, rows, keys or files it holds right now, bookkeeping apart; `None` when the harness can't count.
    fn stored(&self) -> Option<u64> {
        None
    }

    /// What this harness can do to the server or the medium; `None` for nothing.
    fn faults(&self) -> Option<&dyn Faults> {
        None
    }
}

/// Why a namespace or a fault could not be had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unready {
    /// What it needs is not on this machine: the case is "not run", and `LEASEHOLD_REQUIRE` may make that a failure.
    NotRun(String),
    /// The harness failed: a harness error, never a verdict on the store.
    Broken(String),
}

impl Unready {
    /// Not run, because `why`.
    pub fn not_run(why: impl Into<String>) -> Self {
        Self::NotRun(why.into())
    }

    /// The harness is broken: `why`.
    pub fn broken(why: impl Into<String>) -> Self {
        Self::Broken(why.into())
    }
}

impl fmt::Display for Unready {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotRun(why) => write!(f, "not run: {why}"),
            Self::Broken(why) => write!(f, "harness error: {why}"),
        }
    }
}

impl Error for Unready {}

impl From<std::io::Error> for Unready {
    fn from(error: std::io::Error) -> Self {
        Self::Broken(error.to_string())
    }
}
