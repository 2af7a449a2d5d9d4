use std::time::Duration;

use leasehold::{
    AcquireError, BackendOperation, DestroyError, Event, Intent, LostReason, OwnershipStore, Phase, Refusal,
    SandboxState,
};

use crate::session;
use crate::world::Fleet;
use crate::yard::{Gate, Mishap};

const HORIZON: Duration = Duration::from_secs(50);

#[tokio::test]
async fn k9_nothing_is_stopped_before_its_former_user_has_been_told() {
    let fleet = Fleet::new();
    let a = fleet.gateway("a").await;
    let id = {
        let held = fleet.world.until(a.acquire(session("u", "t"))).await.unwrap();
        held.id().clone()
    };
    assert!(matches!(a.destroy(&id).await, Err(DestroyError::Refused(Refusal::TooYoung(_)))));
    fleet.world.pass(HORIZON).await;
    a.destroy(&id).await.unwrap();
    assert_eq!(fleet.yard.instances(), []);
    assert_eq!(fleet.store("look").inspect(&id).unwrap(), None);
}

#[tokio::test]
async fn k3_a_stop_slower_than_the_ttl_keeps_everyone_out_to_its_end() {
    let fleet = Fleet::new();
    let (a, b) = (
        fleet.gateway_with("a", |config| config.stop_deadline = Duration::from_secs(900)).await,
        fleet.gateway("b").await,
    );
    let held = fleet.world.until(a.acquire(session("u", "t"))).await.unwrap();
    let id = held.id().clone();
    drop(held);
    fleet.world.pass(HORIZON).await;
    let gate = Gate::new();
    fleet.yard.next(BackendOperation::Destroy, Mishap::Waits(gate.clone()));
    let stopping = tokio::spawn({
        let (a, id) = (a.clone(), id.clone());
        async move { a.destroy(&id).await }
    });
    gate.arrived().await;
    fleet.world.pass(Duration::from_secs(200)).await;
    assert_eq!(fleet.store("look").inspect(&id).unwrap().unwrap().phase, Phase::Teardown);
    let waiting = tokio::spawn({
        let b = b.clone();
        async move { b.acquire(session("u", "t").within(Duration::from_secs(5))).await.map(drop) }
    });
    fleet.world.pass(Duration::from_secs(6)).await;
    assert!(matches!(waiting.await.unwrap(), Err(AcquireError::BeingDestroyed)));
    gate.open();
    stopping.await.unwrap().unwrap();
    assert_eq!(fleet.store("look").inspect(&id).unwrap(), None);
    let fresh = fleet.world.until(b.acquire(session("u", "t"))).await.unwrap();
    assert_eq!(fleet.yard.instances().len(), 1);
    drop(fresh);
}

#[tokio::test]
async fn k4_a_failed_stop_keeps_it_tracked_and_it_is_finished_later() {
    let fleet = Fleet::new();
    let a = fleet.gateway("a").await;
    let held = fleet.world.until(a.acquire(session("u", "t"))).await.unwrap();
    let id = held.id().clone();
    drop(held);
    fleet.world.pass(HORIZON).await;
    fleet.yard.next(BackendOperation::Destroy, Mishap::Fails);
    assert!(matches!(a.destroy(&id).await, Err(DestroyError::Backend(_))));
    assert_eq!(a.status().sandboxes[0].state, SandboxState::Condemned);
    assert_eq!(a.status().slots.0, 1);
    // Watched for the grace, claimed, and finished once the new tenure is old enough.
    fleet.world.pass(Duration::from_secs(200)).await;
    assert_eq!(fleet.yard.instances(), []);
    assert!(a.status().sandboxes.is_empty());
    assert_eq!(a.status().slots.0, 0);
}

#[tokio::test]
async fn k8_between_condemning_and_stopping_the_lease_is_asked_once_more() {
    let fleet = Fleet::new();
    let a = fleet.gateway("a").await;
    let held = fleet.world.until(a.acquire(session("u", "t"))).await.unwrap();
    let (id, instance) = (held.id().clone(), held.instance().clone());
    drop(held);
    fleet.world.pass(HORIZON).await;
    let gate = Gate::new();
    fleet.yard.next(BackendOperation::Condemn, Mishap::Waits(gate.clone()));
    let stopping = tokio::spawn({
        let (a, id) = (a.clone(), id.clone());
        async move { a.destroy(&id).await }
    });
    gate.arrived().await;
    // The server forgets everything, and a peer makes itself responsible.
    let _ = fleet.store("operator").discard(&id, true).unwrap();
    let _ = fleet.store("peer").claim(&id, Intent::Keep).unwrap();
    gate.open();
    assert!(matches!(stopping.await.unwrap(), Err(DestroyError::NotOurs)));
    assert_eq!(fleet.yard.calls(BackendOperation::Destroy), 0);
    assert!(fleet.yard.instances().iter().any(|info| info.instance == instance && info.condemned));
    assert_eq!(fleet.store("look").inspect(&id).unwrap().unwrap().owner.as_str(), "peer");
}

