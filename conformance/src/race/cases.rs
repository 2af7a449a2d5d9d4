use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use leasehold::{OwnerId, OwnershipStore, SandboxId, Ttl};

use super::Mix;
use crate::case::{Check, Stop, must};
use crate::chance::Chance;
use crate::checker::{Timing, check};
use crate::history::{Event, Order, Recorder};
use crate::kit::{Kit, Store, id};

/// How many owners there are, each with two handles.
const OWNERS: usize = 4;
/// How many threads race: one for each handle.
const THREADS: usize = 2 * OWNERS;
/// How often they start anew, on sandboxes that nobody has touched.
const ROUNDS: usize = 12;
/// How many operations each thread does in a round.
const LENGTH: usize = 60;

/// Threads of several owners do everything at once to three sandboxes, and the lease table explains what they are told.
pub(crate) fn mixed_histories_are_explained(kit: &Kit<'_>) -> Check {
    let open = |(n, ttl)| open(kit, &format!("gw-{}", n % OWNERS), ttl);
    let stores: Vec<Store> = ttls(kit).into_iter().enumerate().map(open).collect::<Result<_, Stop>>()?;
    let timing = match kit.virtual_clock() {
        Ok(_) => Timing::Ours,
        Err(_) => Timing::server(stores[0].quantum()),
    };
    // One order for all rounds, since a list shows the leases of earlier ones too.
    let (mut history, order) = (Vec::new(), Order::counted());
    for round in 0..ROUNDS {
        let ids: Vec<SandboxId> = ["a", "A", "b"].map(|name| id(&format!("sbx-{round}-{name}"))).into();
        history.extend(one_round(kit, &stores, &order, &ids, round)?);
    }
    let asked = history.len();
    let checked = check(history, timing);
    must(checked.errors.is_empty(), "no error where nothing is broken", &checked.errors)?;
    if checked.is_complete() {
        return Ok(());
    }
    let expected = format!("{asked} answers that the lease table explains (seed {})", kit.seed());
    Err(Stop::Failed { expected, seen: checked.to_string() })
}

/// A handle that the kit doesn't know of: it excuses failures where leases ran out because the machine was slow, and the
/// checker, which is told when everything happened, needs no excuse.
fn open(kit: &Kit<'_>, owner: &str, ttl: Duration) -> Result<Store, Stop> {
    let owner = OwnerId::new(owner).map_err(|e| Stop::Harness(e.to_string()))?;
    let ttl = Ttl::new(ttl).map_err(|e| Stop::Harness(e.to_string()))?;
    Ok(kit.namespace().open(owner, ttl, kit.clock())?)
}

/// The TTLs of the handles: some leases run out within a history, others never do. The second handle of an owner has
/// another than its first.
fn ttls(kit: &Kit<'_>) -> [Duration; 2 * OWNERS] {
    let short = if kit.virtual_clock().is_ok() { Duration::from_secs(8) } else { Duration::from_millis(8) };
    [short, Kit::SCENE, short * 3, Kit::TESTED, Kit::SCENE, short, short, Kit::SCENE]
}

fn one_round(
    kit: &Kit<'_>,
    stores: &[Store],
    order: &Order,
    ids: &[SandboxId],
    round: usize,
) -> Result<Vec<Event>, Stop> {
    let barrier = Barrier::new(THREADS);
    thread::scope(|scope| {
        let racing: Vec<_> = (0..THREADS)
            .map(|n| {
                let (store, barrier, order) = (&*stores[n], &barrier, order.clone());
                let seed = kit.seed().wrapping_mul(1_000_003).wrapping_add((round * THREADS + n) as u64);
                scope.spawn(move || {
                    barrier.wait();
                    one_thread(kit, store, order, ids, seed)
                })
            })
            .collect();
        let mut history = Vec::new();
        for one in racing {
            history.extend(one.join().map_err(|_| Stop::failed("an answer", "a panic"))?);
        }
        Ok(history)
    })
}

fn one_thread(
    kit: &Kit<'_>,
    store: &dyn OwnershipStore,
    order: Order,
    ids: &[SandboxId],
    seed: u64,
) -> Vec<Event> {
    let mut history = Vec::with_capacity(LENGTH * 2);
    let mut write = |event| history.push(event);
    let clock = kit.clock();
    let mut recorder = Recorder::new(store, &*clock, order, &mut write);
    let (mut mix, mut chance) = (Mix::new(ids, seed), Chance::new(!seed));
    for _ in 0..LENGTH {
        mix.ask(&mut recorder);
        if let Ok(clock) = kit.virtual_clock()
            && chance.below(16) == 0
        {
            clock.advance(Duration::from_millis(500 + 500 * chance.below(8) as u64));
        }
        if chance.below(4) == 0 {
            thread::yield_now();
        }
    }
    history
}
