//! Stops, step by step: who may begin one, what it asks before it does what can't be undone, and how it ends.

use std::time::Duration;

use leasehold::{
    AcquireError, BackendOperation, DestroyError, Intent, LostReason, OwnershipStore, Phase, Provider,
    Refusal, SandboxId, SandboxInfo, SandboxState,
};

use crate::ledger::{Op, Trouble};
use crate::session;
use crate::world::Fleet;
use crate::yard::{Gate, Mishap};

const HORIZON: Duration = Duration::from_secs(50);

/// One that is warm and may be reaped.
async fn warm(fleet: &Fleet, a: &Provider) -> SandboxId {
    let id = fleet.world.until(a.acquire(session("u", "t"))).await.unwrap().id().clone();
    fleet.world.pass(HORIZON).await;
    id
}

fn destroy(a: &Provider, id: &SandboxId) -> tokio::task::JoinHandle<Result<(), DestroyError>> {
    let (a, id) = (a.clone(), id.clone());
    tokio::spawn(async move { a.destroy(&id).await })
}

#[tokio::test]
async fn k1_a_stop_whose_lease_is_a_peers_or_of_another_tenure_is_not_begun() {
    for wiped in [false, true] {
        let fleet = Fleet::new();
        let a = fleet.gateway("a").await;
        let id = warm(&fleet, &a).await;
        if wiped {
            let _ = fleet.store("operator").discard(&id, true).unwrap();
            // Another process in the name of the same owner has planted another tenure.
            let _ = fleet.store("a").claim(&id, Intent::Keep).unwrap();
        } else {
            let _ = fleet.store("b").take(&id).unwrap();
        }
        assert!(matches!(a.destroy(&id).await, Err(DestroyError::NotOurs)), "wiped: {wiped}");
        assert_eq!(fleet.yard.calls(BackendOperation::Condemn), 0);
        assert_eq!(fleet.yard.calls(BackendOperation::Destroy), 0);
        assert_eq!(fleet.store("look").inspect(&id).unwrap().unwrap().phase, Phase::Held);
    }
}

#[tokio::test]
async fn k1_a_stop_whose_tenure_is_over_is_not_begun_and_plants_nothing() {
    let fleet = Fleet::new();
    let a = fleet.gateway("a").await;
    let id = warm(&fleet, &a).await;
    let _ = fleet.store("operator").discard(&id, true).unwrap();
    assert!(matches!(a.destroy(&id).await, Err(DestroyError::NotOurs)));
    assert_eq!(fleet.yard.calls(BackendOperation::Condemn), 0);
    assert_eq!(fleet.store("look").inspect(&id).unwrap(), None);
    assert_eq!(a.status().sandboxes[0].state, SandboxState::Unowned);
}

#[tokio::test]
async fn k2_what_is_being_acquired_or_used_here_is_not_reserved() {
    let fleet = Fleet::new();
    let a = fleet.gateway("a").await;
    let id = warm(&fleet, &a).await;
    let gate = Gate::new();
    fleet.yard.next(BackendOperation::Inspect, Mishap::Waits(gate.clone()));
    let asked = tokio::spawn({
        let a = a.clone();
        async move { a.acquire(session("u", "t")).await }
    });
    gate.arrived().await;
    assert!(matches!(a.destroy(&id).await, Err(DestroyError::Refused(Refusal::BeingAcquired))));
    gate.open();
    let held = fleet.world.until(asked).await.unwrap().unwrap();
    assert!(matches!(a.destroy(&id).await, Err(DestroyError::Refused(Refusal::InUse))));
    assert_eq!((held.is_lost(), fleet.yard.calls(BackendOperation::Condemn)), (None, 0));
    // Nor does the reaper, warm timeout or not.
    fleet.world.pass(Duration::from_secs(500)).await;
    assert_eq!(held.is_lost(), None);
}

