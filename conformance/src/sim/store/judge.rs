//! What a gateway may not ask for, what may not happen at the store, and what a gateway knows from its answers.

use std::sync::PoisonError;
use std::time::Duration;

use leasehold::{
    ClaimOutcome, Intent, Lease, Phase, ReleaseOutcome, RenewOutcome, Replaced, SandboxId, SandboxState,
    TakeOutcome, Tenure,
};

use super::ask::{Answer, Ask, Reply};
use super::core::Core;
use crate::sim::witness::Heard;
use crate::sim::world::Inside;

impl Core {
    /// What a gateway may not even ask for.
    pub(super) fn judge(&self, ask: &Ask) {
        let world = &self.world;
        let Some(status) = world.peek(self.life) else { return };
        let state = |id: &SandboxId| status.sandboxes.iter().find(|row| row.id == *id).map(|row| row.state);
        let mut inside = world.inside();
        match ask {
            Ask::Take(id) if state(id) == Some(SandboxState::Stopping) => {
                inside.fail("K2: a reservation keeps acquires out", |names| {
                    format!("{} takes {} while it stops it itself", names.life(self.life), names.sandbox(id))
                });
            }
            Ask::Claim(id, Intent::Keep)
                if !matches!(
                    state(id),
                    Some(SandboxState::Active | SandboxState::Acquiring | SandboxState::Stopping)
                ) =>
            {
                let awake = inside.now() - world.executor.suspended(self.life);
                let seen_for = inside.witness.unowned_for(self.life, id, awake);
                if seen_for.is_none_or(|seen_for| seen_for < inside.witness.grace()) {
                    inside.fail("N2: what is warm is not claimed again before the grace is over", |names| {
                        let (state, seen_for) = (state(id), seen_for.map(Duration::from_nanos));
                        format!(
                            "{} claims {}, which is {state:?} there and was seen to be nobody's for {seen_for:?}",
                            names.life(self.life),
                            names.sandbox(id)
                        )
                    });
                }
            }
            Ask::Release(id, _) => {
                let ledger = self.ledger.lock().unwrap_or_else(PoisonError::into_inner);
                if ledger.get(id).is_some_and(|page| page.stopping > 0) {
                    inside.fail("K3: the release comes strictly after the last refresh", |names| {
                        format!(
                            "{} releases {} while a claim of its Teardown is under way",
                            names.life(self.life),
                            names.sandbox(id)
                        )
                    });
                }
            }
            _ => {}
        }
    }

    /// What may not happen at the store, whoever asked for what.
    pub(super) fn judge_effect(
        &self,
        inside: &mut Inside,
        ask: &Ask,
        answer: &Reply,
        before: Option<&Lease>,
    ) {
        match (ask, answer) {
            (Ask::Claim(id, intent), Ok(Answer::Claim(ClaimOutcome::Claimed { replaced, .. })))
                if *intent != Intent::Keep && *replaced == Replaced::Nothing =>
            {
                inside.fail("K1: a Teardown never begins out of nothing", |names| {
                    format!("{} marks {}, which nobody held", names.life(self.life), names.sandbox(id))
                });
            }
            (Ask::Release(id, _), Ok(Answer::Release(ReleaseOutcome::Released)))
                if before.is_some_and(|lease| lease.phase == Phase::Held)
                    && inside.witness.is_needed(self.life, id) =>
            {
                inside.fail("H2: the lease of what is in use is not let go", |names| {
                    format!(
                        "{} releases {}, which somebody there uses",
                        names.life(self.life),
                        names.sandbox(id)
                    )
                });
            }
            _ => {}
        }
    }

    /// Tells the witness what this gateway knows now.
    pub(super) fn heard(&self, ask: &Ask, reply: &Reply, times: (u64, u64), effect: u64) {
        let mut inside = self.world.inside();
        let now = inside.now();
        let awake = now - self.world.executor.suspended(self.life);
        let life = self.life;
        let offset = self.world.clock_offset(self.gateway);
        let mut hear = |id: &SandboxId, heard: Heard, tenure: Option<&Tenure>| {
            let until = tenure.map(|tenure| tenure.valid_until.as_nanos() - offset);
            inside.witness.heard(life, id, heard, times, (effect, until), now);
        };
        match (ask, reply) {
            (Ask::Take(id), Ok(Answer::Take(TakeOutcome::Taken { tenure, .. }))) => {
                hear(id, Heard::Taken, Some(tenure))
            }
            (Ask::Claim(id, Intent::Keep), Ok(Answer::Claim(ClaimOutcome::Claimed { tenure, .. }))) => {
                hear(id, Heard::Kept, Some(tenure));
            }
            (Ask::Claim(id, Intent::Keep), Ok(Answer::Claim(_))) => hear(id, Heard::Lost, None),
            (Ask::Claim(id, _), Ok(Answer::Claim(ClaimOutcome::Claimed { .. }))) => {
                hear(id, Heard::MayStop, None)
            }
            (Ask::Claim(id, _), Ok(Answer::Claim(_))) => hear(id, Heard::MayNotStop, None),
            (Ask::Renew(ids), Ok(Answer::Renew(outcomes))) => {
                for (id, outcome) in ids.iter().zip(outcomes) {
                    match outcome {
                        RenewOutcome::Renewed(tenure) => hear(id, Heard::Renewed, Some(tenure)),
                        RenewOutcome::Lapsed => hear(id, Heard::Lapsed, None),
                        RenewOutcome::Lost => hear(id, Heard::Lost, None),
                    }
                }
            }
            (Ask::Release(id, _), Ok(_)) => hear(id, Heard::LetGo, None),
            (Ask::Inspect(id), Ok(Answer::Inspect(lease))) => {
                inside.witness.looked_at_lease(life, id, lease.is_some(), awake);
            }
            (Ask::List, Ok(Answer::List(listing))) => {
                let owned = listing.leases.iter().map(|(id, _)| id);
                inside.witness.looked_at_leases(life, owned, awake);
            }
            _ => {}
        }
    }
}
