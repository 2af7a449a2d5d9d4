//! How many sandboxes there may be.

use std::time::Duration;

use leasehold::{AcquireError, BackendOperation, Event, LostReason};

use crate::session;
use crate::world::Fleet;
use crate::yard::{Gate, Mishap};

#[tokio::test]
async fn g1_a_slot_is_reserved_before_the_create() {
    let fleet = Fleet::new();
    let a = fleet.gateway_with("a", |config| config.capacity = Some(1)).await;
    let gate = Gate::new();
    fleet.yard.next(BackendOperation::Create, Mishap::Waits(gate.clone()));
    let first = tokio::spawn({
        let a = a.clone();
        async move { a.acquire(session("u", "1")).await }
    });
    gate.arrived().await;
    assert_eq!(a.status().slots, (1, Some(1)));
    let second = fleet.world.until(a.acquire(session("u", "2").within(Duration::from_secs(5)))).await;
    assert!(matches!(second, Err(AcquireError::AtCapacity { .. })), "{second:?}");
    assert_eq!(fleet.yard.calls(BackendOperation::Create), 1);
    gate.open();
    drop(fleet.world.until(first).await.unwrap().unwrap());
}

#[tokio::test]
async fn g1_a_slot_is_freed_exactly_once_however_its_sandbox_ends() {
    let fleet = Fleet::new();
    let a = fleet.gateway("a").await;
    let kept = fleet.world.until(a.acquire(session("u", "kept"))).await.unwrap();
    let other = fleet.world.until(a.acquire(session("u", "other"))).await.unwrap();
    // A create that fails, one that is not ready, one that is destroyed, one that vanishes, one that a peer takes.
    for mishap in [BackendOperation::Create, BackendOperation::WaitReady] {
        fleet.yard.next(mishap, Mishap::Fails);
        fleet.world.until(a.acquire(session("u", "t"))).await.unwrap_err();
    }
    fleet.world.pass(Duration::from_secs(90)).await;
    assert_eq!((a.status().slots.0, fleet.yard.instances().len()), (2, 2));
    let id = fleet.world.until(a.acquire(session("u", "t"))).await.unwrap().id().clone();
    fleet.world.pass(Duration::from_secs(50)).await;
    assert_eq!(a.status().slots.0, 3);
    a.destroy(&id).await.unwrap();
    assert_eq!(a.status().slots.0, 2);
    let gone = fleet.world.until(a.acquire(session("u", "t"))).await.unwrap();
    fleet.yard.vanish(gone.instance());
    let fresh = fleet.world.until(a.acquire(session("u", "t"))).await.unwrap();
    assert_eq!((gone.is_lost(), a.status().slots.0), (Some(LostReason::Gone), 3));
    drop((gone, fresh));
    let _ = leasehold::OwnershipStore::take(&fleet.store("b"), &id).unwrap();
    fleet.world.pass(Duration::from_secs(12)).await;
    assert_eq!((a.status().slots.0, kept.is_lost(), other.is_lost()), (2, None, None));
}

#[tokio::test]
async fn g2_one_that_is_too_young_to_be_reaped_is_not_evicted() {
    let fleet = Fleet::new();
    let a = fleet.gateway_with("a", |config| config.capacity = Some(1)).await;
    let young = fleet.world.until(a.acquire(session("u", "1"))).await.unwrap().instance().clone();
    let refused = fleet.world.until(a.acquire(session("u", "2").within(Duration::from_secs(20)))).await;
    assert!(matches!(refused, Err(AcquireError::AtCapacity { .. })), "{refused:?}");
    assert_eq!(fleet.yard.instances()[0].instance, young);
    // Waiting long enough, it comes of age and makes room.
    let got = fleet.world.until(a.acquire(session("u", "2"))).await.unwrap();
    assert_eq!((fleet.yard.instances().len(), &fleet.yard.instances()[0].instance), (1, got.instance()));
}

#[tokio::test]
async fn g2_the_cap_is_exceeded_where_that_is_configured_and_that_is_said() {
    let fleet = Fleet::new();
    let a =
        fleet.gateway_with("a", |config| (config.capacity, config.exceed_capacity) = (Some(1), true)).await;
    let first = fleet.world.until(a.acquire(session("u", "1"))).await.unwrap();
    let mut told = a.events();
    let second =
        fleet.world.until(a.acquire(session("u", "2").within(Duration::from_secs(20)))).await.unwrap();
    let mut events = std::iter::from_fn(|| told.try_next());
    assert!(events.any(|event| matches!(event, Event::CapacityExceeded { id } if id == *second.id())));
    assert_eq!((a.status().slots, first.is_lost()), ((2, Some(1)), None));
}

#[tokio::test]
async fn g2_nothing_is_evicted_while_tidying_up_is_paused() {
    let fleet = Fleet::new();
    let a = fleet.gateway_with("a", |config| config.capacity = Some(1)).await;
    let warm = fleet.world.until(a.acquire(session("u", "1"))).await.unwrap().instance().clone();
    fleet.world.pass(Duration::from_secs(60)).await;
    a.pause_reaping(Duration::from_secs(600), "an operator looks at it");
    let refused = fleet.world.until(a.acquire(session("u", "2").within(Duration::from_secs(20)))).await;
    assert!(matches!(refused, Err(AcquireError::AtCapacity { .. })), "{refused:?}");
    assert_eq!(fleet.yard.instances()[0].instance, warm);
    a.resume_reaping();
    drop(fleet.world.until(a.acquire(session("u", "2"))).await.unwrap());
}