#[tokio::test]
async fn k3_the_release_follows_the_answer_of_the_last_refresh() {
    let fleet = Fleet::new();
    let a = fleet.gateway_with("a", |config| config.stop_deadline = Duration::from_secs(900)).await;
    let id = warm(&fleet, &a).await;
    let (stop, beat) = (Gate::new(), Gate::new());
    fleet.yard.next(BackendOperation::Destroy, Mishap::Waits(stop.clone()));
    fleet.script.next("a", Op::Heartbeat, Trouble::Waits(beat.clone()));
    let stopping = destroy(&a, &id);
    stop.arrived().await;
    fleet.world.pass(Duration::from_secs(11)).await;
    beat.arrived().await;
    stop.open();
    fleet.world.settle().await;
    assert_eq!(fleet.yard.instances(), []);
    assert_eq!(fleet.script.calls("a", Op::ReleaseTenure), 0, "a refresh is under way");
    assert!(fleet.store("look").inspect(&id).unwrap().is_some());
    beat.open();
    fleet.world.until(stopping).await.unwrap().unwrap();
    assert_eq!(fleet.store("look").inspect(&id).unwrap(), None);
    fleet.world.pass(Duration::from_secs(30)).await;
    assert_eq!(fleet.store("look").inspect(&id).unwrap(), None, "nothing plants it anew");
}

#[tokio::test]
async fn k3_a_late_refresh_does_not_plant_the_teardown_anew() {
    let fleet = Fleet::new();
    let a = fleet.gateway_with("a", |config| config.stop_deadline = Duration::from_secs(900)).await;
    let id = warm(&fleet, &a).await;
    let stop = Gate::new();
    fleet.yard.next(BackendOperation::Destroy, Mishap::Waits(stop.clone()));
    let stopping = destroy(&a, &id);
    stop.arrived().await;
    let _ = fleet.store("operator").discard(&id, true).unwrap();
    fleet.world.pass(Duration::from_secs(25)).await;
    assert!(fleet.script.calls("a", Op::Heartbeat) >= 2);
    assert_eq!(fleet.store("look").inspect(&id).unwrap(), None);
    stop.open();
    fleet.world.until(stopping).await.unwrap().unwrap();
}

#[tokio::test]
async fn k3_a_stop_that_fails_or_panics_releases_its_teardown() {
    for mishap in [Mishap::Fails, Mishap::Panics] {
        let fleet = Fleet::new();
        let a = fleet.gateway("a").await;
        let id = warm(&fleet, &a).await;
        fleet.yard.next(BackendOperation::Destroy, mishap);
        a.destroy(&id).await.unwrap_err();
        assert_eq!(fleet.store("look").inspect(&id).unwrap(), None);
        assert_eq!(a.status().sandboxes[0].state, SandboxState::Condemned, "K4: it stays tracked");
    }
}

#[tokio::test]
async fn k4_a_stop_that_was_refused_or_whose_claim_got_no_answer_keeps_it_tracked() {
    let fleet = Fleet::new();
    let a = fleet.gateway("a").await;
    let id = warm(&fleet, &a).await;
    fleet.script.next("a", Op::Claim, Trouble::Fails);
    assert!(matches!(a.destroy(&id).await, Err(DestroyError::StoreUnknown(_))));
    assert_eq!((a.status().sandboxes[0].state, a.status().slots.0), (SandboxState::Warm, 1));
    // It took effect: the marker is our own, and runs out.
    fleet.script.next("a", Op::Claim, Trouble::LosesItsAnswer);
    assert!(matches!(a.destroy(&id).await, Err(DestroyError::StoreUnknown(_))));
    assert_eq!(fleet.store("look").inspect(&id).unwrap().unwrap().phase, Phase::Teardown);
    fleet.world.pass(Duration::from_secs(12)).await;
    assert_eq!((a.status().sandboxes[0].state, a.status().slots.0), (SandboxState::Unowned, 1));
    assert_eq!(fleet.yard.instances().len(), 1);
    // Adopted after the grace, and may be used again.
    fleet.world.pass(Duration::from_secs(150)).await;
    assert_eq!(a.status().sandboxes[0].state, SandboxState::Warm);
    let _ = fleet.store("b").take(&id).unwrap();
    assert!(matches!(a.destroy(&id).await, Err(DestroyError::NotOurs)));
    assert_eq!((a.status().sandboxes.len(), a.status().slots.0), (1, 1), "the next renewal tells");
}

