//! The steps of a faulty store on its records, as a cell makes them.

use std::sync::atomic::Ordering;

use leasehold::rules::Asker;
use leasehold::{
    ErrorKind, Fence, Intent, Moment, Reading, Record, SandboxId, Stage, Step, StoreError, Ttl, Write,
};

use super::super::row::Row;
use super::super::world::{Changes, Held, State};
use super::super::{Fault, rules};
use super::FaultyStore;
use crate::Outage;

/// In the course of which call a step is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Call {
    Take,
    Claim(Intent),
    Renew,
    RenewMany,
    Release,
    ReleaseTenure,
    Inspect,
}

impl Call {
    /// Whether a store with that fault lets others in between its look and its write.
    fn races(self, fault: Fault) -> bool {
        match self {
            Self::Take => fault == Fault::TakeRaces,
            Self::Claim(Intent::Keep) => matches!(fault, Fault::ClaimRaces | Fault::KeepMissesATake),
            Self::Claim(Intent::Destroy) => matches!(fault, Fault::ClaimRaces | Fault::DestroyRaces),
            Self::Claim(Intent::DestroyTenure(_)) => {
                matches!(fault, Fault::ClaimRaces | Fault::DestroyTenureRaces)
            }
            Self::Renew => fault == Fault::RenewRaces,
            Self::RenewMany => fault == Fault::BatchRaces,
            Self::Release => fault == Fault::ReleaseRaces,
            Self::ReleaseTenure => fault == Fault::ReleaseTenureRaces,
            Self::Inspect => false,
        }
    }
}

impl FaultyStore {
    /// The fault that the rules are to have; one that is not about rules leaves them honest.
    pub(super) fn rule_fault(&self) -> Fault {
        self.fault.unwrap_or(Fault::StorageGrows)
    }

