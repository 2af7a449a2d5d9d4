//! How a provider ends, and what does not end it.

use std::sync::Arc;
use std::time::Duration;

use leasehold::{
    AcquireError, BackendErrorKind, BackendOperation, Command, Event, LostReason, OwnershipStore, Phase,
    Provider, SandboxId, SandboxState, ShutdownMode,
};

use crate::ledger::{Op, Trouble};
use crate::session;
use crate::world::Fleet;
use crate::yard::{Gate, Mishap, Yard};

const HORIZON: Duration = Duration::from_secs(50);
const TEN: Duration = Duration::from_secs(10);

async fn warm(fleet: &Fleet, a: &Provider, thread: &str) -> SandboxId {
    fleet.world.until(a.acquire(session("u", thread))).await.unwrap().id().clone()
}

#[tokio::test]
async fn z2_handing_over_parks_everything_releases_it_and_stops_nothing() {
    let fleet = Fleet::new();
    let (a, b) = (fleet.gateway("a").await, fleet.gateway("b").await);
    let held = fleet.world.until(a.acquire(session("u", "held"))).await.unwrap();
    warm(&fleet, &a, "warm").await;
    // One that nobody owns since the store lost its lease.
    let unowned = warm(&fleet, &a, "unowned").await;
    let _ = fleet.store("operator").discard(&unowned, true).unwrap();
    fleet.world.pass(HORIZON / 4).await;
    assert_eq!(a.status().sandboxes.iter().filter(|row| row.state == SandboxState::Unowned).count(), 1);
    fleet.world.journal();
    let report = fleet.world.until(a.shutdown(ShutdownMode::HandOver, TEN)).await;
    assert!(report.is_clean(), "{report:?}");
    assert_eq!((report.handed_over, report.stopped), (2, 0));
    assert_eq!((fleet.yard.instances().len(), fleet.leases_of("a").len()), (3, 0));
    assert_eq!((a.status().sandboxes.len(), a.status().slots.0), (0, 0), "nothing is left");
    assert_eq!(held.is_lost(), Some(LostReason::ShutDown));
    let journal = fleet.world.journal();
    assert_eq!(journal.last().map(String::as_str), Some("store: Close"), "{journal:?}");
    let there = fleet.world.until(b.acquire(session("u", "held"))).await.unwrap();
    assert_eq!(there.instance(), held.instance());
    assert_eq!(fleet.yard.calls(BackendOperation::Condemn), 0);
}

#[tokio::test]
async fn z2_stopping_ours_leaves_alone_what_is_a_peers_and_hands_over_what_is_too_young() {
    let fleet = Fleet::new();
    let (a, b) = (fleet.gateway("a").await, fleet.gateway("b").await);
    let theirs = fleet.world.until(b.acquire(session("u", "theirs"))).await.unwrap();
    let taken = fleet.world.until(a.acquire(session("u", "taken"))).await.unwrap();
    let moved = fleet.world.until(b.acquire(session("u", "taken"))).await.unwrap();
    let old = fleet.world.until(a.acquire(session("u", "old"))).await.unwrap();
    fleet.world.pass(HORIZON).await;
    let young = warm(&fleet, &a, "young").await;
    let report = fleet.world.until(a.shutdown(ShutdownMode::StopMine, TEN * 6)).await;
    assert_eq!((report.stopped, report.handed_over), (1, 1), "{report:?}");
    assert_eq!((old.is_lost(), taken.is_lost()), (Some(LostReason::Stopped), Some(LostReason::Taken)));
    let left: Vec<_> = fleet.yard.instances().into_iter().map(|info| info.instance).collect();
    assert!(
        left.contains(theirs.instance()) && left.contains(moved.instance()) && left.len() == 3,
        "{left:?}"
    );
    assert_eq!((fleet.leases_of("a").len(), fleet.leases_of("b").len()), (0, 2));
    assert_eq!(fleet.store("look").inspect(&young).unwrap(), None);
    assert_eq!((theirs.is_lost(), moved.is_lost()), (None, None));
}

#[tokio::test]
async fn z2_it_refuses_acquires_and_disposes_of_what_was_being_made() {
    for mode in [ShutdownMode::HandOver, ShutdownMode::StopMine] {
        let fleet = Fleet::new();
        let a = fleet.gateway("a").await;
        let gate = Gate::new();
        fleet.yard.next(BackendOperation::Create, Mishap::AnswersLate(gate.clone()));
        let asked = tokio::spawn({
            let a = a.clone();
            async move { a.acquire(session("u", "t")).await }
        });
        gate.arrived().await;
        let ending = tokio::spawn({
            let a = a.clone();
            async move { a.shutdown(mode, TEN * 3).await }
        });
        fleet.world.pass(Duration::from_secs(1)).await;
        assert!(matches!(
            fleet.world.until(a.acquire(session("u", "other"))).await,
            Err(AcquireError::ShuttingDown)
        ));
        assert!(a.status().closing && !ending.is_finished());
        gate.open();
        assert!(matches!(fleet.world.until(asked).await.unwrap(), Err(AcquireError::ShuttingDown)));
        let report = fleet.world.until(ending).await.unwrap();
        assert!(report.is_clean(), "{report:?}");
        assert_eq!((fleet.yard.instances().len(), fleet.leases_of("a").len()), (0, 0), "{mode:?}");
    }
}

