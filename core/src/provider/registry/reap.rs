//! Who may be stopped, and what became of it.

use std::fmt;
use std::time::Duration;

use tokio::sync::watch;

use super::entry::{Entry, Reservation, Shared};
use super::{Registry, Rules, State};
use crate::provider::planted::Planted;
use crate::provider::sandbox::LostReason;
use crate::{Fence, Moment, Replaced, SandboxId, SandboxInfo, Tenure};

/// Why a sandbox is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StopWhy {
    /// It was held, and nobody did anything in it for the idle timeout.
    Idle,
    /// Nobody held it for the warm timeout.
    WarmExpired,
    /// It was the oldest warm one when room was needed.
    Evicted,
    /// Making it failed, or nobody was left to receive it.
    Disposed,
    /// An earlier stop had condemned it and not ended.
    Unfinished,
    /// Its processes had ended.
    Ended,
    /// It was asked for.
    Asked,
    /// The provider shut down.
    ShutDown,
}

impl fmt::Display for StopWhy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Idle => "held but idle beyond the idle timeout",
            Self::WarmExpired => "warm beyond the warm timeout",
            Self::Evicted => "evicted to make room",
            Self::Disposed => "nobody was left to receive it",
            Self::Unfinished => "an earlier stop had condemned it",
            Self::Ended => "its processes had ended",
            Self::Asked => "asked for",
            Self::ShutDown => "the provider shuts down",
        })
    }
}

/// Why a sandbox may not be stopped now, with the clause that says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// It is not tracked here.
    NotTracked,
    /// It is in use here (K2, K6).
    InUse,
    /// It is being acquired here (K2).
    BeingAcquired,
    /// It is being stopped already.
    BeingStopped,
    /// Nobody here holds its lease (K1, N2).
    NotOurs,
    /// The tenure is too young; it may be asked again after this long (K9).
    TooYoung(Duration),
    /// Nothing is due.
    NotDue,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotTracked => f.write_str("it is not tracked here"),
            Self::InUse => f.write_str("it is in use here (K2)"),
            Self::BeingAcquired => f.write_str("it is being acquired here (K2)"),
            Self::BeingStopped => f.write_str("it is being stopped already"),
            Self::NotOurs => f.write_str("this provider does not hold its lease (K1)"),
            Self::TooYoung(left) => write!(f, "its tenure is too young for another {left:?} (K9)"),
            Self::NotDue => f.write_str("it is not due"),
        }
    }
}

/// A stop that has been decided: the sandbox is reserved, and no acquire gets in between.
#[derive(Clone, Debug)]
pub(in crate::provider) struct Stop {
    pub(in crate::provider) id: SandboxId,
    pub(in crate::provider) info: SandboxInfo,
    /// The tenure under which it was decided.
    pub(in crate::provider) fence: Fence,
    pub(in crate::provider) why: StopWhy,
    pub(super) reservation: u64,
}

/// How a stop ended, for the registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::provider) enum StopEnd {
    /// The instance is gone.
    Gone,
    /// The first claim was refused: a peer's, or another tenure of ours. The next renewal tells.
    Refused,
    /// The first claim found the tenure over.
    Lapsed,
    /// The first claim got no answer.
    Unknown,
    /// It went wrong after the claim; the Teardown was or will be over. Whether the instance was condemned, or may have been.
    Failed { condemned: bool },
}

impl Registry {
    /// Reserves `id` for a stop, if it may be stopped for that reason now.
    pub(in crate::provider) fn reserve(
        &self,
        id: &SandboxId,
        why: StopWhy,
        now: Moment,
    ) -> Result<Stop, Refusal> {
        self.state.lock().reserve(id, why, now, &self.rules)
    }

    /// In an acquire that found its instance ended: turns the acquire's hold into a reservation.
    pub(in crate::provider) fn reserve_ended(&self, id: &SandboxId, now: Moment) -> Result<Stop, Refusal> {
        let mut state = self.state.lock();
        if !state.entries.get(id).is_some_and(|entry| entry.acquiring) {
            return Err(Refusal::NotTracked);
        }
        state.with_acquire_lifted(id, |state| state.reserve(id, StopWhy::Ended, now, &self.rules))
    }