#[tokio::test]
async fn k6_running_work_pins_it_and_the_idle_clock_starts_when_it_ends() {
    let fleet = Fleet::new();
    let a = fleet.gateway("a").await;
    let held = fleet.world.until(a.acquire(session("u", "t"))).await.unwrap();
    let running = held.exec(leasehold::Command::new("long")).await.unwrap();
    fleet.world.pass(Duration::from_secs(2_000)).await;
    assert_eq!(held.is_lost(), None);
    drop(running);
    fleet.world.pass(Duration::from_secs(590)).await;
    assert_eq!(held.is_lost(), None);
    fleet.world.pass(Duration::from_secs(20)).await;
    assert_eq!((held.is_lost(), fleet.yard.instances().len()), (Some(LostReason::Stopped), 0));
    assert!(held.exec(leasehold::Command::new("late")).await.is_err());
}

#[tokio::test]
async fn d2_what_nobody_owns_is_adopted_after_the_grace_and_not_before() {
    let fleet = Fleet::new();
    let a = fleet.gateway("a").await;
    let held = fleet.world.until(a.acquire(session("u", "t"))).await.unwrap();
    let id = held.id().clone();
    drop(held);
    let report = a.shutdown(leasehold::ShutdownMode::HandOver, Duration::from_secs(10)).await;
    assert!(report.is_clean() && report.handed_over == 1, "{report:?}");
    let b = fleet.gateway("b").await;
    fleet.world.pass(Duration::from_secs(45)).await;
    assert!(b.status().sandboxes.is_empty());
    fleet.world.pass(Duration::from_secs(60)).await;
    let row = &b.status().sandboxes[0];
    assert_eq!((&row.id, row.state), (&id, SandboxState::Warm));
}

#[tokio::test]
async fn n2_a_wiped_store_takes_nothing_away_from_those_who_use_it() {
    let fleet = Fleet::new();
    let (a, b) = (fleet.gateway("a").await, fleet.gateway("b").await);
    let held = fleet.world.until(a.acquire(session("u", "t"))).await.unwrap();
    let (warm, mut told) = (fleet.world.until(a.acquire(session("u", "warm"))).await.unwrap(), a.events());
    let warm_id = warm.id().clone();
    drop(warm);
    for id in [held.id(), &warm_id] {
        let _ = fleet.store("operator").discard(id, true).unwrap();
    }
    fleet.world.pass(Duration::from_secs(12)).await;
    assert_eq!(held.is_lost(), None);
    assert_eq!(fleet.store("look").inspect(held.id()).unwrap().unwrap().owner, *a.owner());
    let mut seen = Vec::new();
    while let Some(event) = told.try_next() {
        seen.push(event);
    }
    assert!(seen.iter().any(|event| matches!(event, Event::Reclaimed { id } if id == held.id())));
    assert!(seen.iter().any(|event| matches!(event, Event::Unowned { id } if *id == warm_id)));
    assert_eq!(fleet.yard.instances().len(), 2);
    drop((b, held));
}

#[tokio::test]
async fn g2_at_the_cap_the_oldest_warm_one_goes_and_one_in_use_never() {
    let fleet = Fleet::new();
    let a = fleet.gateway_with("a", |config| config.capacity = Some(2)).await;
    let warm = fleet.world.until(a.acquire(session("u", "1"))).await.unwrap().instance().clone();
    let used = fleet.world.until(a.acquire(session("u", "2"))).await.unwrap();
    fleet.world.pass(HORIZON).await;
    let third = fleet.world.until(a.acquire(session("u", "3"))).await.unwrap();
    let left: Vec<_> = fleet.yard.instances().into_iter().map(|info| info.instance).collect();
    assert!(!left.contains(&warm) && left.contains(used.instance()) && left.contains(third.instance()));
    let waiting = tokio::spawn({
        let a = a.clone();
        async move { a.acquire(session("u", "4").within(Duration::from_secs(20))).await.map(drop) }
    });
    fleet.world.pass(Duration::from_secs(21)).await;
    assert!(matches!(waiting.await.unwrap(), Err(AcquireError::AtCapacity { .. })));
    assert_eq!((fleet.yard.instances().len(), a.status().slots.0), (2, 2));
}
