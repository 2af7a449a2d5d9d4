use std::sync::Arc;
use std::time::Duration;

use leasehold::{
    Acquire, AcquireError, AcquirePath, BackendOperation, Event, HomeDirectory, LostReason, OwnershipStore,
    Parked, PrepareHook, SandboxState, SessionKey,
};

use crate::place::Place;
use crate::session;
use crate::world::Fleet;
use crate::yard::Mishap;

fn paths(events: &mut leasehold::Events) -> Vec<AcquirePath> {
    let mut paths = Vec::new();
    while let Some(event) = events.try_next() {
        if let Event::Acquired { path, .. } = event {
            paths.push(path);
        }
    }
    paths
}

#[tokio::test]
async fn h6_in_use_here_then_warm_here_then_running_somewhere_then_made() {
    let fleet = Fleet::new();
    let (a, b) = (fleet.gateway("a").await, fleet.gateway("b").await);
    let (mut told_a, mut told_b) = (a.events(), b.events());
    let first = fleet.world.until(a.acquire(session("u", "t"))).await.unwrap();
    let second = fleet.world.until(a.acquire(session("u", "t"))).await.unwrap();
    assert_eq!(first.instance(), second.instance());
    assert_eq!(first.release().await, Parked::StillHeld);
    assert_eq!(second.release().await, Parked::Warm);
    let third = fleet.world.until(a.acquire(session("u", "t"))).await.unwrap();
    assert_eq!(paths(&mut told_a), [AcquirePath::Created, AcquirePath::Reused, AcquirePath::Reclaimed]);
    let there = fleet.world.until(b.acquire(session("u", "t"))).await.unwrap();
    assert_eq!(there.instance(), third.instance());
    assert_eq!(paths(&mut told_b), [AcquirePath::Discovered]);
    assert_eq!(fleet.yard.calls(BackendOperation::Create), 1);
    fleet.world.pass(Duration::from_secs(15)).await;
    assert_eq!(third.is_lost(), Some(LostReason::Taken));
    assert_eq!(there.is_lost(), None);
}

#[tokio::test]
async fn h1_get_looks_only_at_memory_and_gives_only_what_is_held() {
    let fleet = Fleet::new();
    let a = fleet.gateway("a").await;
    let held = fleet.world.until(a.acquire(session("u", "t"))).await.unwrap();
    let id = held.id().clone();
    assert_eq!(a.get(&id).unwrap().instance(), held.instance());
    drop(held);
    assert!(a.get(&id).is_none());
}

#[tokio::test]
async fn a_sandbox_in_use_outlives_its_ttl_many_times_and_a_warm_one_its_timeout_once() {
    let fleet = Fleet::new();
    let a = fleet.gateway_with("a", |config| config.idle_timeout = Duration::ZERO).await;
    let held = fleet.world.until(a.acquire(session("u", "t"))).await.unwrap();
    fleet.world.pass(Duration::from_secs(1_000)).await;
    assert_eq!((held.is_lost(), fleet.yard.instances().len()), (None, 1));
    let id = held.id().clone();
    drop(held);
    fleet.world.pass(Duration::from_secs(290)).await;
    assert_eq!(fleet.yard.instances().len(), 1);
    fleet.world.pass(Duration::from_secs(30)).await;
    assert_eq!(fleet.yard.instances(), []);
    assert_eq!(fleet.store("look").inspect(&id).unwrap(), None);
    assert!(a.status().sandboxes.is_empty());
}

#[tokio::test]
async fn h11_what_is_definitely_gone_is_dropped_and_what_cannot_be_told_is_reused() {
    let fleet = Fleet::new();
    let a = fleet.gateway("a").await;
    let first = fleet.world.until(a.acquire(session("u", "t"))).await.unwrap();
    fleet.yard.next(BackendOperation::Inspect, Mishap::Fails);
    let second = fleet.world.until(a.acquire(session("u", "t"))).await.unwrap();
    assert_eq!(first.instance(), second.instance());
    assert_eq!(first.is_lost(), None);
    fleet.yard.vanish(first.instance());
    let third = fleet.world.until(a.acquire(session("u", "t"))).await.unwrap();
    assert_ne!(first.instance(), third.instance());
    assert_eq!((first.is_lost(), third.is_lost()), (Some(LostReason::Gone), None));
}