    /// In an acquire that can't hand out what it made: turns the acquire's hold into a reservation.
    pub(in crate::provider) fn reserve_made(&self, id: &SandboxId, now: Moment) -> Result<Stop, Refusal> {
        let mut state = self.state.lock();
        state.with_acquire_lifted(id, |state| state.reserve(id, StopWhy::Disposed, now, &self.rules))
    }

    /// The stops that are due, at most `most`. What is looked at too early is put off.
    pub(in crate::provider) fn due(&self, most: usize, now: Moment) -> Vec<Stop> {
        let mut state = self.state.lock();
        let mut stops = Vec::new();
        // Bounded, so that many sandboxes whose time was put off by use don't make one long hold of the lock.
        for _ in 0..1_000 {
            if stops.len() >= most {
                break;
            }
            let Some((at, id)) = state.due.first().cloned() else { break };
            if at > now {
                break;
            }
            state.reschedule(&id, None);
            let Some(why) = state.entries.get(&id).and_then(|entry| entry.wants_stop(now, &self.rules))
            else {
                state.schedule(&id, now, &self.rules);
                continue;
            };
            match state.reserve(&id, why, now, &self.rules) {
                Ok(stop) => stops.push(stop),
                Err(_) => state.schedule_after(&id, now, &self.rules),
            }
        }
        stops
    }

    /// A stop has ended. What is gone is untracked before its reservation ends.
    pub(in crate::provider) fn stop_ended(&self, stop: &Stop, end: StopEnd, now: Moment, awake: Moment) {
        let mut state = self.state.lock();
        let id = &stop.id;
        let ours = state
            .entries
            .get(id)
            .and_then(|entry| entry.reservation.as_ref())
            .is_some_and(|reservation| reservation.number == stop.reservation);
        if !ours {
            return;
        }
        match end {
            StopEnd::Gone => {
                state.untrack(id, LostReason::Stopped);
                state.ungrant(id);
            }
            StopEnd::Refused if self.rules.guards.lack(Planted::RefusedStopTracked) => {
                state.untrack(id, LostReason::Stopped);
                state.ungrant(id);
            }
            StopEnd::Refused => {}
            StopEnd::Lapsed => {
                state.ungrant(id);
                state.parked_unowned(id, awake);
            }
            StopEnd::Unknown => {
                if let Some(entry) = state.entries.get_mut(id) {
                    entry.doubt = true;
                }
            }
            StopEnd::Failed { .. } if self.rules.guards.lack(Planted::FailedStopTracked) => {
                state.untrack(id, LostReason::Stopped);
                state.ungrant(id);
            }
            StopEnd::Failed { condemned } => {
                state.ungrant(id);
                if condemned && let Some(entry) = state.entries.get_mut(id) {
                    entry.condemned = true;
                    if let Some(shared) = &entry.shared {
                        shared.tell_lost(LostReason::Stopped);
                    }
                    entry.holders.clear();
                }
                state.parked_unowned(id, awake);
            }
        }
        if let Some(entry) = state.entries.get_mut(id) {
            entry.reservation = None;
        }
        state.schedule_after(id, now, &self.rules);
        state.tidy(id);
        drop(state);
        self.freed.notify_waiters();
        self.calmer.notify_waiters();
    }

    /// Everything tracked, for the reaper to compare with what the engine lists.
    pub(in crate::provider) fn unowned(&self) -> Vec<(SandboxId, SandboxInfo)> {
        let mut state = self.state.lock();
        state
            .unsettled()
            .filter(|(_, entry)| entry.rest.unowned_since.is_some() && entry.lease.is_none())
            .filter_map(|(id, entry)| Some((id.clone(), entry.shared.as_ref()?.info.clone())))
            .collect()
    }

