use std::time::Duration;

use leasehold::rules::Asker;
use leasehold::{
    ClaimOutcome, DiscardOutcome, Intent, Lease, Moment, RenewOutcome, SandboxId, StoreError, TakeOutcome,
    Tenure,
};

use super::story::{Move, OWNERS, SANDBOXES, TTLS, What};
use super::world::Modelled;
use crate::Namespace;
use crate::case::Stop;
use crate::history::{Answer, Asked};
use crate::kit::{Kit, Store, id};

/// Why a history was not played to its end.
#[derive(Debug)]
pub(super) enum Differs {
    /// The store and the rules say different things.
    Found(Box<Found>),
    /// The harness failed, or isn't there.
    Stopped(Stop),
}

/// A difference between the store and the rules.
#[derive(Clone, Debug)]
pub(super) struct Found {
    /// At which step, from 0.
    pub(super) at: usize,
    pub(super) clause: &'static str,
    pub(super) expected: String,
    pub(super) seen: String,
}

impl From<Stop> for Differs {
    fn from(stop: Stop) -> Self {
        Self::Stopped(stop)
    }
}

/// Plays `history` on a fresh namespace.
pub(super) fn play(kit: &Kit<'_>, history: &[Move]) -> Result<(), Differs> {
    let mut stage = Stage::new(kit)?;
    for (at, step) in history.iter().enumerate() {
        stage.at = at;
        stage.step(*step)?;
        stage.look(step)?;
    }
    Ok(())
}

/// The store and the model, side by side.
struct Stage<'a, 'k> {
    kit: &'a Kit<'k>,
    namespace: Box<dyn Namespace>,
    /// Each owner's handle.
    stores: Vec<Store>,
    ids: Vec<SandboxId>,
    modelled: Vec<Modelled>,
    at: usize,
}

impl<'a, 'k> Stage<'a, 'k> {
    fn new(kit: &'a Kit<'k>) -> Result<Self, Stop> {
        let namespace = kit.fresh()?;
        let open = |owner: &&str| kit.open_in(&*namespace, owner, TTLS[0]);
        let stores = OWNERS.iter().map(open).collect::<Result<_, Stop>>()?;
        let modelled = SANDBOXES.iter().map(|_| Modelled::default()).collect();
        Ok(Self { kit, namespace, stores, ids: SANDBOXES.map(id).into(), modelled, at: 0 })
    }

    fn step(&mut self, step: Move) -> Result<(), Differs> {
        let fences = &self.modelled[step.sandbox].fences;
        let asked = match step.what {
            What::Take => Asked::Take,
            What::Keep => Asked::Claim(Intent::Keep),
            What::Destroy => Asked::Claim(Intent::Destroy),
            What::DestroyTenure(which) => Asked::Claim(Intent::DestroyTenure(which.among(fences))),
            What::Renew => Asked::Renew,
            What::Release => Asked::Release,
            What::ReleaseTenure(which) => Asked::ReleaseTenure(which.among(fences)),
            What::Discard { force } => Asked::Discard { force },
            What::RenewMany => return self.renew_many(step.owner),
            What::Reopen { ttl } => return self.reopen(step.owner, TTLS[ttl]),
            What::Pass { .. } | What::PassToExpiry { .. } | What::StepWall { .. } => {
                self.pass(step);
                return Ok(());
            }
        };
        let sent = self.kit.now();
        let given = asked.of(&*self.stores[step.owner], &self.ids[step.sandbox]);
        self.compare(step.owner, step.sandbox, asked, sent, given)
    }

    fn renew_many(&mut self, owner: usize) -> Result<(), Differs> {
        let sent = self.kit.now();
        let ids: Vec<SandboxId> = self.ids.iter().rev().cloned().collect();
        let outcomes = self.stores[owner].renew_many(&ids);
        if outcomes.len() != ids.len() {
            let expected = format!("{} outcomes", ids.len());
            return self.found("B1", expected, format!("{}", outcomes.len()));
        }
        for (sandbox, outcome) in (0..ids.len()).rev().zip(outcomes) {
            self.compare(owner, sandbox, Asked::RenewMany, sent, outcome.map(Answer::Renew))?;
        }
        Ok(())
    }

