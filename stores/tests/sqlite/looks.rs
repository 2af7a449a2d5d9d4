use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use leasehold::{Boot, CellStore, Clock, ManualClock, Moment, OwnerId, OwnershipStore, Ttl, WallTime};
use leasehold_stores::sqlite::{SqliteCell, SqliteConfig};

use crate::support::{Place, id, is_renewed, take};

/// A clock that does something before each of its readings.
struct Trap {
    clock: ManualClock,
    then: Mutex<Vec<Box<dyn FnMut() + Send>>>,
}

impl std::fmt::Debug for Trap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Trap")
    }
}

impl Clock for Trap {
    fn now(&self) -> Moment {
        if let Some(mut then) = self.then.lock().unwrap().pop() {
            then();
        }
        self.clock.now()
    }

    fn wall(&self) -> WallTime {
        self.clock.wall()
    }

    fn boot(&self) -> Boot {
        self.clock.boot()
    }
}

fn trapped(place: &Place) -> (Arc<Trap>, CellStore<SqliteCell>) {
    let trap = Arc::new(Trap { clock: place.clock.clone(), then: Mutex::new(Vec::new()) });
    let clock: Arc<dyn Clock> = Arc::clone(&trap) as Arc<dyn Clock>;
    let cell = SqliteCell::open(SqliteConfig::new(place.path()), clock).unwrap();
    let store = CellStore::new(cell, OwnerId::new("looker").unwrap(), Ttl::from_millis(1_000).unwrap());
    (trap, store)
}

#[test]
fn a_lease_that_is_renewed_under_a_look_is_seen_by_it() {
    for listing in [false, true] {
        let place = Place::new();
        let holder = place.store("gw-1", 1_000, &place.clock);
        take(&holder, &id("sbx-1"));
        place.clock.advance(Duration::from_millis(900));
        let (trap, looker) = trapped(&place);
        // Between the row and the second reading: renewed in time, and then its first end passes.
        let clock = place.clock.clone();
        let renew = move || {
            assert!(is_renewed(&holder.renew(&id("sbx-1"))));
            clock.advance(Duration::from_millis(200));
        };
        *trap.then.lock().unwrap() = vec![Box::new(renew), Box::new(|| {})];
        let seen = if listing {
            looker.list().unwrap().leases.pop().map(|(_, lease)| lease)
        } else {
            looker.inspect(&id("sbx-1")).unwrap()
        };
        assert!(seen.is_some_and(|lease| lease.left <= Duration::from_millis(1_000)));
    }
}

#[test]
fn the_clock_is_read_after_the_lock_was_got() {
    let place = Place::new();
    let holder = place.store("gw-1", 1_000, &place.clock);
    take(&holder, &id("sbx-1"));
    let (trap, taker) = trapped(&place);
    let sql = place.sql();
    sql.busy_timeout(Duration::ZERO).unwrap();
    let locked = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&locked);
    let probe = Mutex::new(sql);
    *trap.then.lock().unwrap() = vec![Box::new(move || {
        let refused = probe.lock().unwrap().execute_batch("BEGIN IMMEDIATE; ROLLBACK").is_err();
        seen.store(refused, Ordering::SeqCst);
    })];
    take(&taker, &id("sbx-1"));
    assert!(locked.load(Ordering::SeqCst), "at the first reading nobody else can write any more");
}

#[test]
fn looking_changes_nothing() {
    let place = Place::new();
    let store = place.store("gw-1", 1_000, &place.clock);
    take(&store, &id("sbx-1"));
    let before = place.record(&id("sbx-1"));
    place.clock.advance(Duration::from_secs(5));
    assert_eq!(store.inspect(&id("sbx-1")).unwrap(), None);
    assert_eq!(store.inspect(&id("sbx-2")).unwrap(), None);
    assert!(store.list().unwrap().leases.is_empty());
    assert_eq!((place.rows(), place.record(&id("sbx-1"))), (1, before));
}

#[test]
fn what_a_rule_leaves_alone_stays_as_it_is() {
    let place = Place::new();
    let (mine, peer) = (place.open("gw-1"), place.open("gw-2"));
    take(&*mine, &id("sbx-1"));
    let before = place.record(&id("sbx-1"));
    assert!(!is_renewed(&peer.renew(&id("sbx-1"))));
    assert!(!is_renewed(&peer.renew(&id("sbx-2"))));
    assert_eq!(peer.release(&id("sbx-1")).unwrap(), leasehold::ReleaseOutcome::NotHeld);
    assert_eq!((place.rows(), place.record(&id("sbx-1"))), (1, before));
}
