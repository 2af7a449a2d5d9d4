//! What an acquire looks at between its take and its hand-out.

use std::time::Duration;

use leasehold::{
    AcquireError, AcquirePath, BackendOperation, Event, LostReason, OwnershipStore, Phase, SandboxState,
    StopWhy,
};

use crate::ledger::{Op, Trouble};
use crate::session;
use crate::world::Fleet;
use crate::yard::{Gate, Mishap};

#[tokio::test]
async fn h1_get_asks_nobody_and_counts_as_activity() {
    let fleet = Fleet::new();
    let a = fleet.gateway("a").await;
    let held = fleet.world.until(a.acquire(session("u", "t"))).await.unwrap();
    fleet.world.pass(Duration::from_secs(500)).await;
    fleet.world.journal();
    let found = a.get(held.id()).unwrap();
    fleet.world.settle().await;
    assert_eq!((found.instance(), fleet.world.journal()), (held.instance(), Vec::new()));
    fleet.world.pass(Duration::from_secs(590)).await;
    assert_eq!(held.is_lost(), None);
    fleet.world.pass(Duration::from_secs(20)).await;
    assert_eq!(held.is_lost(), Some(LostReason::Stopped));
}

#[tokio::test]
async fn h1_what_is_reserved_for_a_stop_is_not_got() {
    let fleet = Fleet::new();
    let a = fleet.gateway("a").await;
    let held = fleet.world.until(a.acquire(session("u", "t"))).await.unwrap();
    let gate = Gate::new();
    fleet.yard.next(BackendOperation::Condemn, Mishap::Waits(gate.clone()));
    fleet.world.pass(Duration::from_secs(606)).await;
    gate.arrived().await;
    assert_eq!(a.status().sandboxes[0].state, SandboxState::Stopping);
    assert!(a.get(held.id()).is_none(), "although somebody holds it");
    gate.open();
}

#[tokio::test]
async fn h2_nothing_is_asked_of_the_engine_or_handed_out_before_a_take_succeeded() {
    let fleet = Fleet::new();
    let a = fleet.gateway("a").await;
    fleet.world.settle().await;
    fleet.world.journal();
    fleet.script.next("a", Op::Take, Trouble::Fails);
    let error = fleet.world.until(a.acquire(session("u", "t"))).await.unwrap_err();
    assert!(matches!(error, AcquireError::StoreUnknown(_)), "{error}");
    fleet.world.settle().await;
    let journal = fleet.world.journal();
    assert!(journal.iter().all(|did| did.starts_with("store: ")), "{journal:?}");
    assert!(a.status().sandboxes.is_empty() && fleet.leases_of("a").is_empty());
    let held = fleet.world.until(a.acquire(session("u", "t"))).await.unwrap();
    fleet.world.journal();
    // One that is in use here, and one that is warm.
    let again = fleet.world.until(a.acquire(session("u", "t"))).await.unwrap();
    assert_eq!(fleet.world.journal(), ["store: Take", "engine: inspect"], "the look follows the take");
    fleet.script.next("a", Op::Take, Trouble::Fails);
    fleet.world.until(a.acquire(session("u", "t"))).await.unwrap_err();
    drop((held, again));
    fleet.script.next("a", Op::Take, Trouble::Fails);
    fleet.world.until(a.acquire(session("u", "t"))).await.unwrap_err();
    assert_eq!((fleet.yard.instances().len(), a.status().sandboxes[0].holders), (1, 0));
}

#[tokio::test]
async fn h2_a_lease_that_a_peer_takes_during_the_look_is_taken_anew() {
    let fleet = Fleet::new();
    let (a, b) = (
        fleet.gateway_with("a", |config| config.backend_deadline = Duration::from_secs(30)).await,
        fleet.gateway("b").await,
    );
    let first = fleet.world.until(a.acquire(session("u", "t"))).await.unwrap();
    let (id, gate) = (first.id().clone(), Gate::new());
    fleet.yard.next(BackendOperation::Inspect, Mishap::Waits(gate.clone()));
    let asked = tokio::spawn({
        let a = a.clone();
        async move { a.acquire(session("u", "t")).await }
    });
    gate.arrived().await;
    let there = fleet.world.until(b.acquire(session("u", "t"))).await.unwrap();
    fleet.world.pass(Duration::from_secs(12)).await;
    assert_eq!(first.is_lost(), Some(LostReason::Taken));
    let takes = fleet.script.calls("a", Op::Take);
    gate.open();
    let second = fleet.world.until(asked).await.unwrap().unwrap();
    assert_eq!(fleet.script.calls("a", Op::Take), takes + 1);
    assert_eq!(fleet.store("look").inspect(&id).unwrap().unwrap().owner, *a.owner());
    assert_eq!((second.instance(), second.is_lost()), (there.instance(), None));
}

