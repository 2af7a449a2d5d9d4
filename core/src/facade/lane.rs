use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use super::job::Job;
use super::ledger::Entry;
use super::request::Request;
use super::watcher::Watch;
use super::{OffloadConfig, Orphan};
use crate::{Deadline, ErrorKind, Stage, StoreError};

/// One queue and the workers that serve it, first come first served.
pub(super) struct Lane {
    state: Mutex<State>,
    /// Signalled when there is work for a sleeping worker, and at the end.
    work: Condvar,
    /// As many as `state.queue` has, readable without the lock by a worker that looks before it sleeps.
    queued: AtomicUsize,
    settings: LaneSettings,
    watch: Arc<Watch>,
    pub(super) timed_out: AtomicU64,
    pub(super) panicked: AtomicU64,
    pub(super) orphaned: AtomicU64,
}

/// What is fixed for a lane.
#[derive(Clone, Copy, Debug)]
pub(super) struct LaneSettings {
    pub(super) workers: usize,
    pub(super) spares: usize,
    pub(super) deadline: Duration,
    max_waiting: usize,
    spin: Duration,
}

struct State {
    queue: VecDeque<Arc<Job>>,
    /// One for each worker thread, by its number; `None` where no thread is.
    seats: Vec<Option<Seat>>,
    /// Workers that sleep.
    asleep: usize,
    /// A worker is awake and looks for the next call.
    looking: bool,
    closed: bool,
    replaced: u64,
}

/// A worker thread and what it is doing.
#[derive(Default)]
struct Seat {
    job: Option<Arc<Job>>,
    /// Its call is past its deadline.
    stuck: bool,
}

/// What the watcher found in a lane.
#[derive(Default)]
pub(super) struct Findings {
    /// Calls past their deadline, to be ended.
    pub(super) expired: Vec<Arc<Job>>,
    /// Seats for workers to be started.
    pub(super) seats: Vec<usize>,
    /// When the next call comes to its deadline; `None` when there is no call.
    pub(super) next: Option<Duration>,
    /// The lane is closed and no thread and no call is left.
    pub(super) over: bool,
}

impl LaneSettings {
    pub(super) fn ordinary(config: &OffloadConfig) -> Self {
        Self {
            workers: config.workers,
            spares: config.max_stuck,
            deadline: config.deadline,
            max_waiting: config.max_waiting,
            spin: config.spin,
        }
    }

    pub(super) fn renewals(config: &OffloadConfig) -> Self {
        let (workers, spares) = (OffloadConfig::RENEWAL_WORKERS, OffloadConfig::RENEWAL_SPARES);
        Self { workers, spares, ..Self::ordinary(config) }
    }
}

impl Lane {
    pub(super) fn new(settings: LaneSettings, watch: Arc<Watch>) -> Self {
        // The first workers have their seats before their threads run, so that none is counted twice.
        let seats = (0..settings.workers).map(|_| Some(Seat::default())).collect();
        let state =
            State { queue: VecDeque::new(), seats, asleep: 0, looking: false, closed: false, replaced: 0 };
        Self {
            state: Mutex::new(state),
            work: Condvar::new(),
            queued: AtomicUsize::new(0),
            settings,
            watch,
            timed_out: AtomicU64::new(0),
            panicked: AtomicU64::new(0),
            orphaned: AtomicU64::new(0),
        }
    }

    pub(super) fn deadline(&self) -> Duration {
        self.settings.deadline
    }

    pub(super) fn workers(&self) -> usize {
        self.settings.workers
    }

    /// Puts a call at the end of the queue.
    pub(super) fn submit(&self, job: Arc<Job>) -> Result<(), StoreError> {
        let wake = {
            let mut state = self.state.lock();
            if state.closed {
                return Err(closed());
            }
            if state.queue.len() >= self.settings.max_waiting {
                // Those whose callers left take up no room; only then is it really full.
                state.queue.retain(|waiting| waiting.is_waiting());
                self.queued.store(state.queue.len(), Ordering::Release);
            }
            if state.queue.len() >= self.settings.max_waiting {
                let full = format!(
                    "{} calls are waiting already; the store is too slow or hangs",
                    state.queue.len()
                );
                return Err(StoreError::new(ErrorKind::Unavailable, full).at(Stage::Pool));
            }
            self.push(&mut state, job)
        };
        if wake {
            self.work.notify_one();
        }
        self.watch.look();
        Ok(())
    }

    /// Releases `orphan` on a worker, when the caller of its call left without looking at the answer. Never refused for
    /// want of room: there is at most one for each call that was let in.
    pub(super) fn settle_later(&self, orphan: Orphan, entry: Entry) {
        let request = Request::Settle(Box::new(orphan), entry);
        let job = Arc::new(Job::new(request, Deadline::after(self.settings.deadline)));
        let wake = {
            let mut state = self.state.lock();
            if state.closed && state.seats.iter().all(Option::is_none) {
                return;
            }
            self.push(&mut state, job)
        };
        if wake {
            self.work.notify_one();
        }
        self.watch.look();
    }

    /// Whether a sleeping worker has to be woken for it.
    fn push(&self, state: &mut State, job: Arc<Job>) -> bool {
        state.queue.push_back(job);
        self.queued.store(state.queue.len(), Ordering::Release);
        !state.looking && state.asleep > 0
    }

