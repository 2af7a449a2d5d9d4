use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use leasehold::rules::Asker;
use leasehold::{
    ClaimOutcome, Clock, Damaged, DiscardOutcome, ErrorKind, Fence, FenceExhausted, Intent, Lease, Listing,
    Moment, OwnerId, OwnershipStore, Phase, Reach, Reading, Record, ReleaseOutcome, RenewOutcome, SandboxId,
    Stage, Step, StoreError, TakeOutcome, Ttl, Write,
};

use super::world::{Row, State, World};
use super::{Fault, rules};
use crate::Outage;

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

    /// The fault that the rules are to have; one that is not about rules leaves them honest.
    fn rule_fault(&self) -> Fault {
        self.fault.unwrap_or(Fault::StorageGrows)
    }

    fn asker(&self) -> Asker<'_> {
        Asker { owner: &self.owner, ttl: self.effective_ttl() }
    }

    fn effective_ttl(&self) -> Ttl {
        let millis = self.ttl.as_millis();
        let cut = match self.fault {
            // Zero is no TTL, so what is cut to none lasts the shortest time there is.
            Some(Fault::WholeSeconds) => (millis / 1_000 * 1_000).max(1),
            Some(Fault::HourAtMost) => millis.min(3_600_000),
            _ => millis,
        };
        Ttl::from_millis(cut).unwrap_or(self.ttl)
    }

    fn now(&self) -> Moment {
        if self.has(Fault::TimedByTheWall) {
            return Moment::from_nanos(self.clock.wall().saturating_mul(1_000));
        }
        self.clock.now()
    }

    fn key(&self, id: &SandboxId) -> Result<String, StoreError> {
        let text = id.as_str();
        Ok(match self.fault {
            Some(Fault::IdsShareAPrefix) => text.chars().take(8).collect(),
            Some(Fault::CaseFolds) => text.to_ascii_lowercase(),
            Some(Fault::LongIdsAreCut) => text.chars().take(64).collect(),
            Some(Fault::LongIdsAreRefused) if text.len() > 100 => {
                return Err(StoreError::new(ErrorKind::Invalid, "the id is too long for this store"));
            }
            _ => text.to_owned(),
        })
    }

    /// The id under whose name the row's bytes are kept, which folding faults must agree on.
    fn kept_as(&self, id: &SandboxId) -> Result<SandboxId, StoreError> {
        self.key(id)?
            .parse()
            .map_err(|e: leasehold::InvalidId| StoreError::new(ErrorKind::Invalid, e.to_string()))
    }

    /// What every call meets first: a closed handle, and a server that doesn't answer.
    fn reachable(&self, state: &mut State) -> Result<(), StoreError> {
        if self.closed.load(Ordering::SeqCst) && !self.has(Fault::WorksAfterClose) {
            return Err(StoreError::new(ErrorKind::Closed, "the store was closed"));
        }
        let kind = match state.outage {
            Some(Outage::Hung) => ErrorKind::Timeout,
            Some(Outage::Down | Outage::Refusing) => ErrorKind::Unavailable,
            None if state.broken => ErrorKind::Unavailable,
            None => return Ok(()),
        };
        state.broken |= self.has(Fault::NeverRecovers);
        let error = StoreError::new(kind, "the server doesn't answer");
        let waited = kind == ErrorKind::Timeout && !self.has(Fault::TimeoutSaysNotWhere);
        Err(if waited { error.at(Stage::Reply) } else { error })
    }

    /// One atomic step on one record, as a cell makes it.
    fn run<T>(
        &self,
        id: &SandboxId,
        rule: impl Fn(Option<&Record>, Reading) -> Step<T>,
    ) -> Result<T, StoreError> {
        let mut state = self.world.lock();
        self.reachable(&mut state)?;
        self.bring_about_pending(&mut state)?;
        let racy = self.has(Fault::ClaimRaces) || self.has(Fault::ReleaseRaces);
        let step = self.judge(&state, id, self.now(), &rule)?;
        if racy {
            drop(state);
            give_way(&self.world);
            state = self.world.lock();
        }
        self.carry_out(&mut state, id, step.write)?;
        drop(state);
        self.world.changed();
        Ok(step.answer)
    }

    fn judge<T>(
        &self,
        state: &State,
        id: &SandboxId,
        now: Moment,
        rule: impl Fn(Option<&Record>, Reading) -> Step<T>,
    ) -> Result<Step<T>, StoreError> {
        let (before, void) = self.read(state, id)?;
        let before = before.map(|record| match self.fault {
            Some(fault) => rules::as_timed(fault, record, self.ttl.as_duration()),
            None => record,
        });
        let forgets = match self.fault {
            Some(Fault::FenceForgottenOnExpiry) => before.as_ref().is_some_and(|record| !record.is_live(now)),
            _ => false,
        };
        let seed = if self.has(Fault::FenceStartsAtOne) { 0 } else { self.clock.wall() };
        let mark = state.mark.max(void.map_or(0, Fence::get));
        let floor = match self.fault {
            Some(Fault::FenceFollowsTheWall) => self.clock.wall(),
            _ if forgets => 1,
            _ => seed.max(mark + 1),
        };
        let follows = self.has(Fault::FenceFollowsTheWall);
        let shown = before.filter(|record| !forgets && (!follows || record.is_live(now)));
        Ok(rule(shown.as_ref(), Reading { now, fence_floor: floor }))
    }

    fn read(&self, state: &State, id: &SandboxId) -> Result<(Option<Record>, Option<Fence>), StoreError> {
        let Some(row) = state.rows.get(&self.key(id)?) else { return Ok((None, None)) };
        let kept = self.kept_as(id)?;
        let read = match self.fault {
            Some(Fault::RebootVoidsNothing) => row.decode(&kept).map(|stamped| (Some(stamped.record), None)),
            Some(Fault::RebootVoidsEverything) => row.decode(&kept).map(|stamped| {
                if stamped.boot == self.clock.boot().id { (Some(stamped.record), None) } else { (None, None) }
            }),
            _ => row.read(&kept, self.clock.boot()),
        };
        match read {
            Err(error) if error.kind() == ErrorKind::Corrupt => match self.fault {
                Some(Fault::DamageIsAbsence) => Ok((None, None)),
                Some(Fault::DamageIsAnsweredFromACopy) => {
                    let copy = Row { bytes: Some(row.before.clone()), ..Row::default() };
                    copy.read(&kept, self.clock.boot()).or(Ok((None, None)))
                }
                _ => Err(error),
            },
            read => read,
        }
    }

    fn carry_out(&self, state: &mut State, id: &SandboxId, write: Write) -> Result<(), StoreError> {
        let (key, kept) = (self.key(id)?, self.kept_as(id)?);
        let (boot, wall) = (self.clock.boot(), self.clock.wall());
        match write {
            Write::Nothing => {}
            Write::Extend(expires) => {
                if let Some(row) = state.rows.get_mut(&key) {
                    let record = row.decode(&kept)?.record;
                    row.write(&kept, Record { expires, ..record }, boot, wall);
                }
            }
            Write::Put(record) => {
                if !state.rows.contains_key(&key) {
                    self.sweep(state);
                }
                state.rows.entry(key).or_default().write(&kept, record, boot, wall);
            }
            Write::Remove => {
                self.remember(state, &key, &kept, Fault::FenceForgottenOnRelease);
                match state.rows.get_mut(&key) {
                    Some(row) if self.has(Fault::StorageGrows) => {
                        let record = row.decode(&kept)?.record;
                        row.write(&kept, Record { expires: Moment::from_nanos(0), ..record }, boot, wall);
                        // Kept under a name that nobody asks for again, as a log would keep it.
                        if let Some(row) = state.rows.remove(&key) {
                            state.rows.insert(format!("{key} gone {}", state.rows.len()), row);
                        }
                    }
                    _ => drop(state.rows.remove(&key)),
                }
            }
        }
        Ok(())
    }

    /// Raises the mark to the fence of a record that is about to be forgotten, unless `unless` is the fault.
    fn remember(&self, state: &mut State, key: &str, id: &SandboxId, unless: Fault) {
        let fence = state.rows.get(key).and_then(|row| row.decode(id).ok()).and_then(|s| s.record.fence);
        let forgets = self.has(unless) || self.has(Fault::FenceFollowsTheWall);
        if let Some(fence) = fence
            && !forgets
        {
            state.mark = state.mark.max(fence.get());
        }
    }

    /// Forgets what ran out, whenever a record is about to be added.
    fn sweep(&self, state: &mut State) {
        if self.has(Fault::ExpiredPileUp) || self.has(Fault::StorageGrows) {
            return;
        }
        let (now, boot) = (self.now(), self.clock.boot());
        let gone = |key: &String, row: &Row| {
            let id: SandboxId = key.parse().ok()?;
            let stamped = row.decode(&id).ok().filter(|stamped| stamped.boot == boot.id)?;
            let record = match self.fault {
                Some(fault) => rules::as_timed(fault, stamped.record, self.ttl.as_duration()),
                None => stamped.record,
            };
            (!record.is_live(now)).then(|| (key.clone(), id))
        };
        let gone: Vec<_> = state.rows.iter().filter_map(|(key, row)| gone(key, row)).collect();
        for (key, id) in gone {
            self.remember(state, &key, &id, Fault::FenceForgottenOnExpiry);
            state.rows.remove(&key);
        }
    }

    fn bring_about_pending(&self, state: &mut State) -> Result<(), StoreError> {
        if !self.has(Fault::EffectAfterTheOutage) {
            return Ok(());
        }
        let pending = self.pending.lock().expect("no holder panics").clone();
        for id in pending {
            let rule =
                |before: Option<&Record>, reading| leasehold::rules::take(before, self.asker(), reading);
            let step = self.judge(state, &id, self.now(), rule)?;
            self.carry_out(state, &id, step.write)?;
        }
        Ok(())
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

/// Lets others in between two halves of a step that should be one, until one has changed something or had its chance.
fn give_way(world: &World) {
    let seen = world.version();
    for _ in 0..200 {
        if world.version() != seen {
            return;
        }
        std::thread::yield_now();
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
        if self.has(Fault::ReachIsExaggerated) { Reach::Host } else { Reach::Process }
    }

    fn quantum(&self) -> Duration {
        Duration::ZERO
    }

    fn take(&self, id: &SandboxId) -> Result<TakeOutcome, StoreError> {
        if self.has(Fault::DamageIsOverwritten) {
            let mut state = self.world.lock();
            let key = self.key(id)?;
            if matches!(self.read(&state, id), Err(e) if e.kind() == ErrorKind::Corrupt) {
                state.rows.remove(&key);
            }
        }
        let rule =
            |before: Option<&Record>, reading| rules::take(self.rule_fault(), before, self.asker(), reading);
        let answer = self.run(id, rule).and_then(|answer| answer.map_err(exhausted));
        self.outage(id, answer, TakeOutcome::BeingDestroyed, TakeOutcome::BeingDestroyed)
    }

    fn claim(&self, id: &SandboxId, intent: Intent) -> Result<ClaimOutcome, StoreError> {
        let rule = |before: Option<&Record>, reading| {
            rules::claim(self.rule_fault(), before, intent, self.asker(), reading)
        };
        let answer = self.run(id, rule).and_then(|answer| answer.map_err(exhausted));
        self.outage(id, answer, ClaimOutcome::Lapsed, ClaimOutcome::Refused)
    }

    fn renew(&self, id: &SandboxId) -> Result<RenewOutcome, StoreError> {
        let rule =
            |before: Option<&Record>, reading| rules::renew(self.rule_fault(), before, self.asker(), reading);
        let answer = self.run(id, rule);
        self.outage(id, answer, RenewOutcome::Lapsed, RenewOutcome::Lost)
    }

    fn renew_many(&self, ids: &[SandboxId]) -> Vec<Result<RenewOutcome, StoreError>> {
        let one_by_one = || ids.iter().map(|id| self.renew(id)).collect::<Vec<_>>();
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
                    outcomes.push(self.run(id, honest));
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
        let answer = self.run(id, rule);
        self.outage(id, answer, ReleaseOutcome::NotHeld, ReleaseOutcome::NotHeld)
    }

    fn release_tenure(&self, id: &SandboxId, fence: Fence) -> Result<ReleaseOutcome, StoreError> {
        let rule = |before: Option<&Record>, reading| {
            rules::release(self.rule_fault(), before, Some(fence), self.asker(), reading)
        };
        let answer = self.run(id, rule);
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
        let answer = self.run(id, look);
        self.outage(id, answer, None, None)
    }

    fn list(&self) -> Result<Listing, StoreError> {
        let mut state = self.world.lock();
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
        let mut state = self.world.lock();
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
        self.remember(&mut state, &key, &kept, Fault::FenceForgottenOnDiscard);
        state.rows.remove(&key);
        Ok(outcome)
    }

    fn close(&self) -> Result<(), StoreError> {
        if self.closed.swap(true, Ordering::SeqCst) && self.has(Fault::CloseTwiceFails) {
            return Err(StoreError::new(ErrorKind::Closed, "it is closed already"));
        }
        if self.has(Fault::CloseReleases) {
            self.world.lock().rows.clear();
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
