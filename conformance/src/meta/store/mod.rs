mod steps;

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use leasehold::{
    ClaimOutcome, Clock, Damaged, DiscardOutcome, ErrorKind, Fence, FenceExhausted, Intent, Lease, Listing,
    Moment, OwnerId, OwnershipStore, Phase, Reach, Reading, Record, ReleaseOutcome, RenewOutcome, SandboxId,
    Step, StoreError, TakeOutcome, Ttl, Write,
};

use super::world::World;
use super::{Fault, rules};
use steps::Call;

/// A store with one fault, or with none.
///
/// It keeps its records as bytes in memory and goes by the lease rules in everything that its fault is not about, so
/// that a case which fails on it fails because of that fault.
pub struct FaultyStore {
    fault: Option<Fault>,
    world: World,
    owner: OwnerId,
    ttl: Ttl,
    clock: Arc<dyn Clock>,
    closed: AtomicBool,
    /// Takes that failed in an outage and that [`Fault::EffectAfterTheOutage`] brings about later.
    pending: Mutex<Vec<SandboxId>>,
}

impl FaultyStore {
    pub(super) fn new(
        fault: Option<Fault>,
        world: World,
        owner: OwnerId,
        ttl: Ttl,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let (closed, pending) = (AtomicBool::new(false), Mutex::default());
        Self { fault, world, owner, ttl, clock, closed, pending }
    }

    fn has(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }

    fn renew_in(&self, call: Call, id: &SandboxId) -> Result<RenewOutcome, StoreError> {
        let rule =
            |before: Option<&Record>, reading| rules::renew(self.rule_fault(), before, self.asker(), reading);
        let answer = self.run(call, id, rule);
        self.outage(id, answer, RenewOutcome::Lapsed, RenewOutcome::Lost)
    }

    fn outage<T>(
        &self,
        id: &SandboxId,
        answer: Result<T, StoreError>,
        absent: T,
        refused: T,
    ) -> Result<T, StoreError> {
        match answer {
            Err(error) if matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::Timeout) => {
                match self.fault {
                    Some(Fault::OutageIsAbsence) => Ok(absent),
                    Some(Fault::OutageIsRefusal) => Ok(refused),
                    Some(Fault::EffectAfterTheOutage) => {
                        self.pending.lock().expect("no holder panics").push(id.clone());
                        Err(error)
                    }
                    _ => Err(error),
                }
            }
            answer => answer,
        }
    }
}

fn exhausted(error: FenceExhausted) -> StoreError {
    StoreError::new(ErrorKind::Corrupt, error.to_string())
}

impl OwnershipStore for FaultyStore {
    fn owner(&self) -> &OwnerId {
        &self.owner
    }

    fn ttl(&self) -> Ttl {
        self.ttl
    }

    fn reach(&self) -> Reach {
        if self.has(Fault::ReachIsExaggerated) || self.world.place().is_some() {
            Reach::Host
        } else {
            Reach::Process
        }
    }

    fn quantum(&self) -> Duration {
        Duration::ZERO
    }

    fn take(&self, id: &SandboxId) -> Result<TakeOutcome, StoreError> {
        if self.has(Fault::DamageIsOverwritten) {
            let mut state = self.world.lock()?;
            let key = self.key(id)?;
            if matches!(self.read(&state, id), Err(e) if e.kind() == ErrorKind::Corrupt) {
                state.rows.remove(&key);
            }
        }
        let rule =
            |before: Option<&Record>, reading| rules::take(self.rule_fault(), before, self.asker(), reading);
        let answer = self.run(Call::Take, id, rule).and_then(|answer| answer.map_err(exhausted));
        self.outage(id, answer, TakeOutcome::BeingDestroyed, TakeOutcome::BeingDestroyed)
    }

    fn claim(&self, id: &SandboxId, intent: Intent) -> Result<ClaimOutcome, StoreError> {
        let rule = |before: Option<&Record>, reading| {
            rules::claim(self.rule_fault(), before, intent, self.asker(), reading)
        };
        let answer = self.run(Call::Claim(intent), id, rule).and_then(|answer| answer.map_err(exhausted));
        self.outage(id, answer, ClaimOutcome::Lapsed, ClaimOutcome::Refused)
    }

    fn renew(&self, id: &SandboxId) -> Result<RenewOutcome, StoreError> {
        self.renew_in(Call::Renew, id)
    }

