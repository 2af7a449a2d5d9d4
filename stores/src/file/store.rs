use std::sync::Arc;

use leasehold::{CellStore, Clock, OwnerId, OwnershipStore, StoreError, Ttl};

use super::{FileCell, FileConfig};
use crate::StoreUrl;

/// A file store, as one owner sees it.
pub type FileStore = CellStore<FileCell>;

/// Opens the directory that `url` names, and makes it if it isn't there.
///
/// # Errors
/// Those of [`FileConfig::from_url`] and of [`FileCell::open`].
pub fn open(
    url: &StoreUrl,
    owner: OwnerId,
    ttl: Ttl,
    clock: Arc<dyn Clock>,
) -> Result<Box<dyn OwnershipStore>, StoreError> {
    let cell = FileCell::open(&FileConfig::from_url(url)?, clock)?;
    Ok(Box::new(CellStore::new(cell, owner, ttl)))
}
