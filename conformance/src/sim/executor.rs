//! One thread, one seed, virtual time: what would take minutes and many threads runs in microseconds and the same way every
//! time.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use crate::chance::Chance;

/// Which process a task belongs to: one life of a gateway, or the world itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Life(pub(super) u32);

impl Life {
    /// The world outside of all gateways: never paused, never killed.
    pub(super) const WORLD: Self = Self(0);
}

type Future0 = Pin<Box<dyn Future<Output = ()> + Send>>;
type Deed = Box<dyn FnOnce() + Send>;

/// Tasks, timers and lives of one simulation. A clone is the same executor.
#[derive(Clone)]
pub(super) struct Executor {
    inner: Arc<Mutex<State>>,
}

struct State {
    /// Virtual nanoseconds since the beginning.
    now: u64,
    next: u64,
    chance: Chance,
    timers: BTreeMap<(u64, u64), Timer>,
    /// When the timer with a number is due; never gone through, so its order does not matter.
    places: HashMap<u64, u64>,
    /// Tasks that can go on, by number, so that in which order they were woken makes no difference.
    ready: BTreeSet<u64>,
    /// Woken since the last step.
    woken: BTreeSet<u64>,
    tasks: BTreeMap<u64, Slot>,
    lives: Vec<Standing>,
    /// Polls since time went on, to notice tasks that spin.
    polls: u32,
    panics: Vec<(Life, String)>,
    steps: u64,
}

struct Slot {
    life: Life,
    /// Taken out while it is polled.
    task: Option<Future0>,
    waker: Waker,
    /// Woken and held up for a moment, as a busy machine does.
    lagging: bool,
}

#[derive(Clone, Copy, Default)]
struct Standing {
    dead: bool,
    paused_until: u64,
    /// Nanoseconds of suspended time so far.
    suspended: u64,
}

struct Timer {
    life: Life,
    /// The suspended time of its life when it was set: its clock stood still meanwhile.
    suspended: u64,
    what: What,
}

enum What {
    Ring(Arc<Bell>),
    Run(Deed),
    /// A task that was held up.
    Ready(u64),
}

/// What a step of the world was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stepped {
    /// A task of this life was polled.
    Polled(Life),
    /// Time went on and something was due.
    Passed,
    /// The next thing is due after the given limit, or nothing ever is.
    Idle,
    /// Tasks wake each other without end and time stands still.
    Spinning,
}

impl Executor {
    /// Polls in a row, without time going on, that no honest task needs.
    const SPIN: u32 = 200_000;
    /// The simulation begins here, so that no moment is before the beginning of a clock.
    const START: u64 = 1_000_000_000_000;