#[tokio::test]
async fn k8_a_tracked_instance_found_condemned_is_dropped_and_its_holders_are_told() {
    let fleet = Fleet::new();
    let a = fleet.gateway("a").await;
    let first = fleet.world.until(a.acquire(session("u", "t"))).await.unwrap();
    fleet.yard.change(first.instance(), |info| info.condemned = true);
    let second = fleet.world.until(a.acquire(session("u", "t"))).await.unwrap();
    assert_ne!(first.instance(), second.instance());
    assert_eq!(first.is_lost(), Some(LostReason::Stopped));
    // Its stop is finished by whoever owns the id, and what is in use under the same id stays.
    fleet.world.pass(Duration::from_secs(90)).await;
    let left: Vec<_> = fleet.yard.instances().into_iter().map(|info| info.instance).collect();
    assert_eq!(left, [second.instance().clone()]);
}

#[tokio::test]
async fn h4_a_sandbox_of_another_session_is_never_handed_out() {
    let fleet = Fleet::new();
    let a = fleet.gateway("a").await;
    let mine = fleet.world.until(a.acquire(session("u", "t"))).await.unwrap();
    let (id, instance) = (mine.id().clone(), mine.instance().clone());
    drop(mine);
    let theirs = SessionKey::new("somebody", "else").unwrap();
    fleet.yard.change(&instance, |info| info.identity.session = Some(theirs));
    let error = fleet.world.until(a.acquire(session("u", "t"))).await.unwrap_err();
    assert!(matches!(&error, AcquireError::Foreign { whose } if whose.contains("somebody/else")), "{error}");
    assert_eq!(fleet.yard.instances().len(), 1, "nothing was stopped");
    assert_eq!(fleet.store("look").inspect(&id).unwrap(), None, "nothing was left behind");
}

#[tokio::test]
async fn h2_a_store_that_does_not_answer_hands_nothing_out_and_a_lost_creation_is_found_again() {
    let fleet = Fleet::new();
    let a = fleet.gateway("a").await;
    fleet.yard.next(BackendOperation::Create, Mishap::LosesItsAnswer);
    let error = fleet.world.until(a.acquire(session("u", "t"))).await.unwrap_err();
    assert!(matches!(error, AcquireError::Backend(_)), "{error}");
    assert_eq!(a.status().slots.0, 1, "it may well exist");
    let found = fleet.world.until(a.acquire(session("u", "t"))).await.unwrap();
    assert_eq!(fleet.yard.instances().len(), 1);
    assert_eq!((found.info().creator.clone(), a.status().slots.0), (a.owner().clone(), 1));
}

#[tokio::test]
async fn a_lost_creation_that_nobody_asks_for_again_is_disposed_of() {
    let fleet = Fleet::new();
    let a = fleet.gateway("a").await;
    fleet.yard.next(BackendOperation::Create, Mishap::LosesItsAnswer);
    fleet.world.until(a.acquire(session("u", "t"))).await.unwrap_err();
    fleet.world.pass(Duration::from_secs(120)).await;
    assert_eq!(fleet.yard.instances(), []);
    assert_eq!((a.status().slots.0, a.status().sandboxes.len()), (0, 0));
}

