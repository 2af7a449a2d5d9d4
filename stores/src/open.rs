use std::sync::Arc;

use leasehold::{BootClock, Clock, ErrorKind, Operation, OwnerId, OwnershipStore, StoreError, Ttl};

use crate::StoreUrl;

/// Opens the store that `url` names, for `owner`, with leases of `ttl`.
///
/// | URL | store | settings |
/// | --- | --- | --- |
/// | `memory:` | [`memory`](crate::memory), a new one at each call | |
/// | `file:/dir` | `file` | see its `FileConfig` |
/// | `sqlite:/path.db` | `sqlite` | see its `SqliteConfig` |
/// | `redis://[user:password@]host[:port][/db]`, `rediss://…`, `redis+unix:///socket` | `redis` | see its `RedisConfig` |
///
/// ```
/// use leasehold::{OwnerId, Ttl};
///
/// let ttl = Ttl::from_secs_f64(60.0)?;
/// let store = leasehold_stores::open("memory:", OwnerId::generate(), ttl)?;
/// assert_eq!(store.inspect(&"sbx-1".parse()?)?, None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`ErrorKind::Invalid`] for a URL that can't be understood, [`ErrorKind::Unsupported`] for a store that was not
/// compiled in, and whatever opening that store brings.
pub fn open(url: &str, owner: OwnerId, ttl: Ttl) -> Result<Box<dyn OwnershipStore>, StoreError> {
    let clock = BootClock::new().map_err(|e| e.during(Operation::Open, None))?;
    open_with(&url.parse()?, owner, ttl, Arc::new(clock))
}

/// As [`open`], with a clock of one's own: host stores time their leases by it, Redis only a tenure's `valid_until`.
///
/// # Errors
/// As [`open`].
pub fn open_with(
    url: &StoreUrl,
    owner: OwnerId,
    ttl: Ttl,
    clock: Arc<dyn Clock>,
) -> Result<Box<dyn OwnershipStore>, StoreError> {
    let opened: Result<Box<dyn OwnershipStore>, StoreError> = match url.scheme() {
        "memory" => crate::memory::open(url, owner, ttl, clock),
        #[cfg(feature = "file")]
        "file" => crate::file::open(url, owner, ttl, clock),
        #[cfg(feature = "sqlite")]
        "sqlite" => crate::sqlite::open(url, owner, ttl, clock),
        #[cfg(feature = "redis")]
        "redis" | "rediss" | "redis+unix" => crate::redis::open(url, owner, ttl, clock),
        scheme => Err(unknown(url, scheme)),
    };
    opened.map_err(|e| e.during(Operation::Open, None))
}

fn unknown(url: &StoreUrl, scheme: &str) -> StoreError {
    let known = ["file", "sqlite", "redis", "rediss", "redis+unix"];
    if known.contains(&scheme) {
        let feature = match scheme {
            "rediss" => "redis-tls",
            "redis+unix" => "redis",
            scheme => scheme,
        };
        return StoreError::new(
            ErrorKind::Unsupported,
            format!("store URL {url}: this build has no {feature} store; enable the feature {feature:?}"),
        );
    }
    url.invalid(format!(
        "{scheme:?} is not a store; write memory:, file:/dir, sqlite:/path.db or redis://host:6379/0"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_scheme_is_refused_with_the_known_ones() {
        let ttl = Ttl::from_millis(1_000).unwrap();
        for url in ["postgres://h/db", "memory:x", "memory:?a=1"] {
            let error = open(url, OwnerId::generate(), ttl).err().unwrap();
            assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        }
    }
}
