//! Leases of nothing, which calls without an answer leave behind: let go of as soon as the store answers again (Z1).

use std::time::Duration;

use leasehold::{AcquireError, BackendOperation, OwnershipStore, SandboxId, SandboxState, ShutdownMode};

use crate::ledger::{Op, Trouble};
use crate::session;
use crate::world::Fleet;
use crate::yard::{Gate, Mishap};

const HORIZON: Duration = Duration::from_secs(50);
/// Two of the reaper's ticks.
const TICKS: Duration = Duration::from_secs(10);

/// What the lost take left in the store.
fn left(fleet: &Fleet) -> Option<SandboxId> {
    let all = fleet.leases_of("a");
    assert!(all.len() <= 1, "{all:?}");
    all.into_iter().next()
}

#[tokio::test]
async fn z1_a_take_without_an_answer_whose_release_failed_too_is_released_at_a_later_tick() {
    let fleet = Fleet::new();
    let a = fleet.gateway("a").await;
    fleet.script.next("a", Op::Take, Trouble::LosesItsAnswer);
    fleet.script.next("a", Op::ReleaseTenure, Trouble::Fails);
    let answer = fleet.world.until(a.acquire(session("u", "t"))).await;
    assert!(matches!(answer, Err(AcquireError::StoreUnknown(_))), "{answer:?}");
    assert!(left(&fleet).is_some() && a.status().sandboxes.is_empty());
    fleet.script.next("a", Op::ReleaseTenure, Trouble::Fails);
    fleet.world.pass(TICKS * 2).await;
    assert_eq!(left(&fleet), None);
}

#[tokio::test]
async fn z1_a_take_whose_fate_could_not_be_found_out_is_found_out_at_a_later_tick() {
    let fleet = Fleet::new();
    let a = fleet.gateway("a").await;
    a.pause_reaping(HORIZON, "what is left of an acquire is let go of all the same");
    fleet.script.next("a", Op::Take, Trouble::LosesItsAnswer);
    fleet.script.next("a", Op::Renew, Trouble::Fails);
    assert!(fleet.world.until(a.acquire(session("u", "t"))).await.is_err());
    assert!(left(&fleet).is_some());
    fleet.script.next("a", Op::Inspect, Trouble::Fails);
    fleet.script.next("a", Op::ReleaseTenure, Trouble::Fails);
    fleet.world.pass(TICKS * 2).await;
    assert_eq!(left(&fleet), None);
    let calls = fleet.script.calls("a", Op::Inspect);
    fleet.world.pass(HORIZON).await;
    assert_eq!(fleet.script.calls("a", Op::Inspect), calls, "it is settled");
}

#[tokio::test]
async fn z1_a_take_that_takes_effect_after_its_failure_is_released_too() {
    let fleet = Fleet::new();
    let a = fleet.gateway("a").await;
    let gate = Gate::new();
    fleet.script.next("a", Op::Take, Trouble::HappensLate(gate.clone()));
    assert!(fleet.world.until(a.acquire(session("u", "t"))).await.is_err());
    fleet.world.pass(TICKS).await;
    assert_eq!(left(&fleet), None);
    gate.open();
    fleet.world.settle().await;
    assert!(left(&fleet).is_some());
    fleet.world.pass(TICKS).await;
    assert_eq!(left(&fleet), None);
}

#[tokio::test]
async fn z1_a_take_that_panicked_leaves_no_lease_of_nothing() {
    let fleet = Fleet::new();
    let a = fleet.gateway("a").await;
    fleet.script.next("a", Op::Take, Trouble::HappensAndPanics);
    let answer = fleet.world.until(a.acquire(session("u", "t"))).await;
    assert!(matches!(answer, Err(AcquireError::Panicked)), "{answer:?}");
    assert!(left(&fleet).is_some());
    fleet.world.pass(TICKS).await;
    assert_eq!(left(&fleet), None);
}

#[tokio::test]
async fn z1_asking_again_ends_when_the_lease_has_run_out_by_itself() {
    let fleet = Fleet::new();
    let a = fleet.gateway("a").await;
    fleet.script.next("a", Op::Take, Trouble::LosesItsAnswer);
    (0..100).for_each(|_| fleet.script.next("a", Op::ReleaseTenure, Trouble::Fails));
    assert!(fleet.world.until(a.acquire(session("u", "t"))).await.is_err());
    fleet.world.pass(HORIZON).await;
    let calls = fleet.script.calls("a", Op::ReleaseTenure);
    assert!((5..=12).contains(&calls), "once a tick: {calls}");
    fleet.world.pass(HORIZON * 2).await;
    assert_eq!(fleet.script.calls("a", Op::ReleaseTenure), calls);
}

