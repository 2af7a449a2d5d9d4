//! Leases of nothing are let go of as soon as the store answers, so that nobody waits a TTL for what nobody has.

use std::sync::Arc;

use super::event::Event;
use super::inner::Inner;
use super::registry::Debt;
use crate::{ErrorKind, Phase, SandboxId, StoreError};

impl Inner {
    /// Releases what is left in the store, by its fence, and never what an acquire of this provider got later. A store that
    /// still doesn't answer is asked again at the next tick.
    ///
    /// Returns those that had an owner until now, this one as a rule: their grace starts anew (D2).
    pub(super) async fn let_owed_leases_go(self: &Arc<Self>) -> Vec<SandboxId> {
        let mut had_an_owner = Vec::new();
        for id in self.registry.owed(self.now()) {
            // Whoever acquires it replaces what is left, and knows it by its own fence.
            let Some(_turn) = self.keys.try_lock(&id) else { continue };
            let Some(debt) = self.registry.debt(&id) else { continue };
            match self.settle(&id, debt).await {
                Ok(true) => had_an_owner.push(id.clone()),
                Ok(false) => {}
                // An operator's; the others are not held up by it.
                Err(error) if error.kind() == ErrorKind::Corrupt => self.registry.settled(&id),
                Err(error) => {
                    let doing = "letting a lease of nothing go";
                    self.events.tell(Event::StoreUnknown { doing, error });
                    // Whether it was there is not known, and unknown is not no.
                    had_an_owner.push(id);
                    return had_an_owner;
                }
            }
        }
        had_an_owner
    }

    /// Says whether somebody had it until now.
    async fn settle(&self, id: &SandboxId, debt: Debt) -> Result<bool, StoreError> {
        let fence = match debt {
            Debt::Release(fence) => Some(fence),
            // Not there now may still mean on its way: it is looked for again until its time is up.
            Debt::Find | Debt::FindFor => match self.store.inspect(id).await? {
                Some(lease) if lease.owner == self.owner && lease.phase == Phase::Held => lease.fence,
                seen => return Ok(seen.is_some()),
            },
        };
        if debt == Debt::FindFor {
            if !self.ask(id).await {
                return Ok(true);
            }
            self.registry.look_again(id, self.now());
        } else if let Some(fence) = fence {
            let _ = self.store.release_tenure(id, fence).await?;
        }
        tracing::info!(%id, clause = "Z1", "what a call without an answer had left in the store is settled");
        self.registry.settled(id);
        Ok(true)
    }
}