#[tokio::test]
async fn z2_a_stop_that_has_not_ended_keeps_its_teardown_and_leases_are_renewed_till_then() {
    let fleet = Fleet::new();
    let a = fleet.gateway("a").await;
    let id = warm(&fleet, &a, "stuck").await;
    let young = {
        fleet.world.pass(HORIZON).await;
        warm(&fleet, &a, "young").await
    };
    let gate = Gate::new();
    fleet.yard.next(BackendOperation::Destroy, Mishap::Waits(gate.clone()));
    let ending = tokio::spawn({
        let a = a.clone();
        async move { a.shutdown(ShutdownMode::StopMine, TEN * 6).await }
    });
    gate.arrived().await;
    fleet.world.pass(Duration::from_secs(39)).await;
    let left = fleet.store("look").inspect(&young).unwrap().unwrap().left;
    assert!(left > Duration::from_secs(25), "leases last: {left:?}");
    let report = fleet.world.until(ending).await.unwrap();
    assert_eq!((report.stopping, report.handed_over, report.is_clean()), (1, 1, false), "{report:?}");
    assert_eq!(fleet.store("look").inspect(&id).unwrap().unwrap().phase, Phase::Teardown);
    gate.open();
}

#[tokio::test]
async fn z2_it_ends_in_time_with_a_hung_store_a_hung_engine_and_both() {
    for (store, engine) in [(true, false), (false, true), (true, true)] {
        for mode in [ShutdownMode::HandOver, ShutdownMode::StopMine] {
            let fleet = Fleet::new();
            let a = fleet.gateway("a").await;
            let held = fleet.world.until(a.acquire(session("u", "held"))).await.unwrap();
            warm(&fleet, &a, "warm").await;
            fleet.world.pass(HORIZON).await;
            let gate = Gate::new();
            if engine {
                for operation in
                    [BackendOperation::Condemn, BackendOperation::Destroy, BackendOperation::Discover]
                {
                    (0..9).for_each(|_| fleet.yard.next(operation, Mishap::Waits(gate.clone())));
                }
                let (a, other) = (a.clone(), session("u", "being made"));
                tokio::spawn(async move { a.acquire(other).await.map(drop) });
                gate.arrived().await;
            }
            if store {
                fleet.script.cut_off("a");
            }
            let before = leasehold::Env::now(&fleet.world);
            let report = fleet.world.until(a.shutdown(mode, TEN)).await;
            let took = leasehold::Env::now(&fleet.world).since(before);
            assert!(took <= TEN + Duration::from_secs(1), "{took:?}, {store} {engine} {mode:?}");
            assert!(!report.is_clean() || !store && mode == ShutdownMode::HandOver, "{report:?}");
            let again = fleet.world.until(a.shutdown(ShutdownMode::StopMine, TEN)).await;
            assert_eq!(again, report, "it may be called twice");
            assert_ne!(held.is_lost(), Some(LostReason::Stopped));
        }
    }
}

#[tokio::test]
async fn z3_a_panic_of_the_engine_costs_the_acquire_alone() {
    let fleet = Fleet::new();
    let a = fleet.gateway("a").await;
    let held = fleet.world.until(a.acquire(session("u", "held"))).await.unwrap();
    let steps = [
        BackendOperation::Discover,
        BackendOperation::Create,
        BackendOperation::WaitReady,
        BackendOperation::Inspect,
    ];
    for (number, operation) in steps.into_iter().enumerate() {
        let thread = format!("t{number}");
        if operation == BackendOperation::Inspect {
            warm(&fleet, &a, &thread).await;
        }
        fleet.yard.next(operation, Mishap::Panics);
        let answer = fleet.world.until(a.acquire(session("u", &thread))).await;
        match &answer {
            // What is tracked here is handed out although the engine can't say how it is (H11).
            Ok(_) => assert_eq!(operation, BackendOperation::Inspect),
            Err(AcquireError::Backend(error)) => assert_eq!(error.kind(), BackendErrorKind::Panicked),
            Err(error) => panic!("{operation}: {error:?}"),
        }
        drop(answer);
        fleet.world.settle().await;
        let got = fleet.world.until(a.acquire(session("u", &thread))).await.unwrap();
        let all = number + 2;
        assert_eq!((got.is_lost(), fleet.yard.instances().len()), (None, all), "{operation}");
        assert_eq!((a.status().acquires, a.status().keys, a.status().slots.0), (0, 0, all), "{operation}");
        drop(got);
    }
    fleet.script.next("a", Op::Take, Trouble::Panics);
    assert!(matches!(fleet.world.until(a.acquire(session("u", "t"))).await, Err(AcquireError::Panicked)));
    assert!(fleet.world.until(a.acquire(session("u", "t"))).await.is_ok());
    assert_eq!(held.is_lost(), None);
    fleet.yard.next(BackendOperation::Exec, Mishap::Panics);
    let error = held.exec(Command::new("x")).await.map(drop).unwrap_err();
    assert_eq!(error.kind(), BackendErrorKind::Panicked);
    let running: usize = a.status().sandboxes.iter().map(|row| row.running).sum();
    assert_eq!(running, 0);
}

