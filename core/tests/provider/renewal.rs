//! Leases renewed, lost, run out, and claimed again.

use std::time::Duration;

use leasehold::{
    Acquire, BackendOperation, DestroyError, LostReason, OwnershipStore, Phase, Provider, Refusal, Sandbox,
    SandboxId, SandboxState,
};

use crate::ledger::{Op, Trouble};
use crate::session;
use crate::world::Fleet;
use crate::yard::{Gate, Mishap};

type Asking = tokio::task::JoinHandle<Result<Sandbox, leasehold::AcquireError>>;

fn ask(a: &Provider) -> Asking {
    let a = a.clone();
    tokio::spawn(async move { a.acquire(session("u", "t")).await })
}

fn wipe(fleet: &Fleet, id: &SandboxId) {
    let _ = fleet.store("operator").discard(id, true).unwrap();
}

fn owner(fleet: &Fleet, id: &SandboxId) -> Option<String> {
    fleet.store("look").inspect(id).unwrap().map(|lease| lease.owner.to_string())
}

#[tokio::test]
async fn n1_it_has_a_thread_of_its_own_and_goes_on_while_nothing_is_reaped() {
    let fleet = Fleet::new();
    let a = fleet
        .gateway_with("a", |config| {
            (config.idle_timeout, config.warm_timeout) = (Duration::ZERO, Duration::ZERO);
            config.reaping_paused = true;
        })
        .await;
    assert_eq!(fleet.world.driven(), ["renewal"]);
    let held = fleet.world.until(a.acquire(session("u", "t"))).await.unwrap();
    drop(fleet.world.until(a.acquire(session("u", "warm"))).await.unwrap());
    fleet.world.pass(Duration::from_secs(500)).await;
    assert_eq!((held.is_lost(), fleet.leases_of("a").len()), (None, 2));
}

#[tokio::test]
async fn n1_a_call_that_hangs_delays_no_lease_outside_its_chunk() {
    let fleet = Fleet::new();
    let a = fleet.gateway_with("a", |config| config.capacity = None).await;
    let mut held = Vec::new();
    for _ in 0..1_200 {
        held.push(fleet.world.until(a.acquire(Acquire::anonymous())).await.unwrap());
    }
    // The call that has the first of them hangs for good; the others are in another.
    let (gate, ids): (_, Vec<_>) = (Gate::new(), held.iter().map(|held| held.id().clone()).collect());
    fleet.script.next_of("a", Op::RenewMany, &ids[0], Trouble::Waits(gate.clone()));
    fleet.world.pass(Duration::from_secs(12)).await;
    gate.arrived().await;
    let left = |fleet: &Fleet, id: &SandboxId| fleet.store("look").inspect(id).unwrap().unwrap().left;
    assert!(left(&fleet, &ids[0]) <= Duration::from_secs(28));
    let renewed = ids.iter().filter(|id| left(&fleet, id) > Duration::from_secs(28)).count();
    assert!((200..1_200).contains(&renewed), "{renewed}");
    gate.open();
    fleet.world.pass(Duration::from_secs(12)).await;
    assert!(held.iter().all(|held| held.is_lost().is_none()));
}

#[tokio::test]
async fn n1_ticks_neither_overlap_nor_catch_up_in_a_burst() {
    let fleet = Fleet::new();
    let a = fleet.gateway("a").await;
    let held = fleet.world.until(a.acquire(session("u", "t"))).await.unwrap();
    let gate = Gate::new();
    fleet.script.next("a", Op::RenewMany, Trouble::Waits(gate.clone()));
    fleet.world.pass(Duration::from_secs(12)).await;
    gate.arrived().await;
    let before = fleet.script.calls("a", Op::RenewMany);
    fleet.world.pass(Duration::from_secs(25)).await;
    assert_eq!(fleet.script.calls("a", Op::RenewMany), before, "one at a time");
    gate.open();
    fleet.world.pass(Duration::from_secs(1)).await;
    assert_eq!(fleet.script.calls("a", Op::RenewMany), before, "none at once after it");
    fleet.world.pass(Duration::from_secs(12)).await;
    let after = fleet.script.calls("a", Op::RenewMany) - before;
    assert!((1..=2).contains(&after), "{after} in twelve seconds");
    assert_eq!(held.is_lost(), None);
}

