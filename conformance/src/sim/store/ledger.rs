//! The facade's ledger: whether a tenure that nobody received may be released, or somebody relies on it by now (O4).

use std::sync::{Arc, PoisonError};

use leasehold::{ClaimOutcome, Intent, Replaced, SandboxId, TakeOutcome};

use super::ask::{Answer, Ask, Reply};
use super::call::Call;
use super::core::Core;

/// The facade's ledger of one sandbox; see `leasehold`'s facade for why.
#[derive(Clone, Copy, Default)]
pub(super) struct Page {
    pub(super) asked: u64,
    pub(super) inside: u64,
    pub(super) settling: u64,
    pub(super) settled: u64,
    /// Claims of its Teardown that a caller waits for.
    pub(super) stopping: u64,
}

/// A take or claim that was entered in the ledger.
#[derive(Clone, Copy)]
pub(super) struct Entry {
    pub(super) number: u64,
    pub(super) crowded: bool,
    pub(super) settled: u64,
}

impl Core {
    /// Counts what a caller waits for, and what of it is about the Teardown of a sandbox.
    pub(super) fn waits(&self, ask: &Ask, more: bool) {
        {
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            *open = if more { *open + 1 } else { open.saturating_sub(1) };
        }
        if let Ask::Claim(id, Intent::Destroy | Intent::DestroyTenure(_)) = ask {
            let mut ledger = self.ledger.lock().unwrap_or_else(PoisonError::into_inner);
            let page = ledger.entry(id.clone()).or_default();
            page.stopping = if more { page.stopping + 1 } else { page.stopping.saturating_sub(1) };
        }
    }

    /// A tenure that nobody is left to receive is released, unless somebody may rely on it (O4).
    pub(super) fn settle(self: &Arc<Self>, ask: &Ask, reply: &Reply, entry: Option<Entry>) {
        if self.world.executor.is_dead(self.life) {
            return;
        }
        let (tenure, replaced) = match reply {
            Ok(
                Answer::Take(TakeOutcome::Taken { tenure, replaced })
                | Answer::Claim(ClaimOutcome::Claimed { tenure, replaced }),
            ) => (tenure, replaced),
            _ => return,
        };
        let (Some(id), Some(entry), false) = (ask.tenure_of(), entry, matches!(replaced, Replaced::Mine(_)))
        else {
            return;
        };
        let alone = {
            let mut ledger = self.ledger.lock().unwrap_or_else(PoisonError::into_inner);
            let page = ledger.entry(id.clone()).or_default();
            page.settling += 1;
            !entry.crowded && page.asked == entry.number
        };
        let (core, id, fence) = (Arc::clone(self), id.clone(), tenure.fence);
        let wait = self.world.delay(self.gateway, "orphan");
        self.world.executor.after_in(self.life, wait, move || {
            // Asked again at the last moment: somebody may have come meanwhile.
            let alone = alone && {
                let ledger = core.ledger.lock().unwrap_or_else(PoisonError::into_inner);
                ledger.get(&id).is_some_and(|page| page.asked == entry.number)
            };
            if alone {
                let mut inside = core.world.inside();
                let now = inside.now();
                if !inside.faults.store_is_cut(core.gateway, now) {
                    let released = inside.leases.release(&id, Some(fence), &core.owner, core.ttl, now);
                    inside.tell(|names| {
                        let (who, what) = (names.life(core.life), names.sandbox(&id));
                        format!("{who}   the facade lets the orphan of {what} go → {released:?}")
                    });
                }
            }
            core.ledger.lock().unwrap_or_else(PoisonError::into_inner).entry(id).or_default().settled += 1;
        });
    }

    pub(super) fn enter(&self, id: &SandboxId) -> Entry {
        let mut ledger = self.ledger.lock().unwrap_or_else(PoisonError::into_inner);
        let page = ledger.entry(id.clone()).or_default();
        let crowded = page.inside > 0;
        page.inside += 1;
        page.asked += 1;
        Entry { number: page.asked, crowded, settled: page.settled }
    }

    pub(super) fn leave(&self, ask: &Ask) {
        if let Some(id) = ask.tenure_of() {
            let mut ledger = self.ledger.lock().unwrap_or_else(PoisonError::into_inner);
            let page = ledger.entry(id.clone()).or_default();
            page.inside = page.inside.saturating_sub(1);
        }
    }

    pub(super) fn is_disturbed(&self, ask: &Ask, answer: &Reply, call: &Call) -> bool {
        let refresh = matches!(answer, Ok(Answer::Claim(ClaimOutcome::Claimed { tenure, replaced: Replaced::Mine(fence) }))
            if *fence == tenure.fence);
        let (Some(id), true) = (ask.tenure_of(), refresh) else { return false };
        let mut at = call.at();
        let Some(entry) = &mut at.entry else { return false };
        let ledger = self.ledger.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(page) = ledger.get(id) else { return false };
        let disturbed = page.settling != entry.settled;
        entry.settled = page.settled;
        disturbed
    }
}
