//! One acquire of a sandbox at a time in this process, in the order asked; the table holds only those that are wanted.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::SandboxId;

#[derive(Default)]
pub(super) struct KeyLocks {
    wanted: Arc<Mutex<HashMap<SandboxId, Wanted>>>,
}

struct Wanted {
    turn: Arc<Semaphore>,
    /// Those who have it or wait for it.
    by: usize,
}

/// The right to be the only acquire of a sandbox here, until dropped.
pub(super) struct KeyGuard {
    // Dropped in this order: the turn goes on to the next before the table may forget it.
    _turn: OwnedSemaphorePermit,
    _place: Place,
}

/// One of those who want a key. Dropping it, also in the middle of waiting, takes it back.
struct Place {
    id: SandboxId,
    table: Arc<Mutex<HashMap<SandboxId, Wanted>>>,
}

impl KeyLocks {
    /// Waits for the turn of `id`. Turns are given in the order asked.
    ///
    /// Dropping the future gives the place up and holds nobody up.
    pub(super) async fn lock(&self, id: &SandboxId) -> KeyGuard {
        let (place, turn) = {
            let mut wanted = self.wanted.lock();
            let entry = wanted
                .entry(id.clone())
                .or_insert_with(|| Wanted { turn: Arc::new(Semaphore::new(1)), by: 0 });
            entry.by += 1;
            (Place { id: id.clone(), table: Arc::clone(&self.wanted) }, Arc::clone(&entry.turn))
        };
        let turn = turn.acquire_owned().await.expect("nobody closes a turn");
        KeyGuard { _turn: turn, _place: place }
    }

    /// The turn of `id` if nobody has it or waits for it.
    pub(super) fn try_lock(&self, id: &SandboxId) -> Option<KeyGuard> {
        let mut wanted = self.wanted.lock();
        if wanted.contains_key(id) {
            return None;
        }
        let turn = Arc::new(Semaphore::new(1));
        let permit = Arc::clone(&turn).try_acquire_owned().expect("a new turn is free");
        wanted.insert(id.clone(), Wanted { turn, by: 1 });
        let place = Place { id: id.clone(), table: Arc::clone(&self.wanted) };
        Some(KeyGuard { _turn: permit, _place: place })
    }

    /// How many keys are wanted now.
    pub(super) fn len(&self) -> usize {
        self.wanted.lock().len()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut wanted = self.table.lock();
        if let Some(entry) = wanted.get_mut(&self.id) {
            entry.by -= 1;
            if entry.by == 0 {
                wanted.remove(&self.id);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    fn id() -> SandboxId {
        SandboxId::new("a").unwrap()
    }

    #[tokio::test]
    async fn the_table_shrinks_back_to_nothing() {
        let keys = KeyLocks::default();
        let guard = keys.lock(&id()).await;
        assert_eq!(keys.len(), 1);
        drop(guard);
        assert_eq!(keys.len(), 0);
    }

    #[tokio::test]
    async fn a_waiter_that_leaves_strands_nobody() {
        let keys = KeyLocks::default();
        let first = keys.lock(&id()).await;
        let mut cx = Context::from_waker(Waker::noop());
        let id = id();
        let mut second = Box::pin(keys.lock(&id));
        let mut third = pin!(keys.lock(&id));
        assert!(second.as_mut().poll(&mut cx).is_pending());
        assert!(third.as_mut().poll(&mut cx).is_pending());
        drop(first);
        // The turn was given to the second, which leaves without looking.
        drop(second);
        assert!(matches!(third.as_mut().poll(&mut cx), Poll::Ready(_)));
        assert_eq!(keys.len(), 0, "the guard was dropped at once");
    }
}