    pub(super) fn asker(&self) -> Asker<'_> {
        Asker { owner: &self.owner, ttl: self.effective_ttl() }
    }

    pub(super) fn effective_ttl(&self) -> Ttl {
        let millis = self.ttl.as_millis();
        let cut = match self.fault {
            // Zero is no TTL, so what is cut to none lasts the shortest time there is.
            Some(Fault::WholeSeconds) => (millis / 1_000 * 1_000).max(1),
            Some(Fault::HourAtMost) => millis.min(3_600_000),
            _ => millis,
        };
        Ttl::from_millis(cut).unwrap_or(self.ttl)
    }

    pub(super) fn now(&self) -> Moment {
        if self.has(Fault::TimedByTheWall) {
            return Moment::from_nanos(self.clock.wall().saturating_mul(1_000));
        }
        self.clock.now()
    }

    pub(super) fn key(&self, id: &SandboxId) -> Result<String, StoreError> {
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
    pub(super) fn kept_as(&self, id: &SandboxId) -> Result<SandboxId, StoreError> {
        self.key(id)?
            .parse()
            .map_err(|e: leasehold::InvalidId| StoreError::new(ErrorKind::Invalid, e.to_string()))
    }

    /// What every call meets first: a closed handle, and a server that doesn't answer.
    pub(super) fn reachable(&self, state: &mut Held<'_>) -> Result<(), StoreError> {
        if self.closed.load(Ordering::SeqCst) && !self.has(Fault::WorksAfterClose) {
            return Err(StoreError::new(ErrorKind::Closed, "the store was closed"));
        }
        let kind = match state.outage {
            Some(Outage::Hung) => ErrorKind::Timeout,
            Some(Outage::Down | Outage::Refusing) => ErrorKind::Unavailable,
            None if state.broken => ErrorKind::Unavailable,
            None => return Ok(()),
        };
        if self.has(Fault::NeverRecovers) {
            state.broken = true;
        }
        let error = StoreError::new(kind, "the server doesn't answer");
        let waited = kind == ErrorKind::Timeout && !self.has(Fault::TimeoutSaysNotWhere);
        Err(if waited { error.at(Stage::Reply) } else { error })
    }

    /// One atomic step on one record, as a cell makes it. `call` says in whose course.
    pub(super) fn run<T>(
        &self,
        call: Call,
        id: &SandboxId,
        rule: impl Fn(Option<&Record>, Reading) -> Step<T>,
    ) -> Result<T, StoreError> {
        let mut state = self.world.lock()?;
        self.reachable(&mut state)?;
        self.bring_about_pending(&mut state)?;
        let mut step = self.judge(&state, id, self.now(), &rule)?;
        if self.fault.is_some_and(|fault| call.races(fault)) {
            state = self.race(state, id, &rule, &mut step)?;
        }
        let changes = !matches!(step.write, Write::Nothing);
        if changes {
            let key = self.key(id)?;
            self.world.changed(&mut state, key, matches!(call, Call::Claim(_)));
        }
        // Counted from the first, so that it is the same one in every run.
        let lost = changes && self.has(Fault::OneInTwelveIsLost) && state.writes % 12 == 0;
        if !lost {
            self.carry_out(&mut state, id, step.write)?;
        }
        Ok(step.answer)
    }

    /// Lets others change the record in the middle of a step, and puts it back as it was when the step began, as whoever
    /// writes what they read long ago.
    pub(super) fn race<'a, T>(
        &'a self,
        state: Held<'a>,
        id: &SandboxId,
        rule: impl Fn(Option<&Record>, Reading) -> Step<T>,
        step: &mut Step<T>,
    ) -> Result<Held<'a>, StoreError> {
        let key = self.key(id)?;
        let (row, before) = (state.rows.get(&key).cloned(), state.changes.get(&key).copied());
        // A renewal writes back what it read even where it has nothing to change in it.
        let is_mine = match &row {
            Some(row) => {
                row.decode(&self.kept_as(id)?).is_ok_and(|stamped| stamped.record.owner == self.owner)
            }
            None => false,
        };
        if matches!(step.write, Write::Nothing) && !is_mine {
            return Ok(state);
        }
        let mut state = self.world.give_way(state, &key);
        let by_claims = |changes: Option<Changes>| changes.unwrap_or_default().by_claims;
        let after = state.changes.get(&key).copied();
        if self.has(Fault::KeepMissesATake) && by_claims(before) != by_claims(after) {
            *step = self.judge(&state, id, self.now(), rule)?;
        } else if before != after {
            match row {
                Some(row) => drop(state.rows.insert(key, row)),
                None => drop(state.rows.remove(&key)),
            }
        }
        Ok(state)
    }

    pub(super) fn judge<T>(
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

    pub(super) fn read(
        &self,
        state: &State,
        id: &SandboxId,
    ) -> Result<(Option<Record>, Option<Fence>), StoreError> {
        let Some(row) = state.rows.get(&self.key(id)?) else { return Ok((None, None)) };
        let kept = self.kept_as(id)?;
        if self.has(Fault::ForeignIsDamage) && row.foreign.is_some() {
            return Err(StoreError::new(ErrorKind::Corrupt, format!("row {id} has no fence")));
        }
        if self.has(Fault::DiesWithItsProcess) && !self.world.is_alive(row.writer) {
            return Ok((None, None));
        }
        let read = match self.fault {
            Some(Fault::OutlivesItsProcess) if !self.world.is_alive(row.writer) => {
                let endless = |record| Record { expires: Moment::from_nanos(u64::MAX), ..record };
                row.read(&kept, self.clock.boot()).map(|(record, fence)| (record.map(endless), fence))
            }
            Some(Fault::WrittenLaterIsVoid) => row.decode(&kept).and_then(|stamped| {
                let later = stamped.written > self.clock.wall();
                if later { Ok((None, stamped.record.fence)) } else { row.read(&kept, self.clock.boot()) }
            }),
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

    pub(super) fn carry_out(
        &self,
        state: &mut State,
        id: &SandboxId,
        write: Write,
    ) -> Result<(), StoreError> {
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
    pub(super) fn remember(&self, state: &mut State, key: &str, id: &SandboxId, unless: Fault) {
        let fence = state.rows.get(key).and_then(|row| row.decode(id).ok()).and_then(|s| s.record.fence);
        let forgets = self.has(unless) || self.has(Fault::FenceFollowsTheWall);
        if let Some(fence) = fence
            && !forgets
        {
            state.mark = state.mark.max(fence.get());
        }
    }

    /// Forgets what ran out, now and then when a record is about to be added.
    pub(super) fn sweep(&self, state: &mut State) {
        if self.has(Fault::ExpiredPileUp)
            || self.has(Fault::StorageGrows)
            || state.rows.len() < state.sweep_at
        {
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
        // Not before there are as many again, since each sweep reads every record.
        state.sweep_at = 2 * state.rows.len() + 32;
    }

    pub(super) fn bring_about_pending(&self, state: &mut Held<'_>) -> Result<(), StoreError> {
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
}