    fn renew_many(&self, ids: &[SandboxId]) -> Vec<Result<RenewOutcome, StoreError>> {
        let one_by_one = || ids.iter().map(|id| self.renew_in(Call::RenewMany, id)).collect::<Vec<_>>();
        match self.fault {
            Some(Fault::BatchOutOfOrder) => {
                let mut named: Vec<_> = ids.iter().zip(one_by_one()).collect();
                named.sort_by(|a, b| a.0.cmp(b.0));
                named.into_iter().map(|(_, outcome)| outcome).collect()
            }
            Some(Fault::BatchAnswersOnlyOnce) => {
                let outcomes = one_by_one();
                ids.iter().filter_map(|_| outcomes.first().cloned()).collect()
            }
            Some(Fault::BatchSkipsRefresh) => {
                let mut outcomes = Vec::new();
                for (n, id) in ids.iter().enumerate() {
                    let honest = |before: Option<&Record>, reading| {
                        let step = leasehold::rules::renew(before, self.asker(), reading);
                        Step { write: if n == 0 { step.write } else { Write::Nothing }, answer: step.answer }
                    };
                    outcomes.push(self.run(Call::RenewMany, id, honest));
                }
                outcomes
            }
            Some(Fault::BatchStopsAtLost) => {
                let mut lost = false;
                let stop = || Err(StoreError::new(ErrorKind::Unavailable, "the batch was given up"));
                ids.iter()
                    .map(|id| {
                        let outcome = if lost { stop() } else { self.renew(id) };
                        lost |= matches!(outcome, Ok(RenewOutcome::Lost));
                        outcome
                    })
                    .collect()
            }
            Some(Fault::BatchFallsShort) => one_by_one()
                .into_iter()
                .take_while(|outcome| !outcome.as_ref().is_err_and(|e| e.kind().leaves_effect_unknown()))
                .collect(),
            Some(Fault::BatchFailsWithOne) => {
                let outcomes = one_by_one();
                match outcomes.iter().find_map(|outcome| outcome.as_ref().err()) {
                    Some(error) => ids.iter().map(|_| Err(error.clone())).collect(),
                    None => outcomes,
                }
            }
            _ => one_by_one(),
        }
    }

    fn release(&self, id: &SandboxId) -> Result<ReleaseOutcome, StoreError> {
        let rule = |before: Option<&Record>, reading| {
            rules::release(self.rule_fault(), before, None, self.asker(), reading)
        };
        let answer = self.run(Call::Release, id, rule);
        self.outage(id, answer, ReleaseOutcome::NotHeld, ReleaseOutcome::NotHeld)
    }

    fn release_tenure(&self, id: &SandboxId, fence: Fence) -> Result<ReleaseOutcome, StoreError> {
        let rule = |before: Option<&Record>, reading| {
            rules::release(self.rule_fault(), before, Some(fence), self.asker(), reading)
        };
        let answer = self.run(Call::ReleaseTenure, id, rule);
        self.outage(id, answer, ReleaseOutcome::NotHeld, ReleaseOutcome::NotHeld)
    }

    fn inspect(&self, id: &SandboxId) -> Result<Option<Lease>, StoreError> {
        let look = |before: Option<&Record>, reading: Reading| {
            let write = match (self.fault, before) {
                (Some(Fault::InspectRefreshes), Some(record)) if record.is_live(reading.now) => {
                    Write::Extend(record.expires.max(reading.now + self.ttl.as_duration()))
                }
                (Some(Fault::InspectCreates), None) => {
                    let fence = Fence::new(reading.fence_floor);
                    let owner = self.owner.clone();
                    Write::Put(Record { owner, phase: Phase::Held, fence, expires: Moment::from_nanos(1) })
                }
                _ => Write::Nothing,
            };
            let mut lease = leasehold::rules::inspect(before, reading);
            match (self.fault, &mut lease) {
                (Some(Fault::InspectOverstatesTheTime), Some(lease)) => lease.left += Duration::from_secs(1),
                (Some(Fault::InspectSaysHeld), Some(lease)) => lease.phase = Phase::Held,
                (Some(Fault::InspectHidesTheFence), Some(lease)) => lease.fence = None,
                (Some(Fault::InspectShowsTheDead), None) => lease = before.map(shown_dead),
                _ => {}
            }
            Step { write, answer: lease }
        };
        let answer = self.run(Call::Inspect, id, look);
        self.outage(id, answer, None, None)
    }

