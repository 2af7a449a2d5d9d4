use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use leasehold::SandboxId;

use super::explain::Unexplained;
use super::operation::{Operation, Owners};
use super::part::{Outcome, Part, Span};
use super::search::search;
use super::state::State;
use super::timing::Timing;
use crate::history::{Answer, Event};

/// What became of a history.
#[must_use = "a history may be unexplained"]
#[derive(Clone, Debug, Default)]
pub struct Checked {
    /// Answers that the table explains, together with all the others.
    pub explained: usize,
    /// Answers that were not checked: too many orders were possible for a stretch, or the search of that sandbox had ended
    /// at an answer without an explanation.
    pub unchecked: usize,
    /// Operations that failed or were never answered.
    pub unanswered: usize,
    /// The first errors among those, as they were said.
    pub errors: Vec<String>,
    /// Tenures that began.
    pub tenures: usize,
    /// The longest time from a call to its answer.
    pub slowest: Duration,
    /// The most states in which one sandbox may have been at a time, as far as the history tells.
    pub most: usize,
    /// For each sandbox the first answer that has no explanation.
    pub unexplained: Vec<Unexplained>,
}

impl Checked {
    /// Errors that are kept; more say no more.
    const ERRORS: usize = 5;
    /// Unexplained answers that are shown in full.
    const SHOWN: usize = 3;
    /// Configurations at a time, above which a stretch is given up.
    const LIMIT: usize = 2_000;

    /// Whether every answer was checked and has an explanation.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.unexplained.is_empty() && self.unchecked == 0
    }
}

impl fmt::Display for Checked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { explained, unchecked, unanswered, tenures, slowest, most, .. } = self;
        write!(
            f,
            "{explained} answers explained, {} not, {unchecked} not checked; {unanswered} calls without an answer; \
             {tenures} tenures; slowest {slowest:.1?}; at most {most} states at a time",
            self.unexplained.len()
        )?;
        self.unexplained.iter().take(Self::SHOWN).try_for_each(|unexplained| write!(f, "\n{unexplained}"))?;
        match self.unexplained.len().saturating_sub(Self::SHOWN) {
            0 => Ok(()),
            more => write!(f, "\n… and {more} more, each of another sandbox"),
        }
    }
}

/// Checks a history, in whatever order its events are given. Each sandbox begins absent.
pub fn check(events: Vec<Event>, timing: Timing) -> Checked {
    let mut checked = Checked::default();
    let mut sandboxes: BTreeMap<SandboxId, Vec<Event>> = BTreeMap::new();
    for event in events {
        checked.slowest = checked.slowest.max(event.took().unwrap_or_default());
        match &event.answer {
            None => checked.unanswered += 1,
            Some((_, Answer::Failed(why))) => {
                checked.unanswered += 1;
                if checked.errors.len() < Checked::ERRORS {
                    checked.errors.push(why.clone());
                }
            }
            Some(_) => {}
        }
        sandboxes.entry(event.id.clone()).or_default().push(event);
    }
    for mut events in sandboxes.into_values() {
        events.sort_by_key(|event| event.called.order);
        one(&mut checked, &events, timing);
    }
    checked
}

/// Checks the events of one sandbox, in the order in which they were called.
fn one(checked: &mut Checked, events: &[Event], timing: Timing) {
    let mut owners = Owners::default();
    let operations: Vec<Operation> = events.iter().map(|event| Operation::of(event, &mut owners)).collect();
    let spans: Vec<Span> = events.iter().map(span).collect();
    checked.tenures += operations.iter().filter(|op| op.begins().is_some()).count();
    let run = |part: Part| {
        let quick = search(&operations, &spans, timing, part, Checked::LIMIT);
        let again = quick.unexplained && part.thrifty;
        if again {
            search(&operations, &spans, timing, Part { thrifty: false, ..part }, Checked::LIMIT)
        } else {
            quick
        }
    };
    let whole = run(Part::WHOLE);
    checked.most = checked.most.max(whole.most);
    let answers = || spans.iter().map(|span| span.answered).filter(|answered| *answered != u64::MAX);
    if !whole.unexplained {
        checked.unchecked += whole.unchecked;
        checked.explained += answers().count() - whole.unchecked;
        return;
    }
    let (end, before) = first_unexplained(answers().collect(), &run);
    let shortest = shortest(&spans, end, &run);
    let shown = |event: &&Event| event.called.order <= end && span(event).answered >= shortest;
    let window = events.iter().filter(shown).cloned().collect();
    let index = spans.iter().position(|span| span.answered == end).expect("it is the order of an answer");
    let found = Unexplained::new(events[index].clone(), &operations[index], window, &before.states, &owners);
    checked.unexplained.push(found);
    let earlier = answers().filter(|answered| *answered < end).count();
    checked.explained += earlier - before.unchecked;
    checked.unchecked += answers().count() - earlier - 1 + before.unchecked;
}

fn span(event: &Event) -> Span {
    let answered = match &event.answer {
        Some((_, Answer::Failed(_))) | None => u64::MAX,
        Some((answered, _)) => answered.order,
    };
    Span { called: event.called.order, answered }
}

/// The first answer up to which the history has no explanation, and what the search makes of what comes before it.
fn first_unexplained(mut answers: Vec<u64>, run: &impl Fn(Part) -> Outcome) -> (u64, Outcome) {
    answers.sort_unstable();
    answers.dedup();
    let explained = |answer: &u64| !run(Part { to: *answer, ..Part::WHOLE }).unexplained;
    let first = answers.partition_point(explained);
    // What the whole does not explain, the whole up to its last answer does not either.
    let first = first.min(answers.len() - 1);
    let to = first.checked_sub(1).map_or(0, |before| answers[before]);
    (answers[first], run(Part { to, ..Part::WHOLE }))
}

/// The latest moment at which a history may begin, with anything there and anything under way, so that it still has no
/// explanation up to `end`.
fn shortest(spans: &[Span], end: u64, run: &impl Fn(Part) -> Outcome) -> u64 {
    let mut calls: Vec<u64> = spans.iter().map(|span| span.called).filter(|called| *called <= end).collect();
    calls.sort_unstable();
    let mut back = 1;
    while back < calls.len() {
        let from = calls[calls.len() - back];
        if run(Part { state: State::UNKNOWN, from, to: end, thrifty: true }).unexplained {
            return from;
        }
        back = if back < 16 { back + 1 } else { back * 2 };
    }
    0
}
