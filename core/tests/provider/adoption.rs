//! What runs and is nobody's.

use std::sync::Arc;
use std::time::Duration;

use leasehold::{
    BackendOperation, Condition, Identity, InstanceId, OffloadConfig, Offloaded, OwnerId, OwnershipStore,
    Provider, SandboxInfo, SandboxState, SessionKey,
};

use crate::ledger::{Op, Trouble};
use crate::session;
use crate::world::Fleet;
use crate::yard::Mishap;

/// One that a gateway which is no more has left: without a port, without a time of creation.
fn left(fleet: &Fleet, name: &str) -> SandboxInfo {
    let info = SandboxInfo {
        id: format!("sbx-{name}").parse().unwrap(),
        instance: InstanceId::new(name),
        identity: Identity {
            namespace: fleet.config().namespace,
            session: Some(SessionKey::new("somebody", name).unwrap()),
            policy: None,
        },
        creator: OwnerId::new("gone").unwrap(),
        endpoint: None,
        created: None,
        condemned: false,
        condition: Condition::Running,
    };
    fleet.yard.put(info.clone());
    info
}

fn states(a: &Provider) -> Vec<SandboxState> {
    a.status().sandboxes.iter().map(|row| row.state).collect()
}

#[tokio::test]
async fn d1_what_nobody_owns_becomes_warm_at_the_start_and_later() {
    let fleet = Fleet::new();
    let first = left(&fleet, "first");
    let a = fleet.gateway("a").await;
    fleet.world.pass(Duration::from_secs(70)).await;
    assert_eq!((states(&a), fleet.leases_of("a")), (vec![SandboxState::Warm], vec![first.id.clone()]));
    let second = left(&fleet, "second");
    fleet.world.pass(Duration::from_secs(100)).await;
    assert_eq!(states(&a), [SandboxState::Warm, SandboxState::Warm]);
    assert!(fleet.leases_of("a").contains(&second.id));
    // It is looked at under its lease: what has changed since the list is seen.
    let third = left(&fleet, "third");
    fleet.world.pass(Duration::from_secs(31)).await;
    let gate = crate::yard::Gate::new();
    fleet.script.next("a", Op::Claim, Trouble::AnswersLate(gate.clone()));
    fleet.world.pass(Duration::from_secs(60)).await;
    gate.arrived().await;
    fleet.yard.vanish(&third.instance);
    gate.open();
    fleet.world.settle().await;
    assert_eq!((states(&a).len(), fleet.leases_of("a").len(), a.status().slots.0), (2, 2, 2));
}

#[tokio::test]
async fn d2_a_suspended_host_does_not_wake_up_adopting() {
    let fleet = Fleet::new();
    let a = fleet.gateway("a").await;
    left(&fleet, "left");
    fleet.world.pass(Duration::from_secs(31)).await;
    fleet.world.suspend(Duration::from_secs(10_000));
    fleet.world.pass(Duration::from_secs(10)).await;
    assert_eq!((states(&a), fleet.leases_of("a").len()), (vec![], 0));
    fleet.world.pass(Duration::from_secs(80)).await;
    assert_eq!(states(&a), [SandboxState::Warm]);
}

#[tokio::test]
async fn d2_an_owner_who_reappears_starts_the_grace_anew() {
    let fleet = Fleet::new();
    let a = fleet.gateway("a").await;
    let info = left(&fleet, "left");
    fleet.world.pass(Duration::from_secs(31)).await;
    // Seen without an owner at 30 s, with one at 60 s, without one at 120 s.
    let tenure = fleet.store("b").take(&info.id).unwrap();
    fleet.world.pass(Duration::from_secs(39)).await;
    assert!(matches!(tenure, leasehold::TakeOutcome::Taken { .. }));
    fleet.world.pass(Duration::from_secs(60)).await;
    assert_eq!(
        states(&a),
        [],
        "130 s since it was first seen without an owner, and 40 s at most since the last"
    );
    fleet.world.pass(Duration::from_secs(60)).await;
    assert_eq!(states(&a), [SandboxState::Warm]);
}

#[tokio::test]
async fn d2_a_grace_shorter_than_a_ttl_and_an_interval_is_refused() {
    let fleet = Fleet::new();
    let mut config = fleet.config();
    config.grace = Some(Duration::from_secs(49));
    let error = fleet.builder("a", config).build().map(drop).unwrap_err().to_string();
    assert!(error.contains("49s"), "{error}");
}