    fn reopen(&mut self, owner: usize, ttl: Duration) -> Result<(), Differs> {
        if let Err(error) = self.stores[owner].close() {
            return self.found("X5", "a handle that closes".to_owned(), format!("{error:?}"));
        }
        self.stores[owner] = self.kit.open_in(&*self.namespace, OWNERS[owner], ttl)?;
        Ok(())
    }

    fn pass(&self, step: Move) {
        let Ok(clock) = self.kit.virtual_clock() else { return };
        match step.what {
            What::Pass { eighths } => clock.advance(TTLS[0] * eighths / 8),
            What::StepWall { seconds } => clock.step_wall(seconds * 1_000_000),
            What::PassToExpiry { nanos } => {
                let record = self.modelled[step.sandbox].record.as_ref();
                let left = record.map_or(0, |record| record.expires.since(self.kit.now()).as_nanos() as u64);
                // Time that is over already doesn't come back.
                clock.advance(Duration::from_nanos(left.saturating_add_signed(nanos)));
            }
            _ => {}
        }
    }

    /// Compares what the store gave with what the rules say.
    fn compare(
        &mut self,
        owner: usize,
        sandbox: usize,
        asked: Asked,
        sent: Moment,
        given: Result<Answer, StoreError>,
    ) -> Result<(), Differs> {
        let now = self.kit.now();
        let store = &self.stores[owner];
        let asker = Asker { owner: store.owner(), ttl: store.ttl() };
        let clause = self.modelled[sandbox].clause(asked, OWNERS[owner], now);
        let dead = self.modelled[sandbox].record.is_some() && self.modelled[sandbox].lease(now).is_none();
        let given = given.unwrap_or_else(|error| Answer::Failed(format!("{error:?}")));
        let said = self.modelled[sandbox].ask(asked, asker, now, &given);
        // What ran out may still be in its place when it is discarded.
        let discarded = dead
            && said == Answer::Discard(DiscardOutcome::Absent)
            && given == Answer::Discard(DiscardOutcome::Discarded);
        if given == said || discarded || self.same_but_for_time(&given, &said, sent, asker.ttl.as_duration())
        {
            return Ok(());
        }
        let of = SANDBOXES[sandbox];
        let clause = if given.fence().is_some() && same_but_for_fence(&given, &said) { "F1" } else { clause };
        self.found(clause, format!("{} to {} of {of}", words(&said), words(&asked)), words(&given))
    }

    /// After each step every sandbox is as the rules have it, and a list says the same.
    fn look(&self, step: &Move) -> Result<(), Differs> {
        let store = &self.stores[step.owner];
        let listing = match store.list() {
            Ok(listing) => listing,
            Err(error) => return self.found("I4", "a list".to_owned(), format!("{error:?}")),
        };
        if let Some(damaged) = listing.damaged.first() {
            return self.found("I4", "nothing damaged".to_owned(), format!("{damaged:?}"));
        }
        if let Some((stranger, lease)) = listing.leases.iter().find(|(listed, _)| !self.ids.contains(listed))
        {
            return self.found("I4", "no other sandbox".to_owned(), format!("{stranger}: {lease:?}"));
        }
        for (id, modelled) in self.ids.iter().zip(&self.modelled) {
            let seen = match store.inspect(id) {
                Ok(seen) => seen,
                Err(error) => return self.found("I2", format!("a look at {id}"), format!("{error:?}")),
            };
            let now = self.kit.now();
            let expected = modelled.lease(now);
            if !self.same_lease(seen.as_ref(), expected.as_ref()) {
                let clause = self.state_clause(modelled, seen.as_ref(), now);
                let expected = format!("{id} {} after it", state(expected.as_ref()));
                return self.found(clause, expected, state(seen.as_ref()));
            }
            let listed: Vec<&Lease> =
                listing.leases.iter().filter(|(listed, _)| listed == id).map(|(_, lease)| lease).collect();
            if listed.len() != usize::from(expected.is_some())
                || !self.same_lease(listed.first().copied(), expected.as_ref())
            {
                let expected = format!("{id} {} in the list", state(expected.as_ref()));
                return self.found("I4", expected, format!("{listed:?}"));
            }
        }
        Ok(())
    }

