//! The checker beside the definition itself: every order and every reading of a small history, tried out with the rules of
//! the core. The two have to say the same, of right and of wrong histories.

use leasehold::rules::Asker;
use leasehold::{ClaimOutcome, DiscardOutcome, TakeOutcome};
use leasehold::{Fence, Moment, Reading, Record, Ttl, Write};
use leasehold_conformance::history::{Answer, Event, Stamp};

use crate::generated::{Shape, history, spoilt};
use crate::support::{Dice, checked};

/// Whether some order of the events and some readings explain every answer.
fn explained(events: &[Event]) -> bool {
    fn go(events: &[Event], done: u32, record: Option<&Record>, mark: u64) -> bool {
        let open = || (0..events.len()).filter(|n| done & (1 << n) == 0);
        let Some(due) = open().map(|n| answered(&events[n]).order).min() else { return true };
        open().filter(|n| events[*n].called.order <= due).any(|n| {
            let event = &events[n];
            let (from, until) = (event.called.clock.as_nanos(), answered(event).clock.as_nanos());
            let mut after = Vec::new();
            for now in (from..=until).step_by(1_000_000) {
                for outcome in outcomes(event, record, Moment::from_nanos(now), mark) {
                    if !after.contains(&outcome) {
                        after.push(outcome);
                    }
                }
            }
            after.iter().any(|(record, mark)| go(events, done | 1 << n, record.as_ref(), *mark))
        })
    }
    go(events, 0, None, 0)
}

fn answered(event: &Event) -> Stamp {
    event.answer.as_ref().expect("nothing fails here").0
}

/// What the record and the mark may be after `event`, read at `now`, with the answer that it got.
fn outcomes(event: &Event, before: Option<&Record>, now: Moment, mark: u64) -> Vec<(Option<Record>, u64)> {
    let given = event.answer.as_ref().and_then(|(_, answer)| answer.fence());
    let floor = given.map_or(0, Fence::get).max(mark + 1);
    let reading = Reading { now, fence_floor: floor };
    let asker = Asker { owner: &event.owner, ttl: Ttl::new(event.ttl).unwrap() };
    let step = event.asked.by_rules(before, asker, reading);
    let mut all = vec![(step.write, step.answer)];
    if before.is_some() && all[0].1 == Answer::Discard(DiscardOutcome::Absent) {
        // What ran out may have been left in its place, or be discarded from it.
        all = vec![
            (Write::Nothing, Answer::Discard(DiscardOutcome::Absent)),
            (Write::Remove, Answer::Discard(DiscardOutcome::Discarded)),
        ];
    }
    let mut found = Vec::new();
    for (write, answer) in all {
        if event.answer.as_ref().is_none_or(|(_, given)| *given != answer) {
            continue;
        }
        let begun = match &answer {
            Answer::Take(TakeOutcome::Taken { tenure, .. })
            | Answer::Claim(ClaimOutcome::Claimed { tenure, .. }) => tenure.fence.get(),
            _ => 0,
        };
        let after = match write {
            Write::Nothing => before.cloned(),
            Write::Extend(expires) => before.cloned().map(|record| Record { expires, ..record }),
            Write::Put(record) => Some(record),
            Write::Remove => None,
        };
        found.push((after, mark.max(begun)));
    }
    found
}

/// Small enough to try everything, with times that make leases run out among them.
const SMALL: Shape = Shape { operations: 6, threads: 3, fences_apart: 2, pause: 30, lasts: 40, failures: 0 };

#[test]
fn the_checker_says_what_trying_everything_says() {
    let (mut right, mut wrong) = (0, 0);
    for seed in 0..6_000 {
        let mut dice = Dice(seed);
        let mut events = history(&mut dice, SMALL);
        if seed % 3 != 0 {
            spoilt(&mut events, &mut dice);
        }
        let (quick, slow) = (checked(&events), explained(&events));
        assert!(quick.is_complete() || !quick.unexplained.is_empty());
        assert_eq!(quick.unexplained.is_empty(), slow, "seed {seed}: {quick}\n{events:#?}");
        if slow { right += 1 } else { wrong += 1 }
    }
    assert!(right > 1_000 && wrong > 1_000, "{right} right and {wrong} wrong ones");
}