    fn list(&self) -> Result<Listing, StoreError> {
        let mut state = self.world.lock()?;
        let reached = self.reachable(&mut state);
        if let Err(error) = reached {
            return match self.fault {
                Some(Fault::OutageIsAbsence | Fault::OutageIsRefusal) => Ok(Listing::default()),
                _ => Err(error),
            };
        }
        let mut listing = Listing::default();
        for key in state.rows.keys() {
            let Ok(id) = key.parse::<SandboxId>() else { continue };
            let judged = self.judge(&state, &id, self.now(), |before, reading| {
                let dead = before.filter(|_| self.has(Fault::ListShowsTheDead)).map(shown_dead);
                Step { write: Write::Nothing, answer: leasehold::rules::inspect(before, reading).or(dead) }
            });
            match judged {
                Ok(step) => listing.leases.extend(step.answer.map(|lease| (id, lease))),
                Err(error) if self.has(Fault::DamageHidesTheRest) => return Err(error),
                Err(_) if self.has(Fault::DamageIsNotListed) => {}
                Err(e) if e.kind() == ErrorKind::Unsafe && self.has(Fault::UnsafeIsNotListed) => {}
                Err(error) => {
                    listing.damaged.push(Damaged { id: Some(id), place: format!("row {key}"), error });
                }
            }
        }
        match self.fault {
            Some(Fault::ListMissesOne) => drop(listing.leases.pop()),
            Some(Fault::ListRepeatsOne) => listing.leases.extend(listing.leases.first().cloned()),
            Some(Fault::ListOnlyMine) => listing.leases.retain(|(_, lease)| lease.owner == self.owner),
            _ => {}
        }
        Ok(listing)
    }

    fn discard(&self, id: &SandboxId, force: bool) -> Result<DiscardOutcome, StoreError> {
        let mut state = self.world.lock()?;
        if let Err(error) = self.reachable(&mut state) {
            return match self.fault {
                Some(Fault::OutageIsAbsence | Fault::OutageIsRefusal) => Ok(DiscardOutcome::Absent),
                _ => Err(error),
            };
        }
        let (key, kept) = (self.key(id)?, self.kept_as(id)?);
        if !state.rows.contains_key(&key) {
            return Ok(DiscardOutcome::Absent);
        }
        let read = self.read(&state, id);
        let outcome = match read {
            Err(error) if error.kind() != ErrorKind::Corrupt || self.has(Fault::DiscardOfDamageFails) => {
                return Err(error);
            }
            Ok((Some(record), _)) => match record.lease_at(self.now()) {
                Some(lease) if !force && !self.has(Fault::DiscardWithoutForce) => {
                    return Ok(DiscardOutcome::Refused(lease));
                }
                Some(_) => DiscardOutcome::Discarded,
                None => DiscardOutcome::Absent,
            },
            Ok((None, _)) => DiscardOutcome::Absent,
            Err(_) => {
                state.mark = state.mark.max(self.clock.wall());
                DiscardOutcome::Discarded
            }
        };
        let met = if self.has(Fault::DiscardRaces) {
            let before = state.changes.get(&key).copied();
            state = self.world.give_way(state, &key);
            state.changes.get(&key).copied() != before
        } else {
            false
        };
        self.remember(&mut state, &key, &kept, Fault::FenceForgottenOnDiscard);
        state.rows.remove(&key);
        self.world.changed(&mut state, key, false);
        Ok(if met { DiscardOutcome::Absent } else { outcome })
    }

    fn close(&self) -> Result<(), StoreError> {
        if self.closed.swap(true, Ordering::SeqCst) && self.has(Fault::CloseTwiceFails) {
            return Err(StoreError::new(ErrorKind::Closed, "it is closed already"));
        }
        if self.has(Fault::CloseReleases) {
            self.world.lock()?.rows.clear();
        }
        Ok(())
    }
}

/// A lease that ran out, shown as if a moment of it were left.
fn shown_dead(record: &Record) -> Lease {
    Lease {
        owner: record.owner.clone(),
        phase: record.phase,
        fence: record.fence,
        left: Duration::from_nanos(1),
    }
}