    /// The clause that a wrong state breaks.
    fn state_clause(&self, modelled: &Modelled, seen: Option<&Lease>, now: Moment) -> &'static str {
        match (modelled.lease(now), seen, &modelled.record) {
            (None, Some(_), Some(_)) | (Some(_), None, _) => "E1",
            (None, Some(_), None) => "L1",
            (Some(expected), Some(seen), _) if expected.owner != seen.owner => "A2",
            (Some(expected), Some(seen), _) if expected.fence != seen.fence => "F3",
            _ => "I2",
        }
    }

    fn same_lease(&self, seen: Option<&Lease>, expected: Option<&Lease>) -> bool {
        match (seen, expected) {
            (Some(seen), Some(expected)) => {
                let same = Lease { left: expected.left, ..seen.clone() } == *expected;
                same && self.about(seen.left, expected.left)
            }
            (None, None) => true,
            _ => false,
        }
    }

    /// In real time two clocks are read one after the other, and the store's may be coarser.
    fn about(&self, one: Duration, other: Duration) -> bool {
        one == other || self.kit.virtual_clock().is_err() && one.abs_diff(other) < Duration::from_secs(10)
    }

    /// Whether they are the same, where until when a tenure is valid is known but for the time of the call.
    fn same_but_for_time(&self, given: &Answer, said: &Answer, sent: Moment, ttl: Duration) -> bool {
        if self.kit.virtual_clock().is_ok() {
            return false;
        }
        if let (
            Answer::Discard(DiscardOutcome::Refused(one)),
            Answer::Discard(DiscardOutcome::Refused(other)),
        ) = (given, said)
        {
            return self.same_lease(Some(one), Some(other));
        }
        let Some(tenure) = tenure(given) else { return false };
        let valid = tenure.valid_until >= sent + ttl && tenure.valid_until <= self.kit.now() + ttl;
        valid
            && with_tenure(given, |tenure| tenure.valid_until = Moment::default())
                == with_tenure(said, |tenure| tenure.valid_until = Moment::default())
    }

    fn found<T>(&self, clause: &'static str, expected: String, seen: String) -> Result<T, Differs> {
        Err(Differs::Found(Box::new(Found { at: self.at, clause, expected, seen })))
    }
}

fn same_but_for_fence(given: &Answer, said: &Answer) -> bool {
    let fenceless = |answer| with_tenure(answer, |tenure| tenure.fence = leasehold::Fence::MIN);
    fenceless(given) == fenceless(said)
}

fn tenure(answer: &Answer) -> Option<Tenure> {
    match answer {
        Answer::Take(TakeOutcome::Taken { tenure, .. })
        | Answer::Claim(ClaimOutcome::Claimed { tenure, .. })
        | Answer::Renew(RenewOutcome::Renewed(tenure)) => Some(*tenure),
        _ => None,
    }
}

fn with_tenure(answer: &Answer, change: impl FnOnce(&mut Tenure)) -> Answer {
    let mut answer = answer.clone();
    if let Answer::Take(TakeOutcome::Taken { tenure, .. })
    | Answer::Claim(ClaimOutcome::Claimed { tenure, .. })
    | Answer::Renew(RenewOutcome::Renewed(tenure)) = &mut answer
    {
        change(tenure);
    }
    answer
}

fn words(what: &impl std::fmt::Display) -> String {
    what.to_string().replace('\t', " ")
}

fn state(lease: Option<&Lease>) -> String {
    match lease {
        None => "absent".to_owned(),
        Some(Lease { owner, phase, fence, left }) => {
            let fence = fence.map_or("no fence".to_owned(), |fence| format!("fence {fence}"));
            format!("{phase} by {owner} under {fence} for another {left:?}")
        }
    }
}