#[tokio::test]
async fn d2_with_leases_of_this_process_alone_it_is_adopted_at_once() {
    let fleet = Fleet::new();
    left(&fleet, "left");
    let cell = leasehold_stores::memory::MemoryCell::new(Arc::new(fleet.world.clock.clone()));
    let config = fleet.config();
    let store = leasehold::CellStore::new(cell, OwnerId::new("a").unwrap(), config.ownership.ttl());
    let store =
        Offloaded::new(store, OffloadConfig { spin: Duration::ZERO, ..OffloadConfig::default() }).unwrap();
    let a = Provider::builder(config, Arc::new(store), Arc::new(fleet.yard.clone()))
        .env(Arc::new(fleet.world.clone()))
        .start();
    let a = a.await.unwrap();
    let mut told = a.events();
    let adopted = async {
        while a.status().sandboxes.is_empty() {
            tokio::task::yield_now().await;
        }
    };
    fleet.world.until(adopted).await;
    assert_eq!(states(&a), [SandboxState::Warm]);
    assert!(std::iter::from_fn(|| told.try_next()).any(|e| matches!(e, leasehold::Event::Adopted { .. })));
}

#[tokio::test]
async fn d3_a_list_that_fails_is_not_an_empty_list() {
    let fleet = Fleet::new();
    let (a, b) = (fleet.gateway("a").await, fleet.gateway("b").await);
    // A peer's, in use; and the list of leases fails whenever it is asked for.
    let held = fleet.world.until(b.acquire(session("u", "t"))).await.unwrap();
    for _ in 0..10 {
        fleet.script.next("a", Op::List, Trouble::Fails);
    }
    fleet.world.pass(Duration::from_secs(200)).await;
    assert!(fleet.script.calls("a", Op::List) >= 6);
    assert_eq!((fleet.script.calls("a", Op::Claim), states(&a), held.is_lost()), (0, vec![], None));
    // The engine's list fails: what is unowned here is not gone.
    let warm = fleet.world.until(a.acquire(session("u", "warm"))).await.unwrap().id().clone();
    let _ = fleet.store("operator").discard(&warm, true).unwrap();
    for _ in 0..10 {
        fleet.yard.next(BackendOperation::List, Mishap::Fails);
    }
    fleet.world.pass(Duration::from_secs(80)).await;
    assert_eq!(states(&a), [SandboxState::Unowned]);
}

#[tokio::test]
async fn d3_one_missing_row_is_one_missing_row() {
    let fleet = Fleet::new();
    let a = fleet.gateway("a").await;
    let warm = fleet.world.until(a.acquire(session("u", "warm"))).await.unwrap();
    let (id, instance) = (warm.id().clone(), warm.instance().clone());
    drop(warm);
    let _ = fleet.store("operator").discard(&id, true).unwrap();
    fleet.yard.hide(&instance);
    fleet.world.pass(Duration::from_secs(100)).await;
    assert_eq!(states(&a), [SandboxState::Unowned], "it is there, although no list names it");
    fleet.yard.vanish(&instance);
    fleet.world.pass(Duration::from_secs(35)).await;
    assert_eq!(states(&a), []);
}

#[tokio::test]
async fn d4_looking_changes_nothing() {
    let fleet = Fleet::new();
    let (a, b) = (fleet.gateway("a").await, fleet.gateway("b").await);
    let held = fleet.world.until(b.acquire(session("u", "t"))).await.unwrap();
    let unowned = left(&fleet, "left");
    let lease = fleet.store("look").inspect(held.id()).unwrap().unwrap();
    let (instances, mut changes) = (fleet.yard.instances(), 0);
    fleet.world.pass(Duration::from_secs(35)).await;
    for op in [Op::Take, Op::Claim, Op::Renew, Op::RenewMany, Op::Release, Op::ReleaseTenure, Op::Discard] {
        changes += fleet.script.calls("a", op);
    }
    assert!(fleet.script.calls("a", Op::List) >= 2);
    assert_eq!((changes, states(&a), fleet.yard.instances()), (0, vec![], instances));
    assert_eq!(fleet.store("look").inspect(held.id()).unwrap().unwrap().fence, lease.fence);
    assert_eq!(fleet.store("look").inspect(&unowned.id).unwrap(), None);
}

#[tokio::test]
async fn d5_only_sandboxes_of_this_namespace_are_seen_whatever_their_age() {
    let fleet = Fleet::new();
    let a = fleet.gateway("a").await;
    let ours = left(&fleet, "ours");
    let mut theirs = left(&fleet, "theirs");
    theirs.identity.namespace = "another".parse().unwrap();
    fleet.yard.put(theirs.clone());
    let condemned = SandboxInfo { instance: InstanceId::new("condemned"), condemned: true, ..theirs };
    fleet.yard.put(condemned.clone());
    fleet.world.pass(Duration::from_secs(300)).await;
    assert_eq!(fleet.leases_of("a"), [ours.id]);
    assert_eq!(states(&a), [SandboxState::Warm]);
    assert!(fleet.yard.instances().contains(&condemned));
}

#[tokio::test]
async fn d5_a_backend_of_another_namespace_is_refused() {
    let fleet = Fleet::new();
    let mut config = fleet.config();
    config.namespace = "another".parse().unwrap();
    let error = fleet.builder("a", config).build().map(drop).unwrap_err().to_string();
    assert!(error.contains("another") && error.contains("test"), "{error}");
}