#[tokio::test]
async fn k4_a_success_untracks_it_before_anybody_gets_in() {
    let fleet = Fleet::new();
    let a = fleet.gateway("a").await;
    let id = warm(&fleet, &a).await;
    let gate = Gate::new();
    fleet.script.next("a", Op::ReleaseTenure, Trouble::Waits(gate.clone()));
    let stopping = destroy(&a, &id);
    gate.arrived().await;
    assert_eq!(fleet.yard.instances(), []);
    let asked = tokio::spawn({
        let a = a.clone();
        async move { a.acquire(session("u", "t")).await }
    });
    fleet.world.pass(Duration::from_secs(1)).await;
    assert!(!asked.is_finished());
    assert_eq!((a.status().sandboxes[0].state, a.status().slots.0), (SandboxState::Stopping, 1));
    gate.open();
    fleet.world.until(stopping).await.unwrap().unwrap();
    let fresh = fleet.world.until(asked).await.unwrap().unwrap();
    assert_eq!((fleet.yard.instances().len(), fresh.is_lost()), (1, None));
    assert_eq!(fleet.yard.calls(BackendOperation::Create), 2);
}

#[tokio::test]
async fn k5_a_stop_acts_on_the_instance_it_was_decided_for_and_not_on_a_name() {
    let fleet = Fleet::new();
    let a = fleet.gateway("a").await;
    let id = warm(&fleet, &a).await;
    let gate = Gate::new();
    fleet.yard.next(BackendOperation::Condemn, Mishap::Waits(gate.clone()));
    let stopping = destroy(&a, &id);
    gate.arrived().await;
    // It ends by itself, and somebody makes another under its name.
    let old = fleet.yard.instances().remove(0);
    fleet.yard.vanish(&old.instance);
    let other = SandboxInfo { instance: leasehold::InstanceId::new("other"), ..old.clone() };
    fleet.yard.put(other.clone());
    gate.open();
    fleet.world.until(stopping).await.unwrap().unwrap();
    assert_eq!(fleet.yard.called(BackendOperation::Destroy), [old.instance.as_str()]);
    assert_eq!(fleet.yard.instances(), [other]);
}

#[tokio::test]
async fn k6_one_that_is_held_and_idle_is_reaped_and_its_holders_are_told() {
    let fleet = Fleet::new();
    let a = fleet.gateway("a").await;
    let held = fleet.world.until(a.acquire(session("u", "t"))).await.unwrap();
    fleet.world.pass(Duration::from_secs(300)).await;
    held.touch();
    fleet.world.pass(Duration::from_secs(590)).await;
    assert_eq!(held.is_lost(), None);
    let told = tokio::spawn({
        let view = held.view();
        async move { view.lost().await }
    });
    fleet.world.pass(Duration::from_secs(20)).await;
    assert_eq!(told.await.unwrap(), LostReason::Stopped);
    assert_eq!(fleet.yard.instances(), []);
    assert!(a.get(held.id()).is_none());
}

#[tokio::test]
async fn k7_what_cannot_be_found_out_is_neither_handed_out_nor_made_anew_nor_stopped() {
    let fleet = Fleet::new();
    let a = fleet.gateway("a").await;
    fleet.yard.next(BackendOperation::Discover, Mishap::Fails);
    let error = fleet.world.until(a.acquire(session("u", "t"))).await.unwrap_err();
    assert!(matches!(error, AcquireError::Backend(_)), "{error}");
    assert_eq!(fleet.yard.calls(BackendOperation::Create), 0);
    assert!(a.status().sandboxes.is_empty() && fleet.leases_of("a").is_empty());
    let id = warm(&fleet, &a).await;
    for mishap in [Mishap::Fails, Mishap::LosesItsAnswer] {
        fleet.yard.next(BackendOperation::Condemn, mishap);
        let refused = a.destroy(&id).await;
        assert!(matches!(refused, Err(DestroyError::Backend(_))), "{refused:?}");
        assert_eq!(fleet.yard.calls(BackendOperation::Destroy), 0);
        assert_eq!(a.status().sandboxes.len(), 1);
        fleet.world.pass(Duration::from_secs(150)).await;
    }
}