#[tokio::test]
async fn n2_lost_while_warm_is_forgotten_and_lost_in_use_is_told_and_forgotten_by_the_last() {
    let fleet = Fleet::new();
    let a = fleet.gateway("a").await;
    let held = fleet.world.until(a.acquire(session("u", "t"))).await.unwrap();
    let other = fleet.world.until(a.acquire(session("u", "t"))).await.unwrap();
    let warm = fleet.world.until(a.acquire(session("u", "warm"))).await.unwrap().id().clone();
    for id in [held.id(), &warm] {
        let _ = fleet.store("b").take(id).unwrap();
    }
    fleet.world.pass(Duration::from_secs(12)).await;
    let rows = a.status().sandboxes;
    assert_eq!((rows.len(), rows[0].state), (1, SandboxState::Lost));
    assert_eq!(held.is_lost(), Some(LostReason::Taken));
    assert!(a.get(held.id()).is_none());
    held.release().await;
    assert_eq!(a.status().sandboxes.len(), 1);
    other.release().await;
    assert_eq!((a.status().sandboxes.len(), a.status().slots.0), (0, 0));
    assert_eq!((fleet.yard.instances().len(), fleet.yard.calls(BackendOperation::Condemn)), (2, 0));
    assert_eq!(fleet.leases_of("b").len(), 2);
}

#[tokio::test]
async fn n2_lapsed_while_it_is_made_is_claimed_again_and_lapsed_while_warm_is_not() {
    let fleet = Fleet::new();
    let a = fleet.gateway_with("a", |config| config.create_deadline = Duration::from_secs(300)).await;
    let warm = fleet.world.until(a.acquire(session("u", "warm"))).await.unwrap().id().clone();
    let gate = Gate::new();
    fleet.yard.next(BackendOperation::Create, Mishap::Waits(gate.clone()));
    let asked = ask(&a);
    gate.arrived().await;
    let made = fleet.leases_of("a").into_iter().find(|id| *id != warm).unwrap();
    for id in [&warm, &made] {
        wipe(&fleet, id);
    }
    fleet.world.pass(Duration::from_secs(12)).await;
    assert_eq!((owner(&fleet, &made).as_deref(), owner(&fleet, &warm)), (Some("a"), None));
    // Neither claimed nor reaped before the grace of a TTL and an interval is over, although it was warm for long.
    fleet.world.pass(Duration::from_secs(35)).await;
    assert_eq!((owner(&fleet, &warm), fleet.yard.instances().len()), (None, 1));
    gate.open();
    let held = fleet.world.until(asked).await.unwrap().unwrap();
    assert_eq!(held.is_lost(), None);
    fleet.world.pass(Duration::from_secs(60)).await;
    assert_eq!(owner(&fleet, &warm).as_deref(), Some("a"));
}

#[tokio::test]
async fn n2_a_lost_that_the_stop_of_this_owner_brings_changes_nothing() {
    let fleet = Fleet::new();
    let a = fleet.gateway_with("a", |config| config.stop_deadline = Duration::from_secs(900)).await;
    let id = fleet.world.until(a.acquire(session("u", "t"))).await.unwrap().id().clone();
    fleet.world.pass(Duration::from_secs(50)).await;
    let (late, stop) = (Gate::new(), Gate::new());
    fleet.script.next("a", Op::RenewMany, Trouble::Waits(late.clone()));
    fleet.world.pass(Duration::from_secs(12)).await;
    late.arrived().await;
    fleet.yard.next(BackendOperation::Destroy, Mishap::Waits(stop.clone()));
    let stopping = tokio::spawn({
        let (a, id) = (a.clone(), id.clone());
        async move { a.destroy(&id).await }
    });
    stop.arrived().await;
    late.open();
    fleet.world.pass(Duration::from_secs(15)).await;
    let row = a.status().sandboxes.remove(0);
    assert_eq!((row.state, row.instance.is_some(), a.status().slots.0), (SandboxState::Stopping, true, 1));
    assert_eq!(fleet.store("look").inspect(&id).unwrap().unwrap().phase, Phase::Teardown);
    stop.open();
    fleet.world.until(stopping).await.unwrap().unwrap();
    assert_eq!((a.status().sandboxes.len(), fleet.yard.instances().len()), (0, 0));
}

#[tokio::test]
async fn n3_what_the_store_does_not_say_is_kept_and_tried_again() {
    let fleet = Fleet::new();
    let a = fleet.gateway("a").await;
    let held = fleet.world.until(a.acquire(session("u", "t"))).await.unwrap();
    let warm = fleet.world.until(a.acquire(session("u", "warm"))).await.unwrap().id().clone();
    fleet.script.cut_off("a");
    fleet.world.pass(Duration::from_secs(25)).await;
    assert_eq!((held.is_lost(), a.status().sandboxes.len()), (None, 2));
    fleet.script.reconnect("a");
    fleet.world.pass(Duration::from_secs(12)).await;
    for id in [held.id(), &warm] {
        let lease = fleet.store("look").inspect(id).unwrap().unwrap();
        assert!(lease.left > Duration::from_secs(20), "{lease:?}");
    }
    assert_eq!(held.is_lost(), None);
}

