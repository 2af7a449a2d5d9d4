//! Backends that panic: what they were asked for may have happened all the same.

use std::time::Duration;

use leasehold::{
    AcquireError, BackendError, BackendErrorKind, BackendOperation, Event, OwnershipStore, Phase, Provider,
    SandboxState,
};

use crate::ledger::{Op, Trouble};
use crate::session;
use crate::world::Fleet;
use crate::yard::{Gate, Mishap};

const HORIZON: Duration = Duration::from_secs(50);

/// Two ways in which a create may happen and then panic: in the call itself, and in the acquire around it.
const PANICS: [Mishap; 2] = [Mishap::HappensAndPanics, Mishap::HappensAtOnceAndPanics];

async fn one_slot(fleet: &Fleet) -> Provider {
    fleet.gateway_with("a", |config| config.capacity = Some(1)).await
}

fn panicked(error: &AcquireError) -> bool {
    let by_backend = |error: &BackendError| error.kind() == BackendErrorKind::Panicked;
    matches!(error, AcquireError::Panicked) || matches!(error, AcquireError::Backend(e) if by_backend(e))
}

#[tokio::test]
async fn z1_a_create_that_panicked_after_it_happened_is_found_and_disposed_of_by_its_lease() {
    for mishap in PANICS {
        let fleet = Fleet::new();
        let a = one_slot(&fleet).await;
        fleet.yard.next(BackendOperation::Create, mishap);
        let error = fleet.world.until(a.acquire(session("u", "t"))).await.unwrap_err();
        assert!(panicked(&error), "{error:?}");
        fleet.world.settle().await;
        let status = a.status();
        assert_eq!((status.slots.0, status.acquires, status.keys), (1, 0, 0), "the slot is kept");
        assert_eq!(status.sandboxes.len(), 1);
        assert_eq!((fleet.yard.instances().len(), fleet.leases_of("a").len()), (1, 1));
        // Nothing else may be made meanwhile, and a peer that wants it has to take it.
        let other = session("u", "other").within(Duration::from_secs(4));
        let full = fleet.world.until(a.acquire(other)).await;
        assert!(matches!(full, Err(AcquireError::AtCapacity { .. })), "{full:?}");
        fleet.world.journal();
        fleet.world.pass(HORIZON + Duration::from_secs(20)).await;
        assert_eq!((fleet.yard.instances(), fleet.leases_of("a")), (vec![], vec![]));
        assert_eq!((a.status().slots.0, a.status().sandboxes.len()), (0, 0));
        let steps: Vec<_> = fleet.world.journal().into_iter().filter(|step| is_of_a_stop(step)).collect();
        let gated =
            ["store: Claim", "engine: condemn", "store: Claim", "engine: destroy", "store: ReleaseTenure"];
        assert_eq!(steps, gated);
    }
}

fn is_of_a_stop(step: &str) -> bool {
    ["store: Claim", "store: ReleaseTenure", "engine: condemn", "engine: destroy"].contains(&step)
}

#[tokio::test]
async fn g1_the_slot_of_a_create_that_panicked_is_freed_exactly_once() {
    for mishap in [Mishap::Panics, Mishap::HappensAndPanics, Mishap::HappensAtOnceAndPanics] {
        let fleet = Fleet::new();
        let a = fleet.gateway_with("a", |config| config.capacity = Some(2)).await;
        let held = fleet.world.until(a.acquire(session("u", "held"))).await.unwrap();
        fleet.yard.next(BackendOperation::Create, mishap);
        assert!(fleet.world.until(a.acquire(session("u", "t"))).await.is_err());
        assert_eq!(a.status().slots.0, 2);
        // As long as a create may take, and the horizon of what was found.
        fleet.world.pass(Duration::from_secs(150)).await;
        assert_eq!((a.status().slots.0, fleet.leases_of("a").len()), (1, 1));
        let next = fleet.world.until(a.acquire(session("u", "t"))).await.unwrap();
        let full =
            fleet.world.until(a.acquire(session("u", "one more").within(Duration::from_secs(4)))).await;
        assert!(matches!(full, Err(AcquireError::AtCapacity { .. })), "{full:?}");
        assert_eq!((held.is_lost(), next.is_lost(), a.status().slots.0), (None, None, 2));
    }
}