#[tokio::test]
async fn z1_what_a_later_acquire_got_is_never_released_for_it() {
    // Before the tick, and while it is under way.
    for beside in [false, true] {
        for known in [false, true] {
            let fleet = Fleet::new();
            let a = fleet.gateway("a").await;
            fleet.script.next("a", Op::Take, Trouble::LosesItsAnswer);
            let unknown = if known { Op::ReleaseTenure } else { Op::Renew };
            fleet.script.next("a", unknown, Trouble::Fails);
            assert!(fleet.world.until(a.acquire(session("u", "t"))).await.is_err());
            let gate = Gate::new();
            if beside {
                fleet.script.next("a", Op::ReleaseTenure, Trouble::Waits(gate.clone()));
                fleet.world.pass(TICKS).await;
                gate.arrived().await;
            }
            let asked = tokio::spawn({
                let a = a.clone();
                async move { a.acquire(session("u", "t")).await }
            });
            fleet.world.settle().await;
            gate.open();
            let held = fleet.world.until(asked).await.unwrap().unwrap();
            let fence = a.status().sandboxes[0].fence;
            fleet.world.pass(HORIZON * 2).await;
            let lease = fleet.store("look").inspect(held.id()).unwrap().unwrap();
            assert_eq!((lease.owner.as_str(), lease.fence), ("a", fence), "{beside} {known}");
            assert_eq!(held.is_lost(), None);
        }
    }
}

#[tokio::test]
async fn z1_a_lease_that_is_found_for_what_is_warm_here_is_kept_for_it() {
    let fleet = Fleet::new();
    let a = fleet.gateway("a").await;
    let id = fleet.world.until(a.acquire(session("u", "t"))).await.unwrap().id().clone();
    // The store loses the lease; the sandbox is here and nobody's.
    let _ = fleet.store("operator").discard(&id, true).unwrap();
    fleet.world.pass(TICKS).await;
    assert_eq!(a.status().sandboxes[0].state, SandboxState::Unowned);
    fleet.script.next("a", Op::Take, Trouble::LosesItsAnswer);
    fleet.script.next("a", Op::Renew, Trouble::Fails);
    assert!(fleet.world.until(a.acquire(session("u", "t"))).await.is_err());
    fleet.world.pass(TICKS).await;
    let row = &a.status().sandboxes[0];
    assert_eq!((row.state, row.fence.is_some(), left(&fleet)), (SandboxState::Warm, true, Some(id)));
    // And it is reaped in its time.
    fleet.world.pass(Duration::from_secs(400)).await;
    assert_eq!((fleet.yard.instances(), left(&fleet)), (vec![], None));
}

#[tokio::test]
async fn k3_a_teardown_whose_release_failed_is_let_go_of_at_a_later_tick() {
    let fleet = Fleet::new();
    let a = fleet.gateway("a").await;
    let id = fleet.world.until(a.acquire(session("u", "t"))).await.unwrap().id().clone();
    fleet.world.pass(HORIZON).await;
    fleet.script.next("a", Op::ReleaseTenure, Trouble::Fails);
    fleet.world.until(a.destroy(&id)).await.unwrap();
    assert_eq!(left(&fleet), Some(id));
    fleet.world.pass(TICKS).await;
    assert_eq!(left(&fleet), None);
}

#[tokio::test]
async fn z2_a_shutdown_lets_leases_of_nothing_go_or_says_that_it_could_not() {
    for answers in [true, false] {
        let fleet = Fleet::new();
        let a = fleet.gateway("a").await;
        fleet.script.next("a", Op::Take, Trouble::LosesItsAnswer);
        let failures = if answers { 1 } else { 9 };
        (0..failures).for_each(|_| fleet.script.next("a", Op::ReleaseTenure, Trouble::Fails));
        assert!(fleet.world.until(a.acquire(session("u", "t"))).await.is_err());
        let report = fleet.world.until(a.shutdown(ShutdownMode::HandOver, TICKS)).await;
        assert_eq!((report.is_clean(), report.not_released), (answers, usize::from(!answers)), "{report:?}");
        assert_eq!(left(&fleet).is_none(), answers);
    }
}

#[tokio::test]
async fn z1_a_suspect_that_came_to_nothing_leaves_no_lease_either() {
    let fleet = Fleet::new();
    let a = fleet.gateway("a").await;
    fleet.yard.next(BackendOperation::Create, Mishap::Fails);
    assert!(fleet.world.until(a.acquire(session("u", "t"))).await.is_err());
    fleet.script.next("a", Op::ReleaseTenure, Trouble::Fails);
    fleet.world.pass(Duration::from_secs(75)).await;
    assert_eq!((left(&fleet), a.status().sandboxes.len()), (None, 0));
}

#[tokio::test]
async fn d2_a_lease_of_nothing_is_an_owner_and_starts_the_grace_anew() {
    let fleet = Fleet::new();
    let b = fleet.builder("b", fleet.config()).build().unwrap();
    let id = fleet.world.until(b.acquire(session("u", "t"))).await.unwrap().id().clone();
    let _ = fleet.store("operator").discard(&id, true).unwrap();
    // Watched from now on: it would be adopted by the look after a minute.
    let a = fleet.gateway("a").await;
    fleet.world.pass(Duration::from_secs(40)).await;
    fleet.script.next("a", Op::Take, Trouble::LosesItsAnswer);
    fleet.script.next("a", Op::Renew, Trouble::Fails);
    assert!(fleet.world.until(a.acquire(session("u", "t"))).await.is_err());
    fleet.world.pass(Duration::from_secs(40)).await;
    assert_eq!((left(&fleet), a.status().sandboxes.len()), (None, 0));
    fleet.world.pass(Duration::from_secs(60)).await;
    assert_eq!((left(&fleet), a.status().sandboxes.len()), (Some(id), 1));
}
