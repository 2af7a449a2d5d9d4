use std::sync::Arc;

use leasehold::{CellStore, Clock, OwnerId, OwnershipStore, StoreError, Ttl};

use super::{MemoryCell, MemoryConfig};
use crate::StoreUrl;

/// A memory store, as one owner sees it.
pub type MemoryStore = CellStore<MemoryCell>;

/// Opens a new, empty memory store that nobody else shares. For one that several owners of this process share, make a
/// [`MemoryCell`] and clone it.
///
/// # Errors
/// [`ErrorKind::Invalid`](leasehold::ErrorKind::Invalid) for a URL with more in it than `memory:`.
pub fn open(
    url: &StoreUrl,
    owner: OwnerId,
    ttl: Ttl,
    clock: Arc<dyn Clock>,
) -> Result<Box<dyn OwnershipStore>, StoreError> {
    MemoryConfig::from_url(url)?;
    Ok(Box::new(CellStore::new(MemoryCell::new(clock), owner, ttl)))
}