    /// The next call for the worker on `seat`, begun; `None` when that worker has to go.
    pub(super) fn next(&self, seat: usize) -> Option<Arc<Job>> {
        let mut state = self.state.lock();
        self.stand_up(&mut state, seat);
        loop {
            if self.is_surplus(&state) {
                break;
            }
            while let Some(job) = state.queue.pop_front() {
                self.queued.store(state.queue.len(), Ordering::Release);
                if job.begin() {
                    if let Some(seat) = &mut state.seats[seat] {
                        seat.job = Some(Arc::clone(&job));
                    }
                    // Whoever takes one passes the word on, so that submitting wakes one worker and not all.
                    let more = !state.queue.is_empty() && !state.looking && state.asleep > 0;
                    drop(state);
                    if more {
                        self.work.notify_one();
                    }
                    return Some(job);
                }
            }
            if state.closed {
                break;
            }
            if !state.looking && !self.settings.spin.is_zero() {
                state.looking = true;
                drop(state);
                self.look_for_work();
                state = self.state.lock();
                state.looking = false;
                if !state.queue.is_empty() || state.closed {
                    continue;
                }
            }
            state.asleep += 1;
            self.work.wait(&mut state);
            state.asleep -= 1;
        }
        state.seats[seat] = None;
        drop(state);
        self.watch.look_now();
        None
    }

    /// The worker on `seat` is back from the store.
    fn stand_up(&self, state: &mut State, seat: usize) {
        if let Some(seat) = &mut state.seats[seat] {
            seat.job = None;
            seat.stuck = false;
        }
    }

    /// A worker that comes back from a call which had been given up finds its place taken.
    fn is_surplus(&self, state: &State) -> bool {
        state.seats.iter().flatten().filter(|seat| !seat.stuck).count() > self.settings.workers
    }

    fn look_for_work(&self) {
        let until = Deadline::after(self.settings.spin);
        while self.queued.load(Ordering::Acquire) == 0 && !until.passed() {
            for _ in 0..32 {
                std::hint::spin_loop();
            }
        }
    }

    /// The watcher's look: what is past its deadline, who has to be replaced, when to look again.
    pub(super) fn inspect(&self) -> Findings {
        let mut findings = Findings::default();
        let mut state = self.state.lock();
        while let Some(front) = state.queue.front() {
            // First come, first due: all calls of a lane have the same time. Those left by their callers just go.
            match front.deadline.left() {
                Some(left) if front.is_waiting() => {
                    findings.next = Some(left);
                    break;
                }
                left => {
                    let job = state.queue.pop_front().expect("there is a front");
                    if left.is_none() {
                        findings.expired.push(job);
                    }
                }
            }
        }
        self.queued.store(state.queue.len(), Ordering::Release);
        for seat in state.seats.iter_mut().flatten() {
            let Some(job) = &seat.job else { continue };
            match job.deadline.left() {
                Some(left) => findings.next = Some(findings.next.map_or(left, |next| next.min(left))),
                None if !seat.stuck => {
                    seat.stuck = true;
                    findings.expired.push(Arc::clone(job));
                }
                None => {}
            }
        }
        self.replace(&mut state, &mut findings);
        findings.over = state.closed && state.queue.is_empty() && state.seats.iter().all(Option::is_none);
        drop(state);
        self.timed_out.fetch_add(findings.expired.len() as u64, Ordering::Relaxed);
        findings
    }

    /// Gives seats to replacements, as many as there are too few workers that can work and spares allow.
    fn replace(&self, state: &mut State, findings: &mut Findings) {
        let working = state.seats.iter().flatten().filter(|seat| !seat.stuck).count();
        let taken = state.seats.iter().flatten().count();
        let room = (self.settings.workers + self.settings.spares).saturating_sub(taken);
        let wanted = self.settings.workers.saturating_sub(working).min(room);
        if state.closed && state.queue.is_empty() {
            return;
        }
        for _ in 0..wanted {
            let free = state.seats.iter().position(Option::is_none).unwrap_or(state.seats.len());
            if free == state.seats.len() {
                state.seats.push(None);
            }
            state.seats[free] = Some(Seat::default());
            state.replaced += 1;
            findings.seats.push(free);
        }
    }

    /// A thread for `seat` could not be started; the watcher tries again at its next look.
    pub(super) fn vacate(&self, seat: usize) {
        let mut state = self.state.lock();
        state.seats[seat] = None;
        state.replaced = state.replaced.saturating_sub(1);
    }

    /// Refuses what comes from now on; what waits and runs goes on.
    pub(super) fn close(&self) {
        self.state.lock().closed = true;
        self.work.notify_all();
        self.watch.look_now();
    }

    /// Ends what still waits, and says how many calls that were, and how many are inside the store.
    pub(super) fn abandon(&self) -> (usize, usize) {
        let (waiting, running) = {
            let mut state = self.state.lock();
            let waiting: Vec<_> = state.queue.drain(..).filter(|job| job.is_waiting()).collect();
            self.queued.store(0, Ordering::Release);
            (waiting, state.seats.iter().flatten().filter(|seat| seat.job.is_some()).count())
        };
        waiting.iter().for_each(|job| job.refuse(&closed()));
        self.work.notify_all();
        (waiting.len(), running)
    }

    /// Calls waiting, running and stuck, threads, and workers ever replaced.
    pub(super) fn count(&self) -> (usize, usize, usize, usize, u64) {
        let state = self.state.lock();
        let seats = || state.seats.iter().flatten();
        (
            state.queue.len(),
            seats().filter(|seat| seat.job.is_some()).count(),
            seats().filter(|seat| seat.stuck).count(),
            seats().count(),
            state.replaced,
        )
    }
}

pub(super) fn closed() -> StoreError {
    StoreError::new(ErrorKind::Closed, "the facade was closed; make another one")
}