#[tokio::test]
async fn z1_the_next_acquire_finds_what_a_create_that_panicked_has_made() {
    for mishap in PANICS {
        let fleet = Fleet::new();
        let a = one_slot(&fleet).await;
        fleet.yard.next(BackendOperation::Create, mishap);
        assert!(fleet.world.until(a.acquire(session("u", "t"))).await.is_err());
        let next = fleet.world.until(a.acquire(session("u", "t"))).await.unwrap();
        let there: Vec<_> = fleet.yard.instances().into_iter().map(|info| info.instance).collect();
        assert_eq!(there, [next.instance().clone()]);
        fleet.world.pass(HORIZON * 3).await;
        assert_eq!((next.is_lost(), a.status().slots.0), (None, 1));
    }
}

#[tokio::test]
async fn z1_a_create_of_which_nothing_came_is_let_go_of_when_none_may_be_on_its_way_any_more() {
    let fleet = Fleet::new();
    let a = one_slot(&fleet).await;
    fleet.yard.next(BackendOperation::Create, Mishap::Panics);
    assert!(fleet.world.until(a.acquire(session("u", "t"))).await.is_err());
    fleet.world.pass(Duration::from_secs(50)).await;
    assert_eq!((a.status().slots.0, a.status().sandboxes[0].state), (1, SandboxState::Unresolved));
    fleet.world.pass(Duration::from_secs(20)).await;
    assert_eq!((a.status().slots.0, a.status().sandboxes.len(), fleet.leases_of("a").len()), (0, 0, 0));
}

#[tokio::test]
async fn z3_what_panicked_before_it_was_ready_is_never_handed_out() {
    let fleet = Fleet::new();
    let a = fleet.gateway("a").await;
    fleet.yard.next(BackendOperation::WaitReady, Mishap::Panics);
    let error = fleet.world.until(a.acquire(session("u", "t"))).await.unwrap_err();
    assert!(panicked(&error), "{error:?}");
    fleet.world.settle().await;
    assert_eq!((fleet.yard.instances(), a.status().slots.0, fleet.leases_of("a")), (vec![], 0, vec![]));
}

#[tokio::test]
async fn h11_a_look_that_panicked_is_no_answer_and_takes_nothing_away() {
    let fleet = Fleet::new();
    let a = fleet.gateway("a").await;
    let held = fleet.world.until(a.acquire(session("u", "t"))).await.unwrap();
    fleet.yard.next(BackendOperation::Inspect, Mishap::Panics);
    let again = fleet.world.until(a.acquire(session("u", "t"))).await.unwrap();
    assert_eq!((again.instance(), held.is_lost()), (held.instance(), None));
}

#[tokio::test]
async fn k4_a_stop_that_panicked_keeps_its_sandbox_tracked_until_it_is_finished() {
    for operation in [BackendOperation::Condemn, BackendOperation::Destroy] {
        for mishap in [Mishap::Panics, Mishap::HappensAndPanics] {
            let fleet = Fleet::new();
            let a = fleet.gateway("a").await;
            let id = fleet.world.until(a.acquire(session("u", "t"))).await.unwrap().id().clone();
            fleet.world.pass(HORIZON).await;
            fleet.yard.next(operation, mishap.clone());
            assert!(fleet.world.until(a.destroy(&id)).await.is_err());
            assert_eq!((a.status().sandboxes.len(), a.status().slots.0), (1, 1), "{operation}");
            assert_eq!(fleet.store("look").inspect(&id).unwrap(), None, "the marker is let go of (K3)");
            fleet.world.pass(Duration::from_secs(600)).await;
            assert_eq!((fleet.yard.instances(), a.status().slots.0), (vec![], 0), "{operation}");
        }
    }
}

#[tokio::test]
async fn z3_a_store_that_panics_in_the_middle_of_a_stop_ends_that_stop_alone() {
    let fleet = Fleet::new();
    let a = fleet.gateway("a").await;
    let id = fleet.world.until(a.acquire(session("u", "t"))).await.unwrap().id().clone();
    fleet.world.pass(HORIZON).await;
    let mut told = a.events();
    // The first claim goes through, and the one that asks once more does not.
    let open = Gate::new();
    open.open();
    fleet.script.next("a", Op::Claim, Trouble::Waits(open));
    fleet.script.next("a", Op::Claim, Trouble::Panics);
    assert!(fleet.world.until(a.destroy(&id)).await.is_err());
    let doing = std::iter::from_fn(|| told.try_next())
        .find_map(|event| if let Event::Panicked { doing, .. } = event { Some(doing) } else { None });
    assert_eq!(doing, Some("stopping"));
    let left = fleet.store("look").inspect(&id).unwrap().map(|lease| lease.phase);
    assert_ne!(left, Some(Phase::Teardown));
    assert_eq!(a.status().sandboxes[0].state, SandboxState::Condemned);
}
