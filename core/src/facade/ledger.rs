use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use crate::SandboxId;

/// Keeps the release of an orphan from pulling a tenure out from under another call.
///
/// A `claim` that finds a tenure of its own owner refreshes it, fence and all. If that tenure is an orphan which is about
/// to be released, the claim would end up with nothing while having been told that it holds. So a release first looks
/// whether anybody asked for that sandbox since, and a refresh that ran beside a release is asked once more.
///
/// Sandboxes share a fixed number of pages; two on one page make an orphan stay that could have gone, never the other
/// way round.
pub(super) struct Ledger {
    pages: Box<[Page]>,
}

#[derive(Default)]
struct Page {
    /// Takes and claims begun.
    asked: AtomicU64,
    /// Takes and claims that are in the store.
    inside: AtomicU64,
    /// Releases of orphans begun, and ended.
    settling: AtomicU64,
    settled: AtomicU64,
}

/// A take or claim that was entered in the ledger.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    page: usize,
    /// Its number among all that were begun on its page.
    number: u64,
    /// Others were in the store when it was begun.
    crowded: bool,
    settled: u64,
}

impl Ledger {
    const PAGES: usize = 512;

    pub(super) fn new() -> Self {
        Self { pages: (0..Self::PAGES).map(|_| Page::default()).collect() }
    }

    /// Enters a take or claim of `id`, before the store is asked.
    pub(super) fn enter(&self, id: &SandboxId) -> Entry {
        let mut hasher = DefaultHasher::new();
        id.hash(&mut hasher);
        let page = hasher.finish() as usize % Self::PAGES;
        let this = &self.pages[page];
        let crowded = this.inside.fetch_add(1, SeqCst) > 0;
        let number = this.asked.fetch_add(1, SeqCst) + 1;
        Entry { page, number, crowded, settled: this.settled.load(SeqCst) }
    }

    /// The store has answered.
    pub(super) fn leave(&self, entry: Entry) {
        self.pages[entry.page].inside.fetch_sub(1, SeqCst);
    }

    /// Whether an orphan may have been released since `entry` was entered, so that a refresh must be asked again.
    pub(super) fn is_disturbed(&self, entry: Entry) -> bool {
        self.pages[entry.page].settling.load(SeqCst) != entry.settled
    }

    /// Brings `entry` up to date, before the store is asked again.
    pub(super) fn renew(&self, entry: Entry) -> Entry {
        Entry { settled: self.pages[entry.page].settled.load(SeqCst), ..entry }
    }

    /// Runs `release`, the release of the tenure that `entry` brought, unless somebody asked for that sandbox since or
    /// meanwhile. `None` when it was not run.
    pub(super) fn settle<T>(&self, entry: Entry, release: impl FnOnce() -> T) -> Option<T> {
        let page = &self.pages[entry.page];
        page.settling.fetch_add(1, SeqCst);
        let alone = !entry.crowded && page.asked.load(SeqCst) == entry.number;
        let released = alone.then(release);
        page.settled.fetch_add(1, SeqCst);
        released
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id() -> SandboxId {
        "sbx".parse().unwrap()
    }

    #[test]
    fn an_orphan_is_released_while_nobody_else_asked() {
        let ledger = Ledger::new();
        let entry = ledger.enter(&id());
        ledger.leave(entry);
        assert_eq!(ledger.settle(entry, || 1), Some(1));
    }

    #[test]
    fn it_stays_when_somebody_asked_later_or_was_inside_before() {
        let ledger = Ledger::new();
        let first = ledger.enter(&id());
        let second = ledger.enter(&id());
        assert_eq!(ledger.settle(first, || 1), None, "the second may have refreshed it");
        ledger.leave(first);
        assert_eq!(ledger.settle(second, || 1), None, "the first was inside when the second was begun");
        ledger.leave(second);
    }

    #[test]
    fn a_refresh_that_ran_beside_a_release_is_disturbed_and_one_after_it_is_not() {
        let ledger = Ledger::new();
        let orphan = ledger.enter(&id());
        ledger.leave(orphan);
        let mut beside = None;
        let _ = ledger.settle(orphan, || beside = Some(ledger.enter(&id())));
        let beside = beside.unwrap();
        assert!(ledger.is_disturbed(beside));
        assert!(!ledger.is_disturbed(ledger.renew(beside)));
        assert!(!ledger.is_disturbed(ledger.enter(&id())));
    }
}
