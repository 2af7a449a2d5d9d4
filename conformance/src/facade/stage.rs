use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::Duration;

use leasehold::{Orphan, OrphanFate, OrphanHook, SandboxId};
use tokio::sync::watch;

use super::PATIENCE;
use crate::case::Stop;

/// What a staged store does with a call on some id, besides asking the real one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    /// Waits at the gate *before* the effect.
    HoldBefore,
    /// Waits at the gate *after* the effect, before it answers.
    HoldAfter,
    /// Panics before the effect.
    Panic,
}

/// Directs a store from a case, and sees what goes on in it.
pub(super) struct Stage {
    acts: Mutex<Acts>,
    opened: Condvar,
    seen: watch::Sender<Seen>,
}

#[derive(Default)]
struct Acts {
    of_id: HashMap<SandboxId, Act>,
    of_all: Option<Act>,
    open: bool,
}

/// What went on in a store so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    /// Every call, in the order in which they came.
    pub(super) calls: Vec<SeenCall>,
    /// How many calls are inside right now.
    pub(super) inside: usize,
    /// How many were at once, at most.
    pub(super) most: usize,
    /// How many stand at the gate.
    pub(super) held: usize,
    /// What the orphan hook was told, and whether the orphan was released.
    pub(super) orphans: Vec<(Orphan, bool)>,
    /// Which thread dropped the store.
    pub(super) dropped_by: Option<ThreadId>,
}

/// One call, as the store saw it.
#[derive(Clone, Debug)]
pub(super) struct SeenCall {
    pub(super) operation: &'static str,
    pub(super) id: Option<SandboxId>,
    pub(super) thread: ThreadId,
}

impl Seen {
    /// Whether `operation` came in, on `id`.
    pub(super) fn has(&self, id: &SandboxId) -> bool {
        self.calls.iter().any(|call| call.id.as_ref() == Some(id))
    }
}

impl Stage {
    pub(super) fn new() -> Arc<Self> {
        let (seen, _) = watch::channel(Seen::default());
        Arc::new(Self { acts: Mutex::default(), opened: Condvar::new(), seen })
    }

    fn acts(&self) -> MutexGuard<'_, Acts> {
        self.acts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What calls on `id` do from now on.
    pub(super) fn set(&self, id: &SandboxId, act: Act) {
        self.acts().of_id.insert(id.clone(), act);
    }

    /// What calls on ids that nothing was set for do from now on.
    pub(super) fn set_all(&self, act: Act) {
        self.acts().of_all = Some(act);
    }

    /// Every call just goes through from now on.
    pub(super) fn set_none(&self) {
        *self.acts() = Acts { open: true, ..Acts::default() };
    }

    /// Shuts the gate again.
    pub(super) fn shut(&self) {
        self.acts().open = false;
    }

    /// Lets everyone through the gate, now and later.
    pub(super) fn open(&self) {
        self.acts().open = true;
        self.opened.notify_all();
    }

    /// What went on so far.
    pub(super) fn seen(&self) -> Seen {
        self.seen.borrow().clone()
    }

    /// A hook that tells this stage of orphans.
    pub(super) fn hook(self: &Arc<Self>) -> OrphanHook {
        let stage = Arc::clone(self);
        OrphanHook::new(move |orphan, fate| {
            let released = matches!(fate, OrphanFate::Released);
            stage.seen.send_modify(|seen| seen.orphans.push((orphan.clone(), released)));
        })
    }

    /// Waits without blocking until what was seen is as `wanted`; `what` says that in words.
    pub(super) async fn until(&self, what: &str, wanted: impl FnMut(&Seen) -> bool) -> Result<(), Stop> {
        let mut seen = self.seen.subscribe();
        match tokio::time::timeout(PATIENCE, seen.wait_for(wanted)).await {
            Ok(_) => Ok(()),
            Err(_) => Err(Stop::failed(format!("within {PATIENCE:?}: {what}"), self.seen())),
        }
    }

    /// Plays one call of the staged store: notes it, does what was set, and asks for the `effect`.
    pub(super) fn play<T>(
        &self,
        operation: &'static str,
        id: Option<&SandboxId>,
        effect: impl FnOnce() -> T,
    ) -> T {
        let call = SeenCall { operation, id: id.cloned(), thread: thread::current().id() };
        self.seen.send_modify(|seen| {
            seen.calls.push(call);
            seen.inside += 1;
            seen.most = seen.most.max(seen.inside);
        });
        let _leaves = Leaves(self);
        let act = {
            let acts = self.acts();
            id.and_then(|id| acts.of_id.get(id)).copied().or(acts.of_all)
        };
        match act {
            Some(Act::Panic) => panic!("as told"),
            Some(Act::HoldBefore) => self.hold(),
            Some(Act::HoldAfter) | None => {}
        }
        let answer = effect();
        if act == Some(Act::HoldAfter) {
            self.hold();
        }
        answer
    }

    /// Blocks this thread at the gate until it is opened, though never for ever: a case that failed has left.
    fn hold(&self) {
        self.seen.send_modify(|seen| seen.held += 1);
        let longest: Duration = PATIENCE * 3;
        let shut = |acts: &mut Acts| !acts.open;
        drop(self.opened.wait_timeout_while(self.acts(), longest, shut));
        self.seen.send_modify(|seen| seen.held -= 1);
    }

    /// The store is dropped.
    pub(super) fn dropped(&self) {
        self.seen.send_modify(|seen| seen.dropped_by = Some(thread::current().id()));
    }
}

/// Counts a call out when it ends, however it ends.
struct Leaves<'a>(&'a Stage);

impl Drop for Leaves<'_> {
    fn drop(&mut self) {
        self.0.seen.send_modify(|seen| seen.inside -= 1);
    }
}
