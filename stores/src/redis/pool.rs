use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use leasehold::{Deadline, ErrorKind, Stage, StoreError};
use parking_lot::{Condvar, Mutex, MutexGuard};

use super::connection::{Connection, Connector};

/// A few connections, each used by one call at a time. Callers that find all in use wait in order.
pub(super) struct Pool {
    connector: Connector,
    state: Mutex<State>,
}

struct State {
    /// How many more calls may go on at once.
    free: usize,
    /// Connections that nobody uses, the one used last on top, so that a quiet pool needs few of them.
    idle: Vec<Connection>,
    /// Who waits, the first in front.
    waiting: VecDeque<Arc<Turn>>,
    closed: bool,
}

/// The place of one caller in the queue.
#[derive(Default)]
struct Turn {
    /// Its turn has come: it was taken out of the queue and may go on. Guarded by the pool's lock.
    come: AtomicBool,
    woken: Condvar,
}

impl Pool {
    pub(super) fn new(connector: Connector, size: usize) -> Self {
        let state = State { free: size, idle: Vec::new(), waiting: VecDeque::new(), closed: false };
        Self { connector, state: Mutex::new(state) }
    }

    pub(super) fn connector(&self) -> &Connector {
        &self.connector
    }

    /// Does `ask` with a connection of the pool, or with a new one, all within `deadline`.
    pub(super) fn with<T>(
        &self,
        deadline: Deadline,
        ask: impl FnOnce(&mut Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let permit = self.permit(&deadline)?;
        let mut connection = match permit.idle() {
            Some(connection) => connection,
            None => self.connector.connect(deadline)?,
        };
        let answer = ask(&mut connection);
        if connection.is_settled() {
            permit.keep(connection);
        }
        answer
    }

    /// Drops what is idle; what is in use is dropped when its call ends, and who waits is turned away.
    pub(super) fn close(&self) {
        let mut state = self.state.lock();
        state.closed = true;
        let idle = std::mem::take(&mut state.idle);
        for turn in state.waiting.drain(..) {
            turn.come();
        }
        drop(state);
        drop(idle);
    }

    fn permit(&self, deadline: &Deadline) -> Result<Permit<'_>, StoreError> {
        let mut state = self.state.lock();
        if !state.closed && state.free > 0 {
            // Nobody waits while there is something free: it is handed over, not put back.
            state.free -= 1;
            return Ok(Permit { pool: self });
        }
        if !state.closed {
            self.wait(&mut state, deadline)?;
        }
        if state.closed {
            return Err(closed());
        }
        Ok(Permit { pool: self })
    }

    fn wait(&self, state: &mut MutexGuard<'_, State>, deadline: &Deadline) -> Result<(), StoreError> {
        let turn = Arc::new(Turn::default());
        state.waiting.push_back(Arc::clone(&turn));
        while !turn.has_come() {
            let Some(left) = deadline.left() else {
                state.waiting.retain(|other| !Arc::ptr_eq(other, &turn));
                return Err(self.connector.explain().late(deadline.allowed(), Stage::Pool));
            };
            turn.woken.wait_for(state, left);
        }
        Ok(())
    }
}

impl Turn {
    fn come(&self) {
        self.come.store(true, Ordering::Relaxed);
        self.woken.notify_one();
    }

    fn has_come(&self) -> bool {
        self.come.load(Ordering::Relaxed)
    }
}

/// The right to use one connection; handed to the next in the queue when it is dropped.
struct Permit<'p> {
    pool: &'p Pool,
}

impl Permit<'_> {
    /// An idle connection that is still good. Those that the server closed meanwhile are dropped: nothing was sent on
    /// them, so nothing is repeated by using another.
    fn idle(&self) -> Option<Connection> {
        loop {
            let connection = self.pool.state.lock().idle.pop()?;
            if connection.is_sound() {
                return Some(connection);
            }
        }
    }

    fn keep(self, connection: Connection) {
        let mut state = self.pool.state.lock();
        if !state.closed {
            state.idle.push(connection);
        }
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        let mut state = self.pool.state.lock();
        match state.waiting.pop_front() {
            Some(next) => next.come(),
            None => state.free += 1,
        }
    }
}

pub(super) fn closed() -> StoreError {
    StoreError::new(ErrorKind::Closed, "the store was closed; open it again")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redis::RedisConfig;
    use std::time::Duration;

    const LONG: Duration = Duration::from_secs(60);

    fn pool(size: usize) -> Pool {
        let config = RedisConfig::from_url(&"redis://127.0.0.1:1/0".parse().unwrap()).unwrap();
        Pool::new(Connector::new(&config).unwrap(), size)
    }

    /// Waits until so many callers wait.
    fn until_waiting(pool: &Pool, count: usize) {
        while pool.state.lock().waiting.len() < count {
            std::thread::yield_now();
        }
    }

    #[test]
    fn who_finds_no_connection_free_until_the_deadline_is_told_so_and_leaves_the_queue() {
        let pool = pool(1);
        let held = pool.permit(&Deadline::after(LONG)).unwrap();
        let error = pool.permit(&Deadline::after(Duration::from_millis(5))).err().unwrap();
        assert_eq!((error.kind(), error.stage()), (ErrorKind::Timeout, Some(Stage::Pool)), "{error}");
        assert!(!error.may_have_happened());
        assert!(pool.state.lock().waiting.is_empty());
        drop(held);
        assert!(pool.permit(&Deadline::after(LONG)).is_ok());
    }

    #[test]
    fn who_came_first_is_served_first_and_none_pushes_in() {
        let pool = pool(1);
        let served = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            let held = pool.permit(&Deadline::after(LONG)).unwrap();
            for n in 0..5 {
                let (pool, served) = (&pool, &served);
                scope.spawn(move || {
                    let _permit = pool.permit(&Deadline::after(LONG)).unwrap();
                    served.lock().push(n);
                });
                until_waiting(pool, n + 1);
            }
            drop(held);
        });
        assert_eq!(*served.lock(), [0, 1, 2, 3, 4]);
        assert_eq!(pool.state.lock().free, 1);
    }

    #[test]
    fn closing_turns_away_who_waits() {
        let pool = pool(1);
        std::thread::scope(|scope| {
            let _held = pool.permit(&Deadline::after(LONG)).unwrap();
            let waiting = scope.spawn(|| pool.permit(&Deadline::after(LONG)).err().unwrap().kind());
            until_waiting(&pool, 1);
            pool.close();
            assert_eq!(waiting.join().unwrap(), ErrorKind::Closed);
        });
        assert_eq!(pool.permit(&Deadline::after(LONG)).err().unwrap().kind(), ErrorKind::Closed);
    }

    #[test]
    fn a_connection_that_cannot_be_made_gives_its_place_back() {
        let pool = pool(1);
        for _ in 0..3 {
            let refused = pool.with(Deadline::after(LONG), |_| Ok(())).unwrap_err();
            assert_eq!(refused.stage(), Some(Stage::Connect), "{refused}");
        }
        assert_eq!(pool.state.lock().free, 1);
    }
}