#[tokio::test]
async fn h2_a_lease_without_time_left_hands_nothing_out() {
    let fleet = Fleet::new();
    let a = fleet.gateway_with("a", |config| config.backend_deadline = Duration::from_secs(300)).await;
    drop(fleet.world.until(a.acquire(session("u", "t"))).await.unwrap());
    let gate = Gate::new();
    fleet.yard.next(BackendOperation::Inspect, Mishap::Waits(gate.clone()));
    let asked = tokio::spawn({
        let a = a.clone();
        async move { a.acquire(session("u", "t")).await }
    });
    gate.arrived().await;
    // Nobody says that the lease is over: the store does not answer at all.
    fleet.script.cut_off("a");
    fleet.world.pass(Duration::from_secs(60)).await;
    gate.open();
    let error = fleet.world.until(asked).await.unwrap().unwrap_err();
    assert!(matches!(error, AcquireError::StoreUnknown(_)), "{error}");
    assert_eq!(a.status().sandboxes[0].holders, 0);
    fleet.script.reconnect("a");
    let held = fleet.world.until(a.acquire(session("u", "t"))).await.unwrap();
    assert!(fleet.store("look").inspect(held.id()).unwrap().is_some());
}

#[tokio::test]
async fn h2_what_was_made_and_cannot_be_handed_out_is_stopped_by_its_lease_or_parked() {
    let fleet = Fleet::new();
    let a = fleet.gateway("a").await;
    let mut told = a.events();
    fleet.yard.next(BackendOperation::WaitReady, Mishap::Fails);
    fleet.world.journal();
    fleet.world.until(a.acquire(session("u", "t"))).await.unwrap_err();
    assert_eq!(fleet.yard.instances(), []);
    let journal = fleet.world.journal();
    let at = |what: &str| journal.iter().position(|did| did == what).unwrap();
    assert!(at("store: Claim") < at("engine: condemn") && at("engine: condemn") < at("engine: destroy"));
    let events = std::iter::from_fn(|| told.try_next());
    assert!(events.into_iter().any(|e| matches!(e, Event::Stopped { why: StopWhy::Disposed, .. })));
    assert_eq!((a.status().sandboxes.len(), a.status().slots.0), (0, 0));
    // Where the store can't say, it is parked: tracked, leased, found by the next.
    fleet.script.next("a", Op::Renew, Trouble::Fails);
    let error = fleet.world.until(a.acquire(session("u", "t"))).await.unwrap_err();
    assert!(matches!(error, AcquireError::StoreUnknown(_)), "{error}");
    assert_eq!((fleet.yard.instances().len(), a.status().sandboxes[0].state), (1, SandboxState::Warm));
    let mut told = a.events();
    let next = fleet.world.until(a.acquire(session("u", "t"))).await.unwrap();
    assert_eq!(fleet.yard.instances()[0].instance, *next.instance());
    assert!(matches!(told.try_next(), Some(Event::Acquired { path: AcquirePath::Reclaimed, .. })));
}

#[tokio::test]
async fn h5_an_acquire_that_meets_a_stop_here_waits_for_it_and_begins_again() {
    let fleet = Fleet::new();
    let a = fleet.gateway("a").await;
    let (id, old) = {
        let held = fleet.world.until(a.acquire(session("u", "t"))).await.unwrap();
        (held.id().clone(), held.instance().clone())
    };
    fleet.world.pass(Duration::from_secs(50)).await;
    let gate = Gate::new();
    fleet.yard.next(BackendOperation::Destroy, Mishap::Waits(gate.clone()));
    let stopping = tokio::spawn({
        let a = a.clone();
        async move { a.destroy(&id).await }
    });
    gate.arrived().await;
    let takes = fleet.script.calls("a", Op::Take);
    let short = fleet.world.until(a.acquire(session("u", "t").within(Duration::from_secs(3)))).await;
    assert!(matches!(short, Err(AcquireError::BeingDestroyed)), "bounded: {short:?}");
    let asked = tokio::spawn({
        let a = a.clone();
        async move { a.acquire(session("u", "t")).await }
    });
    fleet.world.pass(Duration::from_secs(3)).await;
    assert!(!asked.is_finished());
    assert_eq!(fleet.script.calls("a", Op::Take), takes, "K2: it looks at the reservation before it takes");
    gate.open();
    stopping.await.unwrap().unwrap();
    let fresh = fleet.world.until(asked).await.unwrap().unwrap();
    assert_ne!(*fresh.instance(), old);
    assert_eq!(fleet.yard.instances().len(), 1);
}

