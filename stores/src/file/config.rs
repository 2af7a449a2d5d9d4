use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use leasehold::{SandboxId, StoreError};

use super::name;
use crate::StoreUrl;

/// Which directory holds the records, and how the store uses it.
///
/// ```
/// use std::time::Duration;
/// use leasehold_stores::StoreUrl;
/// use leasehold_stores::file::FileConfig;
///
/// let url: StoreUrl = "file:/var/lib/gateway/leases?deadline_ms=500".parse()?;
/// let config = FileConfig::from_url(&url)?;
/// assert_eq!(config, FileConfig::new("/var/lib/gateway/leases").deadline(Duration::from_millis(500)));
/// # Ok::<(), leasehold::StoreError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileConfig {
    pub(super) dir: PathBuf,
    pub(super) deadline: Duration,
    pub(super) network: bool,
}

impl FileConfig {
    /// How long an operation may wait for locks unless set otherwise.
    pub const DEADLINE: Duration = Duration::from_secs(2);

    /// Records in `dir`, a directory that nothing else uses; it is made when the store is opened.
    #[must_use]
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into(), deadline: Self::DEADLINE, network: false }
    }

    /// The same with another bound on how long an operation may wait for locks.
    #[must_use]
    pub fn deadline(self, deadline: Duration) -> Self {
        Self { deadline, ..self }
    }

    /// The same, with network file systems allowed or refused. They are refused by default: their locks may be of one
    /// host alone or need a server that answers, and hosts that share a directory don't share a boot clock. Allow them
    /// where a single host uses the directory and its locks work.
    #[must_use]
    pub fn allow_network(self, allow: bool) -> Self {
        Self { network: allow, ..self }
    }

    /// The directory.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The file that holds the record of `id`, for operators and tests. It is there while `id` has a lease, and may be for
    /// some time afterwards.
    ///
    /// ```
    /// # use leasehold_stores::file::FileConfig;
    /// let path = FileConfig::new("/var/lib/leases").record_path(&"Sbx-A1".parse()?);
    /// assert_eq!(path.to_str(), Some("/var/lib/leases/sbx-a1+11.lease"));
    /// # Ok::<(), leasehold::InvalidId>(())
    /// ```
    #[must_use]
    pub fn record_path(&self, id: &SandboxId) -> PathBuf {
        let mut name = Vec::with_capacity(name::len(id));
        name::push(&mut name, id);
        self.dir.join(OsStr::from_bytes(&name))
    }

    /// Reads `file:/dir`. Settings: `deadline_ms` (2000) and `network=allow` (or `refuse`).
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](leasehold::ErrorKind::Invalid) for a path that is not absolute, and for settings that are
    /// unknown or can't be right.
    pub fn from_url(url: &StoreUrl) -> Result<Self, StoreError> {
        let mut config = Self::new(url.path()?);
        let mut settings = url.settings();
        if let Some(deadline) = settings.millis("deadline_ms")? {
            config.deadline = deadline;
        }
        config.network = settings.word("network", &["allow", "refuse"])? == Some("allow");
        settings.finish(&["deadline_ms", "network"])?;
        Ok(config)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(url: &str) -> Result<FileConfig, StoreError> {
        FileConfig::from_url(&url.parse()?)
    }

    #[test]
    fn a_url_says_all_there_is_to_set() {
        let plain = read("file:/a/b").unwrap();
        assert_eq!(plain, FileConfig::new("/a/b"));
        assert_eq!((plain.deadline, plain.network), (Duration::from_secs(2), false));
        let set = read("file:///a?network=allow&deadline_ms=7").unwrap();
        assert_eq!(set, FileConfig::new("/a").deadline(Duration::from_millis(7)).allow_network(true));
    }

    #[test]
    fn what_can_not_be_right_is_named() {
        for (url, named) in [
            ("file:a", "absolute"),
            ("file:/a?deadline_ms=0", "deadline_ms"),
            ("file:/a?network=yes", "network"),
            ("file:/a?deadlin=1", "deadlin"),
        ] {
            let error = read(url).unwrap_err().to_string();
            assert!(error.contains(named), "{error}");
        }
    }
}