#[tokio::test]
async fn k8_a_stop_begins_only_while_enough_is_left_of_its_lease() {
    let fleet = Fleet::new();
    let a = fleet.gateway("a").await;
    let id = warm(&fleet, &a).await;
    let gate = Gate::new();
    fleet.script.next("a", Op::Claim, Trouble::AnswersLate(gate.clone()));
    let stopping = destroy(&a, &id);
    gate.arrived().await;
    fleet.world.pass(Duration::from_secs(35)).await;
    gate.open();
    assert!(matches!(fleet.world.until(stopping).await.unwrap(), Err(DestroyError::NoTime)));
    assert_eq!(fleet.yard.calls(BackendOperation::Condemn), 0);
    assert_eq!(a.status().sandboxes.len(), 1);
}

#[tokio::test]
async fn k8_a_stop_condemns_before_it_asks_again_and_destroys_last() {
    let fleet = Fleet::new();
    let a = fleet.gateway("a").await;
    let id = warm(&fleet, &a).await;
    fleet.world.journal();
    a.destroy(&id).await.unwrap();
    let whole =
        ["store: Claim", "engine: condemn", "store: Claim", "engine: destroy", "store: ReleaseTenure"];
    assert_eq!(fleet.world.journal(), whole);
}

#[tokio::test]
async fn k8_what_was_condemned_without_permission_is_finished_by_the_owner_of_the_id() {
    let fleet = Fleet::new();
    let (a, b) = (fleet.gateway("a").await, fleet.gateway("b").await);
    let id = warm(&fleet, &a).await;
    let gate = Gate::new();
    fleet.yard.next(BackendOperation::Condemn, Mishap::AnswersLate(gate.clone()));
    let stopping = destroy(&a, &id);
    gate.arrived().await;
    let _ = fleet.store("operator").discard(&id, true).unwrap();
    // A peer is asked for it, and finds nothing under the name.
    let there = fleet.world.until(b.acquire(session("u", "t"))).await.unwrap();
    gate.open();
    assert!(matches!(fleet.world.until(stopping).await.unwrap(), Err(DestroyError::NotOurs)));
    assert_eq!((fleet.yard.instances().len(), fleet.yard.calls(BackendOperation::Destroy)), (2, 0));
    fleet.world.pass(Duration::from_secs(40)).await;
    assert_eq!(fleet.yard.instances().len(), 2, "K9's horizon is not over");
    fleet.world.pass(Duration::from_secs(60)).await;
    let left: Vec<_> = fleet.yard.instances().into_iter().map(|info| info.instance).collect();
    assert_eq!((left, there.is_lost()), (vec![there.instance().clone()], None));
}

#[tokio::test]
async fn k9_the_horizon_begins_with_the_answer_that_gave_the_tenure() {
    let fleet = Fleet::new();
    let (a, b) = (fleet.gateway("a").await, fleet.gateway("b").await);
    let there = fleet.world.until(a.acquire(session("u", "t"))).await.unwrap();
    fleet.world.pass(HORIZON).await;
    let (id, gate) = (there.id().clone(), Gate::new());
    fleet.script.next("b", Op::Take, Trouble::AnswersLate(gate.clone()));
    let asked = tokio::spawn({
        let b = b.clone();
        async move { b.acquire(session("u", "t")).await.map(drop) }
    });
    gate.arrived().await;
    fleet.world.pass(Duration::from_secs(15)).await;
    gate.open();
    fleet.world.until(asked).await.unwrap().unwrap();
    fleet.world.pass(Duration::from_secs(45)).await;
    assert!(matches!(b.destroy(&id).await, Err(DestroyError::Refused(Refusal::TooYoung(_)))));
    fleet.world.pass(Duration::from_secs(6)).await;
    b.destroy(&id).await.unwrap();
}

#[tokio::test]
async fn k9_a_take_that_replaced_the_very_fence_known_here_does_not_begin_it_anew() {
    let fleet = Fleet::new();
    let a = fleet.gateway("a").await;
    let id = warm(&fleet, &a).await;
    drop(fleet.world.until(a.acquire(session("u", "t"))).await.unwrap());
    a.destroy(&id).await.unwrap();
}

#[tokio::test]
async fn k9_a_ttl_without_room_for_two_renewals_and_a_slow_store_is_refused() {
    let fleet = Fleet::new();
    let mut config = fleet.config();
    config.ownership = leasehold::OwnershipConfig::new(Duration::from_secs(20), 2.0).unwrap();
    let error = fleet.builder("a", config).build().map(drop).unwrap_err().to_string();
    assert!(error.contains("two renewal intervals"), "{error}");
}