#[tokio::test]
async fn h5_an_acquire_that_meets_a_stop_of_a_peer_waits_for_it() {
    let fleet = Fleet::new();
    let (a, b) = (fleet.gateway("a").await, fleet.gateway("b").await);
    let id = fleet.world.until(a.acquire(session("u", "t"))).await.unwrap().id().clone();
    fleet.world.pass(Duration::from_secs(50)).await;
    let gate = Gate::new();
    fleet.yard.next(BackendOperation::Destroy, Mishap::Waits(gate.clone()));
    let stopping = tokio::spawn({
        let (a, id) = (a.clone(), id.clone());
        async move { a.destroy(&id).await }
    });
    gate.arrived().await;
    let asked = tokio::spawn({
        let b = b.clone();
        async move { b.acquire(session("u", "t")).await }
    });
    fleet.world.pass(Duration::from_secs(3)).await;
    assert!(!asked.is_finished());
    assert_eq!(fleet.store("look").inspect(&id).unwrap().unwrap().phase, Phase::Teardown);
    gate.open();
    stopping.await.unwrap().unwrap();
    let fresh = fleet.world.until(asked).await.unwrap().unwrap();
    assert_eq!(fleet.yard.instances()[0].instance, *fresh.instance());
    assert_eq!(fleet.yard.calls(BackendOperation::Create), 2);
}

#[tokio::test]
async fn h8_the_lease_comes_first_and_what_was_made_is_looked_at_once_more() {
    let fleet = Fleet::new();
    let a = fleet.gateway("a").await;
    let gate = Gate::new();
    fleet.yard.next(BackendOperation::WaitReady, Mishap::AnswersLate(gate.clone()));
    fleet.world.settle().await;
    fleet.world.journal();
    let asked = tokio::spawn({
        let a = a.clone();
        async move { a.acquire(session("u", "t")).await }
    });
    gate.arrived().await;
    let so_far = ["store: Take", "engine: discover", "engine: create", "engine: wait until ready"];
    assert_eq!(fleet.world.journal(), so_far);
    // Somebody puts another in its place.
    let made = fleet.yard.instances().remove(0);
    fleet.yard.vanish(&made.instance);
    fleet.yard.put(leasehold::SandboxInfo { instance: leasehold::InstanceId::new("other"), ..made.clone() });
    gate.open();
    let held = fleet.world.until(asked).await.unwrap().unwrap();
    assert_eq!(held.instance().as_str(), "other");
    assert_eq!((a.status().sandboxes.len(), a.status().slots.0), (1, 1));
}

#[tokio::test]
async fn h8_what_was_found_and_is_condemned_by_the_second_look_is_not_handed_out() {
    let fleet = Fleet::new();
    let (a, b) = (fleet.gateway("a").await, fleet.gateway("b").await);
    let there = fleet.world.until(b.acquire(session("u", "t"))).await.unwrap();
    let gate = Gate::new();
    fleet.yard.next(BackendOperation::WaitReady, Mishap::AnswersLate(gate.clone()));
    let asked = tokio::spawn({
        let a = a.clone();
        async move { a.acquire(session("u", "t")).await }
    });
    gate.arrived().await;
    fleet.yard.change(there.instance(), |info| info.condemned = true);
    gate.open();
    let held = fleet.world.until(asked).await.unwrap().unwrap();
    assert_ne!(held.instance(), there.instance());
    let running: Vec<_> = fleet.yard.instances().into_iter().filter(|info| !info.condemned).collect();
    assert_eq!((running.len(), &running[0].instance), (1, held.instance()));
}