    /// Since when nobody owned what is tracked here, in awake time; `None` when it is owned, being acquired or stopped, in
    /// use, or not tracked here at all.
    pub(in crate::provider) fn unowned_since(&self, id: &SandboxId) -> Option<Moment> {
        let state = self.state.lock();
        state
            .entries
            .get(id)
            .filter(|entry| !entry.acquiring && entry.reservation.is_none())?
            .rest
            .unowned_since
    }

    /// Whether something here looks after `id`, so that the reaper doesn't.
    pub(in crate::provider) fn is_looked_after(&self, id: &SandboxId) -> bool {
        let state = self.state.lock();
        state.entries.get(id).is_some_and(|entry| {
            entry.lease.is_some()
                || entry.acquiring
                || entry.rest.suspect.is_some()
                || entry.reservation.is_some()
                || !entry.holders.is_empty()
        })
    }

    /// A peer owns it: what was unowned here is forgotten.
    pub(in crate::provider) fn owned_by_peer(&self, id: &SandboxId) {
        let mut state = self.state.lock();
        if state.entries.get(id).is_some_and(|entry| {
            entry.rest.unowned_since.is_some()
                && entry.lease.is_none()
                && !entry.acquiring
                && entry.reservation.is_none()
                && entry.holders.is_empty()
        }) {
            state.forget(id, LostReason::Taken);
        }
        drop(state);
        self.freed.notify_waiters();
    }

    /// An unowned instance is definitely gone.
    pub(in crate::provider) fn unowned_gone(&self, id: &SandboxId) {
        self.owned_by_peer(id);
    }

    /// Adopts `info` under a tenure that a claim brought at `now`. Says whether it is tracked from here on; if not, the
    /// tenure has to be released.
    pub(in crate::provider) fn adopt(
        &self,
        info: &SandboxInfo,
        tenure: Tenure,
        replaced: &Replaced,
        now: Moment,
    ) -> bool {
        let id = &info.id;
        let mut state = self.state.lock();
        if state.closing {
            return false;
        }
        if state.entries.get(id).is_some_and(|entry| {
            entry.acquiring
                || entry.reservation.is_some()
                || entry.lease.is_some()
                || !entry.holders.is_empty()
        }) {
            return false;
        }
        if !state.entries.get(id).is_some_and(|e| e.shared.as_ref().is_some_and(|s| s.info == *info)) {
            state.forget(id, LostReason::Replaced);
            let mut entry = Entry::new(info.identity.clone());
            entry.shared = Some(Shared::new(info.clone(), now));
            entry.slot = true;
            state.slots += 1;
            state.entries.insert(id.clone(), entry);
        }
        if let Some(entry) = state.entries.get_mut(id) {
            entry.rest.warm_since = now;
            entry.condemned = info.condemned;
            entry.rest.unowned_since = None;
        }
        state.grant(id, tenure, Some(replaced), None, now, self.rules.horizon);
        state.schedule(id, now, &self.rules);
        true
    }

    /// Those whose create or take had no definite end, and which nobody is acquiring.
    pub(in crate::provider) fn suspects(&self) -> Vec<SandboxId> {
        let mut state = self.state.lock();
        state
            .unsettled()
            .filter(|(_, entry)| {
                !entry.acquiring
                    && entry.reservation.is_none()
                    && entry.shared.is_none()
                    && (entry.rest.suspect.is_some() || entry.lease.is_some())
            })
            .map(|(id, _)| id.clone())
            .collect()
    }

    /// A suspect turned out to be `found`, or nothing. Says which fence to release if nothing is left to keep it for.
    pub(in crate::provider) fn suspect_resolved(
        &self,
        id: &SandboxId,
        found: Option<SandboxInfo>,
        now: Moment,
        patience: Duration,
    ) -> Option<Fence> {
        let mut state = self.state.lock();
        let entry = state.entries.get_mut(id)?;
        if entry.acquiring || entry.shared.is_some() {
            return None;
        }
        match found {
            Some(info) => {
                entry.rest.suspect = None;
                entry.condemned = info.condemned;
                entry.doomed = true;
                entry.rest.warm_since = now;
                entry.shared = Some(Shared::new(info, now));
                if !std::mem::replace(&mut entry.slot, true) {
                    state.slots += 1;
                }
                state.schedule(id, now, &self.rules);
                None
            }
            // A create that was given up may still be on its way: wait as long as one may take.
            None if entry.rest.suspect.is_some_and(|since| now < since + patience) => None,
            None => {
                let fence = entry.fence();
                state.forget(id, LostReason::Forgotten);
                drop(state);
                self.freed.notify_waiters();
                fence
            }
        }
    }

