use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use super::close::Closing;
use super::lane::Lane;
use super::worker::Crew;

/// How the watcher is woken.
///
/// All calls of a facade have the same time to be answered, so one that comes after the watcher looked is due no sooner
/// than that time from then: the watcher may sleep that long without being told of it. Only when it found nothing at all
/// does it sleep for good, and then the first call wakes it.
pub(super) struct Watch {
    /// The watcher looks again by itself.
    awake: AtomicBool,
    called: Mutex<bool>,
    call: Condvar,
}

impl Watch {
    pub(super) fn new() -> Self {
        Self { awake: AtomicBool::new(true), called: Mutex::new(false), call: Condvar::new() }
    }

    /// There is a call to watch; costs one load while the watcher is awake.
    pub(super) fn look(&self) {
        if !self.awake.load(Ordering::SeqCst) {
            self.look_now();
        }
    }

    /// Something changed that can't wait for the next look.
    pub(super) fn look_now(&self) {
        *self.called.lock() = true;
        self.call.notify_one();
    }

    /// Sleeps until called, or for `at_most`.
    fn sleep(&self, at_most: Option<Duration>) {
        let mut called = self.called.lock();
        if !*called {
            match at_most {
                Some(limit) => drop(self.call.wait_for(&mut called, limit)),
                None => self.call.wait(&mut called),
            }
        }
        *called = false;
    }
}

/// Ends calls at their deadline and replaces workers that hang, until both lanes are over.
pub(super) fn watch(watch: &Arc<Watch>, crew: &Arc<Crew>, lanes: &[Arc<Lane>; 2], closing: &Arc<Closing>) {
    loop {
        let (mut next, mut over) = (None::<Duration>, true);
        for lane in lanes {
            let findings = lane.inspect();
            for seat in findings.seats {
                if crew.start_worker(lane, seat).is_err() {
                    lane.vacate(seat);
                    next = Some(lane.deadline().min(RETRY));
                }
            }
            findings.expired.iter().for_each(|job| job.expire());
            next = [next, findings.next].into_iter().flatten().min();
            over &= findings.over;
        }
        next = [next, closing.advance(over, crew, lanes, watch)].into_iter().flatten().min();
        if over && closing.is_done() {
            return;
        }
        match next {
            Some(next) => {
                watch.awake.store(true, Ordering::SeqCst);
                watch.sleep(Some(next.min(lanes[0].deadline())));
            }
            None if watch.awake.swap(false, Ordering::SeqCst) => {
                // A call that came before this was said did not call: look once more before sleeping.
            }
            None => watch.sleep(None),
        }
    }
}

/// How soon a thread that could not be started is tried again.
const RETRY: Duration = Duration::from_millis(100);