#[tokio::test]
async fn d6_a_condemned_instance_that_nobody_owns_is_finished_and_never_handed_out() {
    let fleet = Fleet::new();
    let a = fleet.gateway("a").await;
    let mine = fleet.world.until(a.acquire(session("u", "t"))).await.unwrap();
    let info = mine.info().clone();
    let left = leasehold::SandboxInfo {
        id: "sbx-left".parse().unwrap(),
        instance: leasehold::InstanceId::new("left"),
        condemned: true,
        ..info
    };
    fleet.yard.put(left.clone());
    fleet.world.pass(Duration::from_secs(40)).await;
    assert!(fleet.yard.instances().contains(&left), "the grace is not over");
    fleet.world.pass(Duration::from_secs(120)).await;
    assert!(!fleet.yard.instances().contains(&left));
    assert_eq!(mine.is_lost(), None);
}

#[tokio::test]
async fn h3_gateways_that_ask_for_one_session_at_once_get_one_sandbox() {
    let fleet = Fleet::new();
    let (a, b, c) = (fleet.gateway("a").await, fleet.gateway("b").await, fleet.gateway("c").await);
    let ask = |from: &leasehold::Provider| {
        let from = from.clone();
        tokio::spawn(async move { from.acquire(session("u", "t")).await })
    };
    let asked: Vec<_> = [&a, &b, &c, &a, &b, &c].map(ask).into_iter().collect();
    let mut got = Vec::new();
    for one in asked {
        got.push(fleet.world.until(one).await.unwrap().unwrap());
    }
    assert_eq!(fleet.yard.instances().len(), 1);
    assert_eq!(fleet.yard.calls(BackendOperation::Create), 1);
    assert!(got.iter().all(|held| held.instance() == got[0].instance() && held.id() == got[0].id()));
    let other = fleet.world.until(a.acquire(session("u", "another"))).await.unwrap();
    let (one, two) = (
        fleet.world.until(a.acquire(Acquire::anonymous())).await.unwrap(),
        fleet.world.until(a.acquire(Acquire::anonymous())).await.unwrap(),
    );
    let ids = std::collections::BTreeSet::from([got[0].id(), other.id(), one.id(), two.id()]);
    assert_eq!((ids.len(), fleet.yard.instances().len()), (4, 4));
}

#[tokio::test]
async fn h3_another_policy_is_another_sandbox() {
    let fleet = Fleet::new();
    let a = fleet.gateway("a").await;
    let plain = fleet.world.until(a.acquire(session("u", "t"))).await.unwrap();
    let home = HomeDirectory::new(fleet.config().home.unwrap(), "skills_view");
    let view = home.session(&SessionKey::new("u", "t").unwrap()).join("skills_view");
    std::fs::create_dir(&view).unwrap();
    std::fs::write(view.join("skill.md"), "do good").unwrap();
    let scoped = fleet.world.until(a.acquire(session("u", "t"))).await.unwrap();
    assert_ne!((plain.id(), plain.instance()), (scoped.id(), scoped.instance()));
    let again = fleet.world.until(a.acquire(session("u", "t"))).await.unwrap();
    assert_eq!(scoped.instance(), again.instance());
}

#[tokio::test]
async fn h7_the_last_of_two_holders_parks_it_and_letting_go_twice_is_harmless() {
    let fleet = Fleet::new();
    let a = fleet.gateway("a").await;
    let (first, second) = (
        fleet.world.until(a.acquire(session("u", "t"))).await.unwrap(),
        fleet.world.until(a.acquire(session("u", "t"))).await.unwrap(),
    );
    // Lets go, and then its drop does so once more.
    assert_eq!(first.release().await, Parked::StillHeld);
    assert_eq!(a.status().sandboxes[0].holders, 1);
    fleet.world.pass(Duration::from_secs(400)).await;
    assert_eq!((second.is_lost(), a.status().sandboxes[0].state), (None, SandboxState::Active));
    assert!(a.get(second.id()).is_some());
    assert_eq!(second.release().await, Parked::Warm);
    assert_eq!((a.status().sandboxes[0].state, a.status().sandboxes[0].holders), (SandboxState::Warm, 0));
}

