//! The least that renewing a row of leases can cost, with no provider around it.

use std::sync::Arc;

use leasehold::{AsyncOwnershipStore, ManualClock, Moment, OwnerId, RenewOutcome, SandboxId, Ttl};

use super::Town;
use super::leases::Yes;

/// The ids of a town, where they lie in the town's memory, and for each the time until which it is valid.
pub struct Bare {
    town: Town,
    store: Yes,
    row: Vec<(SandboxId, Moment)>,
}

impl Bare {
    /// As many as the provider asks for in one call.
    const CHUNK: usize = 1_000;

    /// A row of `size` leases.
    ///
    /// # Errors
    /// What kept the town from being made.
    pub fn new(size: usize) -> Result<Self, String> {
        let town = Town::new(size, true)?;
        let row = town.ids().into_iter().map(|id| (id, Moment::default())).collect();
        let ttl = Ttl::from_millis(75_000).expect("a valid TTL");
        let store = Yes { owner: OwnerId::generate(), ttl, clock: Arc::new(ManualClock::new()) };
        Ok(Self { town, store, row })
    }

    /// Renews all of them: the ids handed to a store that says yes, chunk by chunk, and its answers written down.
    pub fn tick(&mut self) {
        let (store, row) = (&self.store, &mut self.row);
        self.town.runtime.block_on(async {
            for chunk in row.chunks_mut(Self::CHUNK).rev() {
                let ids = chunk.iter().map(|(id, _)| id.clone()).collect();
                for ((_, valid_until), answer) in chunk.iter_mut().zip(store.renew_many(ids).await) {
                    if let Ok(RenewOutcome::Renewed(tenure)) = answer {
                        *valid_until = tenure.valid_until;
                    }
                }
            }
        });
    }
}