#[tokio::test]
async fn n4_a_lost_whose_renewal_overlapped_a_take_says_nothing_and_is_asked_again_after_it() {
    let fleet = Fleet::new();
    let (a, b) = (fleet.gateway("a").await, fleet.gateway("b").await);
    let held = fleet.world.until(a.acquire(session("u", "t"))).await.unwrap();
    let there = fleet.world.until(b.acquire(session("u", "t"))).await.unwrap();
    // The renewal finds the peer's lease, and its answer is late.
    let (answer, take) = (Gate::new(), Gate::new());
    fleet.script.next("a", Op::RenewMany, Trouble::AnswersLate(answer.clone()));
    fleet.script.next("a", Op::Take, Trouble::AnswersLate(take.clone()));
    fleet.world.pass(Duration::from_secs(12)).await;
    answer.arrived().await;
    let asked = ask(&a);
    take.arrived().await;
    let (takes, asks) = (fleet.script.calls("a", Op::Take), fleet.script.calls("a", Op::Renew));
    answer.open();
    fleet.world.settle().await;
    assert_eq!(held.is_lost(), None, "it is ours again by now");
    assert_eq!(fleet.script.calls("a", Op::Renew), asks, "the take is still on its way");
    take.open();
    let again = fleet.world.until(asked).await.unwrap().unwrap();
    assert_eq!(fleet.script.calls("a", Op::Renew), asks + 1, "asked again once the take had answered");
    assert_eq!(fleet.script.calls("a", Op::Take), takes, "and no other take was sent");
    assert_eq!((held.is_lost(), again.is_lost()), (None, None));
    fleet.world.pass(Duration::from_secs(12)).await;
    assert_eq!((held.is_lost(), there.is_lost()), (None, Some(LostReason::Taken)));
}

#[tokio::test]
async fn n4_a_peer_that_took_it_right_after_the_take_is_noticed_before_the_hand_out() {
    let fleet = Fleet::new();
    let (a, b) = (fleet.gateway("a").await, fleet.gateway("b").await);
    let held = fleet.world.until(a.acquire(session("u", "t"))).await.unwrap();
    let _ = fleet.store("b").take(held.id()).unwrap();
    let (answer, take) = (Gate::new(), Gate::new());
    fleet.script.next("a", Op::RenewMany, Trouble::AnswersLate(answer.clone()));
    fleet.script.next("a", Op::Take, Trouble::AnswersLate(take.clone()));
    fleet.world.pass(Duration::from_secs(12)).await;
    answer.arrived().await;
    let asked = ask(&a);
    take.arrived().await;
    let there = fleet.world.until(b.acquire(session("u", "t"))).await.unwrap();
    answer.open();
    fleet.world.settle().await;
    let takes = fleet.script.calls("a", Op::Take);
    take.open();
    let again = fleet.world.until(asked).await.unwrap().unwrap();
    assert_eq!(held.is_lost(), Some(LostReason::Taken));
    assert_eq!(fleet.script.calls("a", Op::Take), takes + 1, "the acquire began again");
    assert_eq!(owner(&fleet, again.id()).as_deref(), Some("a"));
    assert_eq!((again.is_lost(), again.instance()), (None, there.instance()));
}

#[tokio::test]
async fn n5_a_claim_that_lands_after_what_it_was_for_has_gone_is_undone() {
    let fleet = Fleet::new();
    let a = fleet.gateway("a").await;
    let held = fleet.world.until(a.acquire(session("u", "t"))).await.unwrap();
    let (id, gate) = (held.id().clone(), Gate::new());
    wipe(&fleet, &id);
    fleet.script.next("a", Op::Claim, Trouble::Waits(gate.clone()));
    fleet.world.pass(Duration::from_secs(12)).await;
    gate.arrived().await;
    drop(held);
    gate.open();
    fleet.world.settle().await;
    assert_eq!(owner(&fleet, &id), None);
    assert_eq!(fleet.script.calls("a", Op::ReleaseTenure), 1);
}

