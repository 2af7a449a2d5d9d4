use leasehold::StoreError;

use crate::StoreUrl;

/// The settings of a memory store: there are none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryConfig {}

impl MemoryConfig {
    /// Reads `memory:`.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](leasehold::ErrorKind::Invalid) when anything follows the colon.
    pub fn from_url(url: &StoreUrl) -> Result<Self, StoreError> {
        url.settings().finish(&[])?;
        if !url.is_bare() {
            return Err(url.invalid("a memory store has no name; write memory:"));
        }
        Ok(Self {})
    }
}
