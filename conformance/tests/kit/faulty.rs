//! Stores that are wrong in the ways people get wrong, each caught by the case that names it. The feature `meta` has one for
//! every clause.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use leasehold::{
    CellStore, Clock, Damaged, DiscardOutcome, LeaseCell, OwnerId, OwnershipStore, Reach, Reading, Record,
    SandboxId, Step, StoreError, Ttl, Write,
};
use leasehold_conformance::{Capabilities, Harness, Namespace, Unready, Verdict};

use crate::support::case;

/// What the cell does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wrong {
    Nothing,
    /// The record is forgotten together with its fence.
    NoMark,
    /// New fences are the wall clock's.
    FencesFromTheClock,
    /// The clock is the calendar.
    TimedByTheCalendar,
    /// An extension is taken for a whole new record only.
    ExtendIsLost,
    /// What was read may be old by the time it is written.
    ReadsThenWrites,
    /// What ran out stays.
    NeverSweeps,
    /// Ids go into a file name that folds them.
    FoldsCase,
}

#[derive(Clone)]
struct WrongHarness(Wrong);

impl Harness for WrongHarness {
    fn name(&self) -> String {
        format!("{:?}", self.0)
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::virtual_time(Reach::Process)
    }

    fn fresh(&self) -> Result<Box<dyn Namespace>, Unready> {
        Ok(Box::new(WrongNamespace(self.0, Arc::default())))
    }
}

#[derive(Default)]
struct Table {
    records: BTreeMap<String, (SandboxId, Record)>,
    mark: u64,
}

struct WrongNamespace(Wrong, Arc<Mutex<Table>>);

impl Namespace for WrongNamespace {
    fn open(
        &self,
        owner: OwnerId,
        ttl: Ttl,
        clock: Arc<dyn Clock>,
    ) -> Result<Arc<dyn OwnershipStore>, StoreError> {
        let cell = WrongCell { wrong: self.0, table: Arc::clone(&self.1), clock };
        Ok(Arc::new(CellStore::new(cell, owner, ttl)))
    }

    fn stored(&self) -> Option<u64> {
        Some(self.1.lock().unwrap().records.len() as u64)
    }
}

struct WrongCell {
    wrong: Wrong,
    table: Arc<Mutex<Table>>,
    clock: Arc<dyn Clock>,
}

impl WrongCell {
    fn key(&self, id: &SandboxId) -> String {
        let text = id.as_str();
        if self.wrong == Wrong::FoldsCase { text.to_lowercase() } else { text.to_owned() }
    }

    fn reading(&self, table: &Table) -> Reading {
        let now = if self.wrong == Wrong::TimedByTheCalendar {
            leasehold::Moment::from_nanos(self.clock.wall() * 1_000)
        } else {
            self.clock.now()
        };
        let wall = self.clock.wall();
        let fence_floor =
            if self.wrong == Wrong::FencesFromTheClock { wall } else { wall.max(table.mark + 1) };
        Reading { now, fence_floor }
    }

    fn forget(&self, table: &mut Table, key: &str) {
        let gone = table.records.remove(key);
        if self.wrong != Wrong::NoMark {
            let fence = gone.and_then(|(_, record)| record.fence).map_or(0, |fence| fence.get());
            table.mark = table.mark.max(fence);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap()
    }
}

impl LeaseCell for WrongCell {
    fn reach(&self) -> Reach {
        Reach::Process
    }

    fn update<T>(
        &self,
        id: &SandboxId,
        rule: impl Fn(Option<&Record>, Reading) -> Step<T>,
    ) -> Result<T, StoreError> {
        let key = self.key(id);
        let mut table = self.lock();
        let reading = self.reading(&table);
        let Step { write, answer } = rule(table.records.get(&key).map(|(_, record)| record), reading);
        if self.wrong == Wrong::ReadsThenWrites {
            drop(table);
            (0..50).for_each(|_| std::thread::yield_now());
            table = self.lock();
        }
        match write {
            Write::Nothing => {}
            Write::Extend(_) if self.wrong == Wrong::ExtendIsLost => {}
            Write::Extend(expires) => {
                table.records.entry(key).and_modify(|(_, record)| record.expires = expires);
            }
            Write::Put(record) => {
                if self.wrong != Wrong::NeverSweeps {
                    let dead = table.records.iter().filter(|(_, (_, record))| !record.is_live(reading.now));
                    let dead: Vec<String> =
                        dead.map(|(key, _)| key.clone()).filter(|dead| *dead != key).collect();
                    dead.iter().for_each(|dead| self.forget(&mut table, dead));
                }
                table.records.insert(key, (id.clone(), record));
            }
            Write::Remove => self.forget(&mut table, &key),
        }
        Ok(answer)
    }

    fn scan(
        &self,
        each: &mut dyn FnMut(Result<(SandboxId, Record, Reading), Damaged>),
    ) -> Result<(), StoreError> {
        let table = self.lock();
        let reading = self.reading(&table);
        table.records.values().cloned().for_each(|(id, record)| each(Ok((id, record, reading))));
        Ok(())
    }

    fn discard(&self, id: &SandboxId, force: bool) -> Result<DiscardOutcome, StoreError> {
        self.update(id, |before, reading| match before.and_then(|record| record.lease_at(reading.now)) {
            None => Step { write: Write::Nothing, answer: DiscardOutcome::Absent },
            Some(lease) if !force => Step { write: Write::Nothing, answer: DiscardOutcome::Refused(lease) },
            Some(_) => Step { write: Write::Remove, answer: DiscardOutcome::Discarded },
        })
    }
}

#[track_caller]
fn caught(wrong: Wrong, id: &str) {
    let (sound, broken) =
        (case(id).run(&WrongHarness(Wrong::Nothing), 1), case(id).run(&WrongHarness(wrong), 1));
    assert_eq!(sound, Verdict::Passed, "{id} on a store that is in order");
    assert!(matches!(broken, Verdict::Failed { .. }), "{id} on {wrong:?}: {broken:?}");
}

#[test]
fn fences_that_are_forgotten_with_the_record_are_seen() {
    for id in ["F2.it_holds_across_a_release", "F2.it_holds_across_an_expiry", "F2.it_holds_across_a_discard"]
    {
        caught(Wrong::NoMark, id);
        caught(Wrong::FencesFromTheClock, id);
    }
}

#[test]
fn a_store_timed_by_the_calendar_is_seen() {
    caught(Wrong::TimedByTheCalendar, "E3.the_wall_clock_set_forward_changes_nothing");
    caught(Wrong::TimedByTheCalendar, "E3.the_wall_clock_set_back_changes_nothing");
}

#[test]
fn a_refresh_that_is_lost_is_seen() {
    for id in [
        "R1.mine_is_renewed",
        "C2.mine_is_refreshed",
        "C5.my_teardown_is_refreshed",
        "E1.renewals_carry_it_on",
    ] {
        caught(Wrong::ExtendIsLost, id);
    }
}

#[test]
fn reading_first_and_writing_later_is_seen() {
    caught(Wrong::ReadsThenWrites, "A1.one_claim_of_many_wins");
}

#[test]
fn storage_that_grows_is_seen() {
    caught(Wrong::NeverSweeps, "S5.ids_that_ran_out_take_no_room");
}

#[test]
fn ids_that_are_folded_together_are_seen() {
    caught(Wrong::FoldsCase, "S3.letter_case_is_kept");
}
