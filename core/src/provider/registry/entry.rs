use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use tokio::sync::watch;

use super::Rules;
use crate::provider::planted::Planted;
use crate::provider::sandbox::LostReason;
use crate::{Fence, Identity, Moment, SandboxInfo, Tenure};

/// What a tracked instance and all handles to it share.
pub(in crate::provider) struct Shared {
    pub(in crate::provider) info: SandboxInfo,
    /// The last sign of use, in nanoseconds of the lease clock.
    activity: AtomicU64,
    /// Commands that run in it.
    running: AtomicUsize,
    lost: watch::Sender<Option<LostReason>>,
}

impl Shared {
    pub(in crate::provider) fn new(info: SandboxInfo, now: Moment) -> Arc<Self> {
        let (lost, _) = watch::channel(None);
        Arc::new(Self { info, activity: now.as_nanos().into(), running: 0.into(), lost })
    }

    pub(in crate::provider) fn stamp(&self, now: Moment) {
        self.activity.fetch_max(now.as_nanos(), Ordering::Relaxed);
    }

    pub(in crate::provider) fn activity(&self) -> Moment {
        Moment::from_nanos(self.activity.load(Ordering::Relaxed))
    }

    pub(in crate::provider) fn running(&self) -> usize {
        self.running.load(Ordering::Relaxed)
    }

    pub(super) fn pin(&self) {
        self.running.fetch_add(1, Ordering::Relaxed);
    }

    /// Activity first, so that nobody sees work that ended and an old stamp.
    pub(super) fn unpin(&self, now: Moment) {
        self.stamp(now);
        self.running.fetch_sub(1, Ordering::Relaxed);
    }

    /// Tells the holders, once and for all.
    pub(super) fn tell_lost(&self, reason: LostReason) {
        self.lost.send_if_modified(|told| told.is_none() && told.replace(reason).is_none());
    }

    pub(in crate::provider) fn lost(&self) -> watch::Receiver<Option<LostReason>> {
        self.lost.subscribe()
    }

    pub(in crate::provider) fn is_lost(&self) -> Option<LostReason> {
        *self.lost.borrow()
    }
}

/// The tenure that this provider believes in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    pub(super) tenure: Tenure,
    /// From when on this sandbox may be reaped under it (K9).
    pub(super) reapable_from: Moment,
}

/// A stop that has been decided; whoever waits for its end holds a receiver that closes with it.
pub(super) struct Reservation {
    pub(super) number: u64,
    pub(super) ended: watch::Sender<()>,
}

/// What a call about a lease looked like when it was sent, so that its answer can be judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::provider) struct Snapshot {
    pub(super) takes: u64,
    pub(super) in_flight: bool,
    pub(super) fence: Option<Fence>,
}

impl Snapshot {
    /// Whether a take was on its way.
    pub(in crate::provider) fn in_flight(&self) -> bool {
        self.in_flight
    }
}

/// All that is known here of one sandbox.
///
/// What a renewal needs is in here, and what is seldom needed lies elsewhere: a renewal goes through all entries, and with
/// many of them it waits for memory and for little else.
pub(super) struct Entry {
    pub(super) lease: Option<Held>,
    /// Counts takes at both ends, so that an answer which overlapped one is noticed (N4).
    pub(super) takes: u64,
    pub(super) take_in_flight: bool,
    pub(super) reservation: Option<Reservation>,
    /// The instance, once there is one.
    pub(super) shared: Option<Arc<Shared>>,
    /// Those who were handed it out and have not let go, by number.
    pub(super) holders: Vec<u64>,
    /// Whether an acquire is under way. There is one at most, since acquires of one id wait for each other.
    pub(super) acquiring: bool,
    /// An answer was set aside while a take was in flight: ask once more.
    pub(super) ask_again: bool,
    /// Whether the instance was condemned, or may have been.
    pub(super) condemned: bool,
    /// Whether it is to be disposed of as soon as that is allowed.
    pub(super) doomed: bool,
    /// A stop whose first claim got no answer: Lost may mean that it took effect.
    pub(super) doubt: bool,
    /// Whether it counts against the capacity.
    pub(super) slot: bool,
    pub(super) rest: Box<Rest>,
}

/// The part of an [`Entry`] that no renewal reads as long as all goes well.
pub(super) struct Rest {
    pub(super) identity: Identity,
    /// When it was parked.
    pub(super) warm_since: Moment,
    /// The fence known when the take was sent.
    pub(super) fence_before_take: Option<Fence>,
    /// Since when nobody owns it, in awake time.
    pub(super) unowned_since: Option<Moment>,
    /// Under which tenure it was made here, if it was.
    pub(super) made_under: Option<Fence>,
    /// Since when the fate of a create is not known: resolved by the reaper.
    pub(super) suspect: Option<Moment>,
    /// Counts Lost and Lapsed: a hand-out compares it with what it was at the take.
    pub(super) broken: u64,
    /// When the reaper looks at it next.
    pub(super) due: Option<Moment>,
}

impl Entry {
    pub(super) fn new(identity: Identity) -> Self {
        Self {
            lease: None,
            takes: 0,
            take_in_flight: false,
            reservation: None,
            shared: None,
            holders: Vec::new(),
            acquiring: false,
            ask_again: false,
            condemned: false,
            doomed: false,
            doubt: false,
            slot: false,
            rest: Box::new(Rest {
                identity,
                warm_since: Moment::default(),
                fence_before_take: None,
                unowned_since: None,
                made_under: None,
                suspect: None,
                broken: 0,
                due: None,
            }),
        }
    }

    pub(super) fn fence(&self) -> Option<Fence> {
        self.lease.map(|held| held.tenure.fence)
    }

    pub(super) fn snapshot(&self) -> Snapshot {
        Snapshot { takes: self.takes, in_flight: self.take_in_flight, fence: self.fence() }
    }

    /// Whether an answer to what was sent at `then` says anything about now: no take was on its way at either end, none
    /// began or ended between, and the tenure is the one it was.
    pub(super) fn still(&self, then: Snapshot) -> bool {
        !then.in_flight && self.snapshot() == then
    }

    pub(super) fn is_lost(&self) -> bool {
        self.shared.as_ref().is_some_and(|shared| shared.is_lost().is_some())
    }

    /// In the contract's sense: work runs in it, or a holder was active lately.
    pub(super) fn in_use(&self, now: Moment, rules: &Rules) -> bool {
        let idle_timeout = rules.idle_timeout;
        let Some(shared) = &self.shared else { return false };
        shared.running() > 0 && !rules.guards.lack(Planted::WorkPins)
            || !self.holders.is_empty()
                && (idle_timeout.is_zero() || now.since(shared.activity()) < idle_timeout)
    }

    /// Whether nothing is left that this entry would have to remember.
    pub(super) fn is_empty(&self) -> bool {
        self.shared.is_none()
            && self.lease.is_none()
            && !self.acquiring
            && self.rest.suspect.is_none()
            && self.reservation.is_none()
    }
}
