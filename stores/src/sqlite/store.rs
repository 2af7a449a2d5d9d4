use std::sync::Arc;

use leasehold::{CellStore, Clock, OwnerId, OwnershipStore, StoreError, Ttl};

use super::{SqliteCell, SqliteConfig};
use crate::StoreUrl;

/// A SQLite store, as one owner sees it.
pub type SqliteStore = CellStore<SqliteCell>;

/// Opens the database that `url` names, and makes it if it isn't there.
///
/// # Errors
/// [`ErrorKind::Invalid`](leasehold::ErrorKind::Invalid) for a URL that can't be right and for a file that is somebody
/// else's or no database; otherwise as [`SqliteCell::open`].
pub fn open(
    url: &StoreUrl,
    owner: OwnerId,
    ttl: Ttl,
    clock: Arc<dyn Clock>,
) -> Result<Box<dyn OwnershipStore>, StoreError> {
    let cell = SqliteCell::open(SqliteConfig::from_url(url)?, clock)?;
    Ok(Box::new(CellStore::new(cell, owner, ttl)))
}
