use std::path::PathBuf;
use std::time::Duration;

use leasehold::StoreError;

use crate::StoreUrl;

/// The settings of a SQLite store.
///
/// ```
/// use leasehold_stores::sqlite::SqliteConfig;
/// use std::time::Duration;
///
/// let url = "sqlite:/run/gateway/leases.db?deadline_ms=500".parse()?;
/// let config = SqliteConfig::from_url(&url)?;
/// assert_eq!(config.deadline, Duration::from_millis(500));
/// assert!(!config.allow_network);
/// # Ok::<(), leasehold::StoreError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SqliteConfig {
    /// The database file, by an absolute path. Its directory must be there; the file is made if it isn't.
    pub path: PathBuf,
    /// How long one operation may wait, for connections and locks together. Setting `deadline_ms`.
    pub deadline: Duration,
    /// How many connections read beside the one that writes: at least 1. Setting `readers`.
    pub readers: usize,
    /// Whether the file may lie on a network file system, whose locks SQLite can't rely on. Setting `network=allow`.
    pub allow_network: bool,
}

impl SqliteConfig {
    /// Two seconds: a write takes microseconds, so whoever waits longer waits for somebody who hangs.
    pub const DEADLINE: Duration = Duration::from_secs(2);
    /// Two: a list, which takes a while, leaves one for the looks at single leases.
    pub const READERS: usize = 2;

    /// The settings for the database at `path`, all else as it is by default.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), deadline: Self::DEADLINE, readers: Self::READERS, allow_network: false }
    }

    /// Reads `sqlite:/path.db` with its settings `deadline_ms`, `readers` and `network`.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](leasehold::ErrorKind::Invalid) for a path that isn't absolute and for a setting that is
    /// unknown or out of range.
    pub fn from_url(url: &StoreUrl) -> Result<Self, StoreError> {
        let mut config = Self::new(url.path()?);
        let mut settings = url.settings();
        if let Some(deadline) = settings.millis("deadline_ms")? {
            config.deadline = deadline;
        }
        if let Some(readers) = settings.number("readers", 1..=64)? {
            config.readers = readers as usize;
        }
        config.allow_network = settings.word("network", &["allow"])?.is_some();
        settings.finish(&["deadline_ms", "readers", "network"])?;
        Ok(config)
    }
}
