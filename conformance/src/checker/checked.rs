use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use leasehold::SandboxId;

use super::explain::Unexplained;
use super::operation::{Operation, Owners};
use super::search::{Outcome, Span, Start, search};
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
    /// Configurations at a time, above which a stretch is given up: a few megabytes.
    const LIMIT: usize = 20_000;

    /// Whether every answer was checked and has an explanation.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.unexplained.is_empty() && self.unchecked == 0
    }

    fn add(&mut self, outcome: &Outcome, answers: usize, unexplained: Option<Unexplained>) {
        self.most = self.most.max(outcome.most);
        self.unchecked += outcome.unchecked;
        self.explained += answers - outcome.unchecked - usize::from(unexplained.is_some());
        self.unexplained.extend(unexplained);
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
        self.unexplained.iter().try_for_each(|unexplained| write!(f, "\n{unexplained}"))
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
    let mut outcome = search(&operations, &spans, timing, Start::FRESH, Checked::LIMIT);
    let answers = spans.iter().filter(|span| span.answered != u64::MAX).count();
    let unexplained = outcome.unexplained.take().map(|(index, states)| {
        let end = spans[index].answered;
        let later = spans.iter().filter(|span| span.answered > end && span.answered != u64::MAX).count();
        outcome.unchecked += later;
        let start = shortest(&operations, &spans, timing, index);
        let shown = |other: &&Event| other.called.order <= end && span(other).answered >= start;
        let window = events.iter().filter(shown).cloned().collect();
        Unexplained::new(events[index].clone(), &operations[index], window, &states, &owners)
    });
    checked.add(&outcome, answers, unexplained);
}

fn span(event: &Event) -> Span {
    let answered = match &event.answer {
        Some((_, Answer::Failed(_))) | None => u64::MAX,
        Some((answered, _)) => answered.order,
    };
    Span { called: event.called.order, answered }
}

/// The latest moment at which a history may begin, with anything there and anything under way, so that the answer of
/// `index` is still without an explanation.
fn shortest(operations: &[Operation], spans: &[Span], timing: Timing, index: usize) -> u64 {
    let end = spans[index].answered;
    let mut calls: Vec<u64> = spans.iter().map(|span| span.called).filter(|called| *called <= end).collect();
    calls.sort_unstable();
    let mut back = 1;
    while back < calls.len() {
        let order = calls[calls.len() - back];
        let within = |span: &Span| span.answered >= order && span.called <= end;
        let kept = || spans.iter().enumerate().filter(|(_, span)| within(span)).map(|(index, _)| index);
        let some: Vec<Operation> = kept().map(|index| operations[index].clone()).collect();
        let theirs: Vec<Span> = kept().map(|index| spans[index]).collect();
        let start = Start { state: State::UNKNOWN, order };
        let outcome = search(&some, &theirs, timing, start, Checked::LIMIT);
        if outcome.unexplained.is_some_and(|(found, _)| kept().nth(found) == Some(index)) {
            return order;
        }
        back = if back < 16 { back + 1 } else { back * 2 };
    }
    0
}
