use leasehold::rules::{self, Asker};
use leasehold::{DiscardOutcome, OwnershipStore, Reading, Record, SandboxId, Step, StoreError, Write};

use super::{Answer, Asked};

impl Asked {
    /// Asks it of a store.
    pub(crate) fn of(self, store: &dyn OwnershipStore, id: &SandboxId) -> Result<Answer, StoreError> {
        Ok(match self {
            Self::Take => Answer::Take(store.take(id)?),
            Self::Claim(intent) => Answer::Claim(store.claim(id, intent)?),
            Self::Renew | Self::RenewMany => Answer::Renew(store.renew(id)?),
            Self::Release => Answer::Release(store.release(id)?),
            Self::ReleaseTenure(fence) => Answer::Release(store.release_tenure(id, fence)?),
            Self::Inspect | Self::List => Answer::Look(store.inspect(id)?),
            Self::Discard { force } => Answer::Discard(store.discard(id, force)?),
        })
    }

    /// What the lease rules answer and write, where `before` is there. A tenure that can't begin, because no fence is left,
    /// is a failure.
    pub fn by_rules(self, before: Option<&Record>, asker: Asker<'_>, reading: Reading) -> Step<Answer> {
        let exhausted = |e: leasehold::FenceExhausted| Answer::Failed(e.to_string());
        match self {
            Self::Take => {
                rules::take(before, asker, reading).map(|said| said.map_or_else(exhausted, Answer::Take))
            }
            Self::Claim(intent) => {
                let step = rules::claim(before, intent, asker, reading);
                step.map(|said| said.map_or_else(exhausted, Answer::Claim))
            }
            Self::Renew | Self::RenewMany => rules::renew(before, asker, reading).map(Answer::Renew),
            Self::Release => rules::release(before, None, asker, reading).map(Answer::Release),
            Self::ReleaseTenure(fence) => {
                rules::release(before, Some(fence), asker, reading).map(Answer::Release)
            }
            Self::Inspect | Self::List => {
                Step { write: Write::Nothing, answer: Answer::Look(rules::inspect(before, reading)) }
            }
            Self::Discard { force } => {
                let (write, outcome) = match rules::inspect(before, reading) {
                    None => (Write::Remove, DiscardOutcome::Absent),
                    Some(_) if force => (Write::Remove, DiscardOutcome::Discarded),
                    Some(lease) => (Write::Nothing, DiscardOutcome::Refused(lease)),
                };
                Step { write, answer: Answer::Discard(outcome) }
            }
        }
    }
}