#[tokio::test]
async fn n5_a_claim_that_refreshed_what_is_looked_after_is_left() {
    let fleet = Fleet::new();
    let a = fleet.gateway("a").await;
    let held = fleet.world.until(a.acquire(session("u", "t"))).await.unwrap();
    let (id, gate) = (held.id().clone(), Gate::new());
    wipe(&fleet, &id);
    fleet.script.next("a", Op::Claim, Trouble::Waits(gate.clone()));
    fleet.world.pass(Duration::from_secs(12)).await;
    gate.arrived().await;
    drop(fleet.world.until(a.acquire(session("u", "t"))).await.unwrap());
    drop(held);
    gate.open();
    fleet.world.settle().await;
    assert_eq!(owner(&fleet, &id).as_deref(), Some("a"));
    assert_eq!(fleet.script.calls("a", Op::ReleaseTenure), 0);
    fleet.world.pass(Duration::from_secs(100)).await;
    assert_eq!(
        (owner(&fleet, &id).as_deref(), a.status().sandboxes[0].state),
        (Some("a"), SandboxState::Warm)
    );
}

#[tokio::test]
async fn n6_what_is_warm_and_what_is_being_made_is_renewed_too() {
    let fleet = Fleet::new();
    let a = fleet.gateway_with("a", |config| config.create_deadline = Duration::from_secs(900)).await;
    let warm = fleet.world.until(a.acquire(session("u", "warm"))).await.unwrap().id().clone();
    let gate = Gate::new();
    fleet.yard.next(BackendOperation::Create, Mishap::Waits(gate.clone()));
    let asked = tokio::spawn({
        let a = a.clone();
        async move { a.acquire(session("u", "t").within(Duration::from_secs(900))).await }
    });
    gate.arrived().await;
    let mut before = fleet.store("look").list().unwrap().leases;
    fleet.world.pass(Duration::from_secs(250)).await;
    let mut after = fleet.store("look").list().unwrap().leases;
    for leases in [&mut before, &mut after] {
        leases.sort_by(|(one, _), (other, _)| one.cmp(other));
    }
    assert!(before.len() == 2 && before.iter().any(|(id, _)| *id == warm));
    let fences = |leases: &[(SandboxId, leasehold::Lease)]| -> Vec<_> {
        leases.iter().map(|(id, lease)| (id.clone(), lease.fence)).collect()
    };
    assert_eq!(fences(&before), fences(&after), "the same tenures all the while");
    gate.open();
    drop(fleet.world.until(asked).await.unwrap().unwrap());
}

#[tokio::test]
async fn n7_a_take_whose_reply_was_lost_is_known_by_its_fence_and_starts_the_horizon() {
    let fleet = Fleet::new();
    let a = fleet.gateway("a").await;
    let id = fleet.world.until(a.acquire(session("u", "t"))).await.unwrap().id().clone();
    fleet.world.pass(Duration::from_secs(55)).await;
    let old = a.status().sandboxes[0].fence;
    // A peer uses it, and has not been told of the take that follows.
    let _ = fleet.store("b").take(&id).unwrap();
    fleet.script.next("a", Op::Take, Trouble::LosesItsAnswer);
    fleet.world.until(a.acquire(session("u", "t"))).await.unwrap_err();
    fleet.world.settle().await;
    let row = a.status().sandboxes.remove(0);
    assert_eq!(row.fence, fleet.store("look").inspect(&id).unwrap().unwrap().fence);
    assert_ne!(row.fence, old);
    assert!(matches!(a.destroy(&id).await, Err(DestroyError::Refused(Refusal::TooYoung(_)))));
    fleet.world.pass(Duration::from_secs(51)).await;
    a.destroy(&id).await.unwrap();
}

#[tokio::test]
async fn n7_a_take_that_takes_effect_after_it_failed_is_known_by_the_next_renewal() {
    let fleet = Fleet::new();
    let a = fleet.gateway("a").await;
    let id = fleet.world.until(a.acquire(session("u", "t"))).await.unwrap().id().clone();
    fleet.world.pass(Duration::from_secs(55)).await;
    let gate = Gate::new();
    fleet.script.next("a", Op::Take, Trouble::HappensLate(gate.clone()));
    fleet.world.until(a.acquire(session("u", "t"))).await.unwrap_err();
    gate.arrived().await;
    gate.open();
    fleet.world.settle().await;
    let now = fleet.store("look").inspect(&id).unwrap().unwrap().fence;
    assert_ne!(a.status().sandboxes[0].fence, now);
    fleet.world.pass(Duration::from_secs(12)).await;
    assert_eq!(a.status().sandboxes[0].fence, now);
    assert!(matches!(a.destroy(&id).await, Err(DestroyError::Refused(Refusal::TooYoung(_)))));
}
