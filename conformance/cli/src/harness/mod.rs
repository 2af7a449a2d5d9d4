//! One harness a store.

pub mod file;
pub mod memory;
pub mod redis;
pub mod sqlite;

use std::sync::Arc;

use leasehold_conformance::Harness;
use leasehold_stores::StoreUrl;

/// The harness for the store that `url` names; `file:` and `sqlite:` alone stand for a fresh temporary directory.
///
/// # Errors
/// What is wrong with the URL, and what would be right.
pub fn harness_for(url: &str) -> Result<Arc<dyn Harness>, String> {
    let parsed: StoreUrl = url.parse().map_err(|e: leasehold::StoreError| e.to_string())?;
    Ok(match parsed.scheme() {
        "memory" if parsed.is_bare() => Arc::new(memory::MemoryHarness),
        "file" if parsed.is_bare() => Arc::new(file::FileHarness::default()),
        "file" => Arc::new(file::FileHarness::at_url(&parsed).map_err(|e| e.to_string())?),
        "sqlite" if parsed.is_bare() => Arc::new(sqlite::SqliteHarness::default()),
        "sqlite" => Arc::new(sqlite::SqliteHarness::at_path(parsed.path().map_err(|e| e.to_string())?)),
        "redis" | "rediss" | "redis+unix" => {
            // The settings are checked here, once, and not in every case.
            leasehold_stores::redis::RedisConfig::from_url(&parsed).map_err(|e| e.to_string())?;
            Arc::new(redis::RedisHarness::at_url(url))
        }
        scheme => {
            let known = "memory:, file:/dir, sqlite:/path.db or redis://host:6379/0";
            return Err(format!("{scheme:?} is not the scheme of a store; write {known}"));
        }
    })
}
