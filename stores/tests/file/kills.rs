//! kill -9, five hundred times, wherever the child is.

use std::collections::HashMap;
use std::sync::Arc;

use leasehold::{BootClock, DiscardOutcome, OwnershipStore, Phase};

use crate::children::Worker;
use crate::support::{Place, id, open, take};

const KILLS: u32 = 500;

/// What is known of one id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Known {
    Held(u64),
    Teardown(u64),
    #[default]
    Absent,
}

/// What the children said.
#[derive(Default)]
struct Heard {
    known: HashMap<String, Known>,
    largest: HashMap<String, u64>,
    /// The id of the operation that was begun and not ended.
    begun: Option<String>,
}

impl Heard {
    fn note(&mut self, line: &str) {
        let words: Vec<&str> = line.split(' ').collect();
        let (id, known, fence) = match words[..] {
            ["start", id] => {
                self.begun = Some(id.to_owned());
                return;
            }
            ["held", id, fence] => (id, Known::Held(fence.parse().unwrap()), fence),
            ["teardown", id, fence] => (id, Known::Teardown(fence.parse().unwrap()), fence),
            ["absent", id] => (id, Known::Absent, "0"),
            _ => return,
        };
        self.learn(id, known, fence.parse().unwrap());
        self.begun = None;
    }

    fn learn(&mut self, id: &str, known: Known, fence: u64) {
        let largest = self.largest.entry(id.to_owned()).or_default();
        *largest = (*largest).max(fence);
        self.known.insert(id.to_owned(), known);
    }

    fn known(&self, id: &str) -> Known {
        self.known.get(id).copied().unwrap_or_default()
    }

    fn largest(&self, id: &str) -> u64 {
        self.largest.get(id).copied().unwrap_or_default()
    }
}

#[test]
fn five_hundred_kills_brick_nothing_and_bring_nothing_old_back() {
    let (mut place, mut heard) = (Place::new(), Heard::default());
    let mut seed = 20_260_101_u64;
    let mut cut_short = 0;
    for round in 0..KILLS {
        if round % 50 == 0 {
            // A new directory, so that some are killed while they make one.
            (place, heard) = (Place::new(), Heard::default());
        }
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        // Those of the first rounds are killed while they open, the others in the midst of it.
        let lines = if round % 50 < 10 { 1 } else { 1 + (seed >> 33) % 60 };
        let mut child = Worker::start();
        child.tell(&format!("hammer {}", place.dir().display()));
        for _ in 0..lines {
            heard.note(&child.hear().expect("a child that is not killed goes on"));
        }
        child.kill();
        while let Some(line) = child.hear() {
            heard.note(&line);
        }
        cut_short += u32::from(heard.begun.is_some());
        let store =
            open(&format!("file:{}", place.dir().display()), "parent", Arc::new(BootClock::new().unwrap()))
                .unwrap();
        assert!(store.list().unwrap().damaged.is_empty(), "round {round}");
        for n in 0..3 {
            check(&*store, &format!("sbx-{n}"), &heard, round);
        }
        heard.begun = None;
        for n in 0..3 {
            settle(&*store, &format!("sbx-{n}"), &mut heard, round);
        }
    }
    assert!(cut_short > KILLS / 4, "only {cut_short} of {KILLS} were killed in the midst of an operation");
}

/// What is there is what was acknowledged last, or what the operation that was begun made of it.
fn check(store: &dyn OwnershipStore, name: &str, heard: &Heard, round: u32) {
    let seen = match store.inspect(&id(name)).unwrap() {
        None => Known::Absent,
        Some(lease) => {
            let fence = lease.fence.unwrap().get();
            if lease.phase == Phase::Held { Known::Held(fence) } else { Known::Teardown(fence) }
        }
    };
    let one_more = heard.begun.as_deref() == Some(name)
        && match seen {
            Known::Held(fence) | Known::Teardown(fence) => fence > heard.largest(name),
            Known::Absent => true,
        };
    let known = heard.known(name);
    assert!(seen == known || one_more, "round {round}: {name} was {known:?} and is {seen:?}");
}

/// The id can be used on, with a larger fence than any before.
fn settle(store: &dyn OwnershipStore, name: &str, heard: &mut Heard, round: u32) {
    let sandbox = id(name);
    if store.inspect(&sandbox).unwrap().is_some_and(|lease| lease.phase == Phase::Teardown) {
        assert_eq!(store.discard(&sandbox, true).unwrap(), DiscardOutcome::Discarded);
    }
    let fence = take(store, &sandbox).fence.get();
    assert!(fence > heard.largest(name), "round {round}: {name} got {fence} after {}", heard.largest(name));
    heard.learn(name, Known::Held(fence), fence);
}