    pub(super) fn new(seed: u64) -> Self {
        let state = State {
            now: Self::START,
            next: 0,
            chance: Chance::new(seed),
            timers: BTreeMap::new(),
            places: HashMap::new(),
            ready: BTreeSet::new(),
            woken: BTreeSet::new(),
            tasks: BTreeMap::new(),
            lives: vec![Standing::default()],
            polls: 0,
            panics: Vec::new(),
            steps: 0,
        };
        Self { inner: Arc::new(Mutex::new(state)) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Virtual nanoseconds.
    pub(super) fn now(&self) -> u64 {
        self.state().now
    }

    /// How long the simulation has been going on.
    pub(super) fn elapsed(&self) -> Duration {
        Duration::from_nanos(self.state().now - Self::START)
    }

    /// A new process.
    pub(super) fn begin_life(&self) -> Life {
        let mut state = self.state();
        state.lives.push(Standing::default());
        Life(state.lives.len() as u32 - 1)
    }

    pub(super) fn is_dead(&self, life: Life) -> bool {
        self.state().lives[life.0 as usize].dead
    }

    /// Nanoseconds of suspended time of that life so far.
    pub(super) fn suspended(&self, life: Life) -> u64 {
        self.state().lives[life.0 as usize].suspended
    }

    /// No task of it is polled for so long. Its timers go on and are all due afterwards.
    pub(super) fn pause(&self, life: Life, pause: Duration) {
        let mut state = self.state();
        let until = state.now + nanos(pause);
        let standing = &mut state.lives[life.0 as usize];
        standing.paused_until = standing.paused_until.max(until);
    }

    /// As a pause, but its timers stand still too, as on a host that is suspended.
    pub(super) fn suspend(&self, life: Life, pause: Duration) {
        self.pause(life, pause);
        self.state().lives[life.0 as usize].suspended += nanos(pause);
    }

    /// Whether it was never paused or suspended.
    pub(super) fn was_never_paused(&self, life: Life) -> bool {
        self.state().lives[life.0 as usize].paused_until == 0
    }

    /// All its tasks are dropped at once, and nothing of it ever runs again.
    pub(super) fn kill(&self, life: Life) {
        let dropped: Vec<_> = {
            let mut state = self.state();
            state.lives[life.0 as usize].dead = true;
            let gone: Vec<u64> =
                state.tasks.iter().filter(|(_, slot)| slot.life == life).map(|(&number, _)| number).collect();
            for number in &gone {
                state.ready.remove(number);
                state.woken.remove(number);
            }
            gone.iter().filter_map(|number| state.tasks.remove(number)).collect()
        };
        // Outside of the lock, since what is dropped may wake others.
        for slot in dropped {
            let _ = catch_unwind(AssertUnwindSafe(|| drop(slot)));
        }
    }

    /// How many tasks it has.
    pub(super) fn tasks(&self, life: Life) -> usize {
        self.state().tasks.values().filter(|slot| slot.life == life).count()
    }

    pub(super) fn spawn(&self, life: Life, task: Future0) {
        let mut state = self.state();
        if state.lives[life.0 as usize].dead {
            drop(state);
            drop(task);
            return;
        }
        state.next += 1;
        let number = state.next;
        let waker = Waker::from(Arc::new(Nudge { number, inner: Arc::downgrade(&self.inner) }));
        state.tasks.insert(number, Slot { life, task: Some(task), waker, lagging: false });
        state.ready.insert(number);
    }

    /// Does `deed` after `delay`, whatever becomes of anybody.
    pub(super) fn after(&self, delay: Duration, deed: impl FnOnce() + Send + 'static) {
        self.set(Life::WORLD, delay, What::Run(Box::new(deed)));
    }

    /// Does `deed` in a process after `delay`: never when it is dead by then, later when it is paused or was suspended.
    pub(super) fn after_in(
        &self,
        life: Life,
        delay: Duration,
        deed: impl FnOnce() + Send + 'static,
    ) -> TimerKey {
        self.set(life, delay, What::Run(Box::new(deed)))
    }

    pub(super) fn sleep(&self, life: Life, duration: Duration) -> Sleep {
        Sleep { executor: self.clone(), life, duration, set: None }
    }

    fn set(&self, life: Life, delay: Duration, what: What) -> TimerKey {
        let mut state = self.state();
        let at = state.now.saturating_add(nanos(delay));
        state.set(life, at, what)
    }

    pub(super) fn cancel(&self, key: TimerKey) {
        let timer = {
            let mut state = self.state();
            let place = state.places.remove(&key.0);
            place.and_then(|at| state.timers.remove(&(at, key.0)))
        };
        // Outside of the lock: what it holds may do anything when it goes.
        drop(timer);
    }

    /// How many steps were made.
    pub(super) fn steps(&self) -> u64 {
        self.state().steps
    }

    /// Panics of tasks since the last call.
    pub(super) fn panics(&self) -> Vec<(Life, String)> {
        std::mem::take(&mut self.state().panics)
    }

    /// One step: polls a task that can go on, or lets time go on to what is due next, but not beyond `limit`.
    pub(super) fn step(&self, limit: u64) -> Stepped {
        let mut state = self.state();
        state.steps += 1;
        state.settle_woken();
        if let Some(number) = state.pick() {
            state.polls += 1;
            if state.polls > Self::SPIN {
                return Stepped::Spinning;
            }
            state.ready.remove(&number);
            let Some(slot) = state.tasks.get_mut(&number) else { return Stepped::Passed };
            let (life, waker) = (slot.life, slot.waker.clone());
            let Some(mut task) = slot.task.take() else { return Stepped::Passed };
            drop(state);
            if self.poll(number, life, &waker, &mut task) {
                self.put_back(number, task);
            } else {
                // Outside of the lock, and contained: what it holds may do anything when it goes.
                let _ = catch_unwind(AssertUnwindSafe(|| drop(task)));
            }
            return Stepped::Polled(life);
        }
        state.polls = 0;
        let next = state.timers.first_key_value().map(|(&key, _)| key);
        let Some(key) = next.filter(|key| key.0 <= limit) else {
            state.now = state.now.max(limit);
            return Stepped::Idle;
        };
        let timer = state.timers.remove(&key).expect("it is the first");
        state.places.remove(&key.1);
        state.now = state.now.max(key.0);
        let Standing { dead, paused_until, suspended } = state.lives[timer.life.0 as usize];
        if dead {
            drop(state);
            drop(timer);
            return Stepped::Passed;
        }
        // Its clock stood still for so long.
        let late = key.0 + (suspended - timer.suspended);
        let due = if matches!(timer.what, What::Run(_)) { late.max(paused_until) } else { late };
        if due > key.0 && due > state.now {
            state.timers.insert((due, key.1), Timer { suspended, ..timer });
            state.places.insert(key.1, due);
            return Stepped::Passed;
        }
        match timer.what {
            What::Ready(number) => {
                if let Some(slot) = state.tasks.get_mut(&number) {
                    slot.lagging = false;
                    state.ready.insert(number);
                }
            }
            What::Ring(bell) => {
                drop(state);
                bell.ring();
            }
            What::Run(deed) => {
                drop(state);
                deed();
            }
        }
        Stepped::Passed
    }

    /// Says whether it is to be polled again one day.
    fn poll(&self, number: u64, life: Life, waker: &Waker, task: &mut Future0) -> bool {
        let mut cx = Context::from_waker(waker);
        let polled = catch_unwind(AssertUnwindSafe(|| task.as_mut().poll(&mut cx)));
        let mut state = self.state();
        match polled {
            Ok(Poll::Pending) => state.tasks.contains_key(&number),
            Ok(Poll::Ready(())) => {
                state.tasks.remove(&number);
                false
            }
            Err(panic) => {
                state.tasks.remove(&number);
                let said = panic
                    .downcast_ref::<&str>()
                    .map(|said| (*said).to_owned())
                    .or_else(|| panic.downcast_ref::<String>().cloned());
                state.panics.push((life, said.unwrap_or_else(|| "no message".to_owned())));
                false
            }
        }
    }

    fn put_back(&self, number: u64, task: Future0) {
        let mut state = self.state();
        match state.tasks.get_mut(&number) {
            Some(slot) => slot.task = Some(task),
            // Its process was killed by what it did itself.
            None => {
                drop(state);
                drop(task);
            }
        }
    }

    /// Drops everything, so that nothing holds on to anything in a circle.
    pub(super) fn end(&self) {
        let lives = self.state().lives.len() as u32;
        (0..lives).for_each(|life| self.kill(Life(life)));
        let timers = std::mem::take(&mut self.state().timers);
        drop(timers);
    }
}

impl State {
    fn set(&mut self, life: Life, at: u64, what: What) -> TimerKey {
        self.next += 1;
        let suspended = self.lives[life.0 as usize].suspended;
        self.timers.insert((at, self.next), Timer { life, suspended, what });
        self.places.insert(self.next, at);
        TimerKey(self.next)
    }

    /// One in sixteen of those who were woken is held up for up to 20 ms.
    fn settle_woken(&mut self) {
        while let Some(number) = self.woken.pop_first() {
            let Some(slot) = self.tasks.get_mut(&number) else { continue };
            if slot.lagging || self.ready.contains(&number) {
                continue;
            }
            if self.chance.below(16) == 0 {
                slot.lagging = true;
                let life = slot.life;
                let lag = self.chance.below(20_000_000) as u64;
                self.set(life, self.now + lag, What::Ready(number));
            } else {
                self.ready.insert(number);
            }
        }
    }

    fn pick(&mut self) -> Option<u64> {
        let may = |state: &Self, number: &u64| {
            state
                .tasks
                .get(number)
                .is_some_and(|slot| state.lives[slot.life.0 as usize].paused_until <= state.now)
        };
        let many = self.ready.iter().filter(|number| may(self, number)).count();
        if many == 0 {
            self.wake_paused();
            return None;
        }
        let nth = if many == 1 { 0 } else { self.chance.below(many) };
        self.ready.iter().filter(|number| may(self, number)).nth(nth).copied()
    }

    /// Those who can go on and may not yet have to be looked at when their pause is over.
    fn wake_paused(&mut self) {
        let paused: Vec<(u64, Life)> =
            self.ready.iter().filter_map(|number| Some((*number, self.tasks.get(number)?.life))).collect();
        for (number, life) in paused {
            self.ready.remove(&number);
            let paused_until = self.lives[life.0 as usize].paused_until;
            if let Some(slot) = self.tasks.get_mut(&number) {
                slot.lagging = true;
            }
            self.set(life, paused_until.max(self.now), What::Ready(number));
        }
    }
}

/// A timer that was set, by its number.
#[derive(Clone, Copy, Debug)]
pub(super) struct TimerKey(u64);

struct Nudge {
    number: u64,
    inner: std::sync::Weak<Mutex<State>>,
}

impl Wake for Nudge {
    fn wake(self: Arc<Self>) {
        if let Some(inner) = self.inner.upgrade() {
            inner.lock().unwrap_or_else(PoisonError::into_inner).woken.insert(self.number);
        }
    }
}

/// Rests in virtual time, from when it is first polled.
pub(super) struct Sleep {
    executor: Executor,
    life: Life,
    duration: Duration,
    set: Option<(TimerKey, Arc<Bell>)>,
}

#[derive(Default)]
struct Bell {
    rung: Mutex<(bool, Option<Waker>)>,
}

impl Bell {
    fn ring(&self) {
        let waker = {
            let mut rung = self.rung.lock().unwrap_or_else(PoisonError::into_inner);
            rung.0 = true;
            rung.1.take()
        };
        waker.into_iter().for_each(Waker::wake);
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        let (_, bell) = this.set.get_or_insert_with(|| {
            let bell = Arc::new(Bell::default());
            (this.executor.set(this.life, this.duration, What::Ring(Arc::clone(&bell))), bell)
        });
        let mut rung = bell.rung.lock().unwrap_or_else(PoisonError::into_inner);
        if rung.0 {
            return Poll::Ready(());
        }
        rung.1 = Some(cx.waker().clone());
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let Some((key, _)) = &self.set {
            self.executor.cancel(*key);
        }
    }
}

pub(super) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX / 4)
}