#[tokio::test]
async fn h9_the_disk_is_used_off_the_threads_that_poll_and_warm_is_asked_before_any_lock() {
    let fleet = Fleet::new();
    let place = Place::new(HomeDirectory::new(fleet.config().home.unwrap(), "skills_view"));
    let a = fleet.builder("a", fleet.config()).home(Arc::new(place.clone())).start().await.unwrap();
    let made = fleet.world.until(a.acquire(session("u", "t"))).await.unwrap();
    fleet.world.settle().await;
    let seen = place.seen();
    assert_eq!(seen.iter().map(|(what, _)| *what).collect::<Vec<_>>(), ["prepare", "lock", "unlock"]);
    let here = std::thread::current().id();
    assert!(seen.iter().all(|(_, thread)| *thread != here), "this runtime polls on one thread alone");
    let id = made.id().clone();
    drop(made);
    let warm = fleet.world.until(a.acquire(session("u", "t"))).await.unwrap();
    assert_eq!(*warm.id(), id, "warm is asked with exactly the id derived");
    assert_eq!(place.seen().iter().map(|(what, _)| *what).collect::<Vec<_>>(), ["prepare"]);
}

#[tokio::test]
async fn h9_an_error_opening_the_lock_surfaces_as_itself() {
    let fleet = Fleet::new();
    let a = fleet.gateway("a").await;
    let home = fleet.config().home.unwrap();
    std::fs::create_dir(&home).unwrap();
    std::fs::write(home.join("locks"), "in the way").unwrap();
    let error = fleet.world.until(a.acquire(session("u", "t"))).await.unwrap_err();
    assert!(matches!(&error, AcquireError::Home(home) if home.path().ends_with("locks")), "{error}");
    assert!(a.status().sandboxes.is_empty() && fleet.yard.instances().is_empty());
}

#[tokio::test]
async fn h9_a_lock_that_another_process_holds_is_waited_for() {
    let fleet = Fleet::new();
    let a = fleet.gateway("a").await;
    let id = fleet.world.until(a.acquire(session("u", "t"))).await.unwrap().id().clone();
    fleet.world.pass(Duration::from_secs(50)).await;
    a.destroy(&id).await.unwrap();
    let home = HomeDirectory::new(fleet.config().home.unwrap(), "skills_view");
    let lock = leasehold::Home::try_lock(&home, &id).unwrap().unwrap();
    let takes = fleet.script.calls("a", crate::ledger::Op::Take);
    let short = fleet.world.until(a.acquire(session("u", "t").within(Duration::from_secs(3)))).await;
    assert!(matches!(short, Err(AcquireError::DeadlinePassed { doing }) if doing.contains("create lock")));
    assert_eq!(fleet.script.calls("a", crate::ledger::Op::Take), takes, "nothing was taken for it");
    let asked = tokio::spawn({
        let a = a.clone();
        async move { a.acquire(session("u", "t")).await.map(drop) }
    });
    fleet.world.pass(Duration::from_secs(1)).await;
    drop(lock);
    fleet.world.until(asked).await.unwrap().unwrap();
}

#[tokio::test]
async fn h10_the_hook_runs_first_and_off_the_threads_that_poll_and_its_failure_stops_nothing() {
    for failure in ["none", "an error", "a panic"] {
        let fleet = Fleet::new();
        let place = Place::new(HomeDirectory::new(fleet.config().home.unwrap(), "skills_view"));
        let seen = place.clone();
        let hook = PrepareHook::new(move |session| {
            assert_eq!(session.user(), "u");
            seen.note("hook");
            match failure {
                "an error" => Err("no files today".into()),
                "a panic" => panic!("no files at all"),
                _ => Ok(()),
            }
        });
        let builder = fleet.builder("a", fleet.config()).home(Arc::new(place.clone())).prepare(hook);
        let a = builder.start().await.unwrap();
        let held = fleet.world.until(a.acquire(session("u", "t"))).await.unwrap();
        let done = place.seen();
        assert_eq!((done[0].0, done[1].0), ("hook", "prepare"), "{failure}");
        assert_ne!(done[0].1, std::thread::current().id());
        drop(held);
    }
}
