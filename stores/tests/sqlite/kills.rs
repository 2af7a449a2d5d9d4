use std::collections::HashMap;
use std::sync::Arc;

use leasehold::{BootClock, OwnershipStore, Phase};

use crate::children::Worker;
use crate::support::{Place, id, open};

/// What is known of one id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    Held(u64),
    Teardown(u64),
    Absent,
}

/// What the killed child said.
#[derive(Default)]
struct Heard {
    known: HashMap<String, Known>,
    largest: HashMap<String, u64>,
    /// The id of the operation that it began and did not end.
    begun: Option<String>,
}

impl Heard {
    fn note(&mut self, line: &str) {
        let words: Vec<&str> = line.split(' ').collect();
        let (known, fence) = match words[..] {
            ["start", id] => return self.begun = Some(id.to_owned()),
            ["held", _, fence] => (Known::Held(fence.parse().unwrap()), fence),
            ["teardown", _, fence] => (Known::Teardown(fence.parse().unwrap()), fence),
            ["absent", _] => (Known::Absent, "0"),
            _ => return,
        };
        let largest = self.largest.entry(words[1].to_owned()).or_default();
        *largest = (*largest).max(fence.parse().unwrap());
        self.known.insert(words[1].to_owned(), known);
        self.begun = None;
    }
}

#[test]
fn five_hundred_kills_brick_nothing_and_bring_nothing_old_back() {
    let mut place = Place::new();
    let mut heard = Heard::default();
    let mut seed = 20_260_101_u64;
    let mut kept: Option<Box<dyn OwnershipStore>> = None;
    let parent = |place: &Place| {
        open(&format!("sqlite:{}", place.path().display()), "parent", Arc::new(BootClock::new().unwrap()))
    };
    for round in 0..500 {
        if round % 50 == 0 {
            // A new database, so that some are killed while they make one.
            kept = None;
            place = Place::new();
            heard = Heard::default();
        }
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        // Those of the first rounds are killed while they open, the others in the midst of it.
        let lines = if round % 50 < 10 { 1 } else { 1 + (seed >> 33) % 60 };
        let mut child = Worker::start();
        child.tell(&format!("hammer {}", place.path().display()));
        for _ in 0..lines {
            heard.note(&child.hear().expect("a child that is not killed goes on"));
        }
        child.kill();
        while let Some(line) = child.hear() {
            heard.note(&line);
        }
        let store = kept.take().unwrap_or_else(|| parent(&place).unwrap());
        for n in 0..3 {
            check(&*store, &format!("sbx-{n}"), &heard, round);
        }
        heard.begun = None;
        for n in 0..3 {
            settle(&*store, &format!("sbx-{n}"), &mut heard, round);
        }
        // Every other child has company; the rest leave the log to be recovered by whoever comes next.
        kept = (round % 2 == 0).then_some(store);
    }
}

/// What is there is what was acknowledged last, or what one more operation made of it.
fn check(store: &dyn OwnershipStore, name: &str, heard: &Heard, round: u32) {
    let seen = match store.inspect(&id(name)).unwrap() {
        None => Known::Absent,
        Some(lease) => {
            let fence = lease.fence.unwrap().get();
            if lease.phase == Phase::Held { Known::Held(fence) } else { Known::Teardown(fence) }
        }
    };
    let known = heard.known.get(name).copied().unwrap_or(Known::Absent);
    let largest = heard.largest.get(name).copied().unwrap_or(0);
    let one_more = heard.begun.as_deref() == Some(name)
        && match seen {
            Known::Held(fence) | Known::Teardown(fence) => fence > largest,
            Known::Absent => true,
        };
    assert!(seen == known || one_more, "round {round}: {name} was {known:?} and is {seen:?}");
}

/// The id can be used on: once nobody is there any more, the parent gets it with a larger fence than any before.
fn settle(store: &dyn OwnershipStore, name: &str, heard: &mut Heard, round: u32) {
    let sandbox = id(name);
    if store.inspect(&sandbox).unwrap().is_some_and(|lease| lease.phase == Phase::Teardown) {
        assert_eq!(store.discard(&sandbox, true).unwrap(), leasehold::DiscardOutcome::Discarded);
    }
    let fence = crate::support::take(store, &sandbox).fence.get();
    let largest = heard.largest.entry(name.to_owned()).or_default();
    assert!(fence > *largest, "round {round}: {name} got {fence} after {largest}");
    *largest = fence;
    heard.known.insert(name.to_owned(), Known::Held(fence));
}