    /// Whether this provider may finish a condemned instance of `id` that is not the one it tracks (K8): it owns the id,
    /// the horizon has passed and nobody here uses it. Says under which fence.
    pub(in crate::provider) fn may_finish(&self, info: &SandboxInfo, now: Moment) -> Option<Fence> {
        let state = self.state.lock();
        let entry = state.entries.get(&info.id)?;
        let tracked = entry.shared.as_ref().is_some_and(|shared| shared.info.instance == info.instance);
        if tracked || entry.reservation.is_some() || entry.acquiring {
            return None;
        }
        let held = entry.lease.as_ref()?;
        let old_enough = held.reapable_from <= now || self.rules.guards.lack(Planted::HorizonOfFinish);
        (old_enough && held.tenure.valid_until > now).then_some(held.tenure.fence)
    }

    /// Every lease that is held here, for the end.
    pub(in crate::provider) fn all_leases(&self) -> Vec<(SandboxId, Fence)> {
        let state = self.state.lock();
        state
            .entries
            .iter()
            .filter(|(_, entry)| entry.reservation.is_none())
            .filter_map(|(id, entry)| Some((id.clone(), entry.fence()?)))
            .collect()
    }

    /// Every tracked id, for the end.
    pub(in crate::provider) fn all_tracked(&self) -> Vec<SandboxId> {
        let state = self.state.lock();
        state.entries.iter().filter(|(_, entry)| entry.shared.is_some()).map(|(id, _)| id.clone()).collect()
    }

    /// It was handed over: nothing here looks after it any more.
    pub(in crate::provider) fn handed_over(&self, id: &SandboxId) {
        let mut state = self.state.lock();
        if state.entries.get(id).is_some_and(|entry| entry.reservation.is_none()) {
            state.forget(id, LostReason::ShutDown);
        }
    }

    /// The end: all that no stop needs is forgotten.
    pub(in crate::provider) fn forget_all(&self) {
        let mut state = self.state.lock();
        let ids: Vec<_> = state
            .entries
            .iter()
            .filter(|(_, entry)| entry.reservation.is_none())
            .map(|(id, _)| id.clone())
            .collect();
        for id in ids {
            state.forget(&id, LostReason::ShutDown);
        }
    }

    /// How many stops are under way.
    pub(in crate::provider) fn stops(&self) -> usize {
        self.state.lock().entries.values().filter(|entry| entry.reservation.is_some()).count()
    }
}

impl Entry {
    /// Why it should be stopped now, if it should.
    fn wants_stop(&self, now: Moment, rules: &Rules) -> Option<StopWhy> {
        let shared = self.shared.as_ref()?;
        if shared.running() > 0 && !rules.guards.lack(Planted::WorkPins) {
            return None;
        }
        if self.condemned {
            return Some(StopWhy::Unfinished);
        }
        if self.holders.is_empty() || rules.guards.lack(Planted::UseSeen) {
            if self.doomed {
                return Some(StopWhy::Disposed);
            }
            let over = !rules.warm_timeout.is_zero() && now.since(self.rest.warm_since) >= rules.warm_timeout;
            return over.then_some(StopWhy::WarmExpired);
        }
        let over = !rules.idle_timeout.is_zero() && now.since(shared.activity()) >= rules.idle_timeout;
        over.then_some(StopWhy::Idle)
    }

