//! Z1: an acquire dropped at every await point, once and twice, on each of its four paths.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use leasehold::{AcquireError, OwnershipStore, Provider, Sandbox, SandboxState};

use crate::session;
use crate::world::Fleet;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Path {
    Reuse,
    Reclaim,
    Discover,
    Create,
}

struct Scene {
    fleet: Fleet,
    a: Provider,
    /// The one who holds it here all the while, on the path of reuse.
    held: Option<Sandbox>,
}

type Asked<'a> = Pin<Box<dyn Future<Output = Result<Sandbox, AcquireError>> + 'a>>;

impl Scene {
    async fn new(path: Path) -> Self {
        let fleet = Fleet::new();
        let a = fleet.builder("a", fleet.config()).build().unwrap();
        let held = match path {
            Path::Reuse => Some(a.acquire(session("u", "t")).await.unwrap()),
            Path::Reclaim => {
                drop(a.acquire(session("u", "t")).await.unwrap());
                None
            }
            Path::Discover => {
                let b = fleet.builder("b", fleet.config()).build().unwrap();
                drop(b.acquire(session("u", "t")).await.unwrap());
                None
            }
            Path::Create => None,
        };
        fleet.world.shut_turnstile();
        Self { fleet, a, held }
    }

    /// Asks, lets `steps` calls go one step each, and goes away. Says whether the answer had come by then.
    async fn ask_and_leave(&self, steps: usize) -> bool {
        let mut asked: Asked<'_> = Box::pin(self.a.acquire(session("u", "t")));
        let mut there = poll(&mut asked);
        for _ in 0..steps {
            self.fleet.world.settle().await;
            there = there || poll(&mut asked);
            if there {
                break;
            }
            self.fleet.world.step().await;
        }
        there = there || poll(&mut asked);
        drop(asked);
        self.fleet.world.settle().await;
        there
    }

    /// Everything goes on to its end; then nothing is without somebody who looks after it.
    async fn check(self, path: Path, said: &str) {
        self.fleet.world.open_turnstile();
        self.fleet.world.settle().await;
        self.consistent(said);
        let status = self.a.status();
        assert_eq!((status.acquires, status.keys), (0, 0), "{said}");
        let holders: usize = status.sandboxes.iter().map(|row| row.holders).sum();
        assert_eq!(holders, usize::from(self.held.is_some()), "{said}");
        // The next one gets exactly one sandbox, and the one that was there if there was one.
        let before: Vec<_> = self.fleet.yard.instances().into_iter().map(|info| info.instance).collect();
        let next = self.fleet.world.until(self.a.acquire(session("u", "t"))).await.unwrap();
        let after: Vec<_> = self.fleet.yard.instances().into_iter().map(|info| info.instance).collect();
        assert_eq!(after, [next.instance().clone()], "{said}");
        assert!(before.is_empty() && path == Path::Create || before == after, "{said}: {before:?}");
        assert_eq!(next.is_lost(), None);
        if let Some(held) = &self.held {
            assert_eq!((held.instance(), held.is_lost()), (next.instance(), None), "{said}");
        }
        self.consistent(said);
    }

    fn consistent(&self, said: &str) {
        let status = self.a.status();
        let listed = self.fleet.store("look").list().unwrap();
        let leases: BTreeMap<_, _> = listed.leases.into_iter().collect();
        let mine: Vec<_> = leases.iter().filter(|(_, lease)| lease.owner == *self.a.owner()).collect();
        let rows: BTreeMap<_, _> = status.sandboxes.iter().map(|row| (&row.id, row)).collect();
        for (id, lease) in &mine {
            let row = rows.get(*id).unwrap_or_else(|| panic!("{said}: no tracker of the lease of {id}"));
            assert_eq!(row.fence, lease.fence, "{said}");
            assert!(row.instance.is_some(), "{said}: a lease of nothing");
        }
        for row in &status.sandboxes {
            assert!(mine.iter().any(|(id, _)| **id == row.id), "{said}: no lease of {row:?}");
            assert!(matches!(row.state, SandboxState::Warm | SandboxState::Active), "{said}: {row:?}");
        }
        for info in self.fleet.yard.instances() {
            let tracked = rows.get(&info.id).is_some_and(|row| row.instance.as_ref() == Some(&info.instance));
            assert!(tracked || leases.contains_key(&info.id), "{said}: nobody looks after {info:?}");
        }
        assert_eq!(status.slots.0, rows.len(), "{said}");
    }
}

fn poll(asked: &mut Asked<'_>) -> bool {
    matches!(asked.as_mut().poll(&mut Context::from_waker(Waker::noop())), Poll::Ready(Ok(_)))
}

/// Drops one acquire after every number of steps, until there is nothing left to drop. Says how many there were.
async fn once(path: Path) -> usize {
    for steps in 0..100 {
        let scene = Scene::new(path).await;
        let ended = scene.ask_and_leave(steps).await;
        scene.check(path, &format!("{path:?} dropped after {steps} steps")).await;
        if ended {
            return steps;
        }
    }
    panic!("an acquire of more than a hundred steps");
}

/// Drops one after every number of steps, and the next one after it likewise, while the first may still be under way.
async fn twice(path: Path) {
    let all = once(path).await;
    for first in 0..all {
        for second in 0..all {
            let scene = Scene::new(path).await;
            scene.ask_and_leave(first).await;
            scene.ask_and_leave(second).await;
            scene.check(path, &format!("{path:?} dropped after {first} steps and after {second} more")).await;
        }
    }
}

#[tokio::test]
async fn z1_an_acquire_of_one_in_use_here_may_be_dropped_at_every_await_point() {
    assert!(once(Path::Reuse).await >= 5);
}

#[tokio::test]
async fn z1_an_acquire_of_one_warm_here_may_be_dropped_at_every_await_point() {
    assert!(once(Path::Reclaim).await >= 5);
}

#[tokio::test]
async fn z1_an_acquire_of_one_running_elsewhere_may_be_dropped_at_every_await_point() {
    assert!(once(Path::Discover).await >= 12);
}

#[tokio::test]
async fn z1_an_acquire_that_makes_one_may_be_dropped_at_every_await_point() {
    assert!(once(Path::Create).await >= 14);
}

#[tokio::test]
async fn z1_two_acquires_of_one_in_use_here_may_be_dropped_one_after_the_other() {
    twice(Path::Reuse).await;
}

#[tokio::test]
async fn z1_two_acquires_of_one_warm_here_may_be_dropped_one_after_the_other() {
    twice(Path::Reclaim).await;
}

#[tokio::test]
async fn z1_two_acquires_of_one_running_elsewhere_may_be_dropped_one_after_the_other() {
    twice(Path::Discover).await;
}

#[tokio::test]
async fn z1_two_acquires_that_make_one_may_be_dropped_one_after_the_other() {
    twice(Path::Create).await;
}