#[tokio::test]
async fn z3_neither_the_renewal_nor_the_reaper_ends_with_a_panic() {
    let fleet = Fleet::new();
    let a = fleet.gateway("a").await;
    let held = fleet.world.until(a.acquire(session("u", "t"))).await.unwrap();
    let warm = warm(&fleet, &a, "warm").await;
    let mut told = a.events();
    for _ in 0..3 {
        fleet.script.next("a", Op::RenewMany, Trouble::Panics);
        fleet.yard.next(BackendOperation::List, Mishap::Panics);
        fleet.script.next("a", Op::List, Trouble::Panics);
        fleet.world.pass(Duration::from_secs(60)).await;
    }
    fleet.yard.next(BackendOperation::Destroy, Mishap::Panics);
    fleet.world.pass(Duration::from_secs(400)).await;
    assert_eq!(
        (held.is_lost(), a.status().sandboxes.len()),
        (None, 1),
        "the warm one was reaped all the same"
    );
    assert_eq!(fleet.store("look").inspect(&warm).unwrap(), None);
    let panics = std::iter::from_fn(|| told.try_next());
    let doing: std::collections::BTreeSet<_> = panics
        .filter_map(|e| if let Event::Panicked { doing, .. } = e { Some(doing) } else { None })
        .collect();
    assert_eq!(doing.into_iter().collect::<Vec<_>>(), ["destroy", "list", "reaping", "renewing"]);
}

#[tokio::test]
async fn z4_gateways_on_one_engine_share_sandboxes_and_those_on_two_do_not_collide() {
    let fleet = Fleet::new();
    let (a, b) = (fleet.gateway("a").await, fleet.gateway("b").await);
    let elsewhere = Yard::new(fleet.world.clone(), "another engine");
    let c = Provider::builder(fleet.config(), Arc::new(fleet.ledger("c")), Arc::new(elsewhere.clone()))
        .env(Arc::new(fleet.world.clone()))
        .start();
    let c = c.await.unwrap();
    let here = fleet.world.until(a.acquire(session("u", "t"))).await.unwrap();
    let there = fleet.world.until(c.acquire(session("u", "t"))).await.unwrap();
    assert_ne!(here.id(), there.id());
    assert_eq!((fleet.yard.instances().len(), elsewhere.instances().len()), (1, 1));
    let shared = fleet.world.until(b.acquire(session("u", "t"))).await.unwrap();
    assert_eq!((shared.id(), shared.instance()), (here.id(), here.instance()));
    fleet.world.pass(Duration::from_secs(200)).await;
    assert_eq!((there.is_lost(), shared.is_lost()), (None, None));
    assert_eq!((fleet.yard.instances().len(), elsewhere.instances().len()), (1, 1));
}

#[tokio::test]
async fn z5_a_client_that_ends_badly_stops_neither_a_release_nor_a_destroy() {
    let fleet = Fleet::new();
    let a = fleet.gateway("a").await;
    let held = fleet.world.until(a.acquire(session("u", "t"))).await.unwrap();
    fleet.world.pass(HORIZON).await;
    let mut running = held.exec(Command::new("stubborn")).await.unwrap();
    assert!(running.kill().await.is_err());
    // Dropping it panics, as a client may whose connection is gone.
    let drops = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(running)));
    assert!(drops.is_err());
    assert_eq!(a.status().sandboxes[0].running, 0);
    fleet.world.until(held.destroy()).await.unwrap();
    assert_eq!((fleet.yard.instances(), fleet.leases_of("a")), (vec![], vec![]));
    let held = fleet.world.until(a.acquire(session("u", "t"))).await.unwrap();
    let running = held.exec(Command::new("stubborn")).await.unwrap();
    held.release().await;
    assert_eq!(a.status().sandboxes[0].state, SandboxState::Warm);
    drop(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(running))));
    // Nor does a store that can't be closed.
    fleet.script.closes_badly("a");
    let report = fleet.world.until(a.shutdown(ShutdownMode::HandOver, TEN)).await;
    assert_eq!((report.handed_over, report.store_closed, fleet.leases_of("a").len()), (1, false, 0));
}