    /// When to look at it next, if ever.
    fn next_look(&self, rules: &Rules) -> Option<Moment> {
        let (shared, held) = (self.shared.as_ref()?, self.lease.as_ref()?);
        let wish = if self.condemned || self.doomed && self.holders.is_empty() {
            Moment::default()
        } else if self.holders.is_empty() || rules.guards.lack(Planted::UseSeen) {
            (!rules.warm_timeout.is_zero()).then(|| self.rest.warm_since + rules.warm_timeout)?
        } else {
            (!rules.idle_timeout.is_zero()).then(|| shared.activity() + rules.idle_timeout)?
        };
        let own_create =
            self.doomed && self.rest.made_under.is_some() && self.rest.made_under == self.fence();
        Some(if own_create { wish } else { wish.max(held.reapable_from) })
    }
}

impl State {
    /// "May this be reaped?" and the reservation that keeps acquires out, in one step.
    pub(super) fn reserve(
        &mut self,
        id: &SandboxId,
        why: StopWhy,
        now: Moment,
        rules: &Rules,
    ) -> Result<Stop, Refusal> {
        let number = self.number();
        let entry = self.entries.get_mut(id).ok_or(Refusal::NotTracked)?;
        let shared = entry.shared.as_ref().ok_or(Refusal::NotTracked)?;
        if entry.reservation.is_some() {
            return Err(Refusal::BeingStopped);
        }
        if entry.acquiring && !rules.guards.lack(Planted::InFlightMark) {
            return Err(Refusal::BeingAcquired);
        }
        let unused = rules.guards.lack(Planted::UseSeen);
        let gone_by_itself = why == StopWhy::Ended;
        let last_words = why == StopWhy::ShutDown;
        if !unused && !gone_by_itself && !last_words && entry.in_use(now, rules) {
            return Err(Refusal::InUse);
        }
        if matches!(why, StopWhy::Evicted | StopWhy::WarmExpired | StopWhy::Disposed)
            && !entry.holders.is_empty()
            && !unused
        {
            return Err(Refusal::InUse);
        }
        let held = entry.lease.as_ref().ok_or(Refusal::NotOurs)?;
        // What has ended can't be in use by anybody; what was made under this very tenure can't have been used by
        // anybody else, unless they took it, and then this fence is over.
        let own_create = why == StopWhy::Disposed && entry.rest.made_under == Some(held.tenure.fence);
        if !gone_by_itself && !own_create && held.reapable_from > now {
            return Err(Refusal::TooYoung(held.reapable_from.since(now)));
        }
        let stop = Stop {
            id: id.clone(),
            info: shared.info.clone(),
            fence: held.tenure.fence,
            why,
            reservation: number,
        };
        let (ended, _) = watch::channel(());
        entry.reservation = Some(Reservation { number, ended });
        self.reschedule(id, None);
        Ok(stop)
    }

    fn with_acquire_lifted<T>(&mut self, id: &SandboxId, step: impl FnOnce(&mut Self) -> T) -> T {
        let lift = |state: &mut Self, to: bool| {
            state.entries.get_mut(id).is_some_and(|entry| std::mem::replace(&mut entry.acquiring, to))
        };
        let was = lift(self, false);
        let done = step(self);
        lift(self, was);
        done
    }

    /// Its lease is over: if somebody here uses it, the renewal claims it again; else nobody owns it.
    pub(super) fn parked_unowned(&mut self, id: &SandboxId, awake: Moment) {
        let parked =
            |entry: &Entry| entry.holders.is_empty() && entry.shared.is_some() && entry.lease.is_none();
        if self.entries.get(id).is_some_and(parked) {
            self.unowned(id, awake);
        }
    }

    pub(super) fn schedule(&mut self, id: &SandboxId, _now: Moment, rules: &Rules) {
        let due =
            self.entries.get(id).filter(|entry| entry.reservation.is_none()).and_then(|e| e.next_look(rules));
        self.reschedule(id, due);
    }

    /// As [`schedule`](Self::schedule), after it could not be stopped: not at once again.
    fn schedule_after(&mut self, id: &SandboxId, now: Moment, rules: &Rules) {
        const PAUSE: Duration = Duration::from_secs(1);
        let due =
            self.entries.get(id).filter(|entry| entry.reservation.is_none()).and_then(|e| e.next_look(rules));
        self.reschedule(id, due.map(|at| at.max(now + PAUSE)));
    }
}
