//! The search: the events of one sandbox from first to last, and beside them every state in which the sandbox may be.
//!
//! It follows Lowe's just-in-time linearization. A *configuration* is a state and which of the open operations have taken
//! effect in it already. At an answer every configuration in which that operation has not taken effect yet is replaced by
//! all that come of letting other open operations take effect, and then this one. When none is left, the history up to that
//! answer has no explanation; so the failing prefix is the shortest there is.
//!
//! What keeps the configurations few, and leaves out nothing that could matter:
//!
//! - an operation that fits a state without changing it, or what is known of it, takes effect at once: it is in nobody's way;
//! - tenures begin in the order of their fences, so a tenure may begin only if none with a smaller fence is to come;
//! - a tenure may end only when everything that is known, from its answer, to have taken effect under that fence has;
//! - a record may go only if the next tenure says that it replaced nothing.

use std::collections::{HashMap, HashSet};

use super::operation::{Operation, Over, Said};
use super::state::{Place, State};
use super::step::step;
use super::timing::Timing;

/// More operations can't be open at a time: each is a bit.
const SLOTS: usize = u128::BITS as usize;

/// Open operations as bits.
type Slots = u128;

/// One operation's place in time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub(super) called: u64,
    /// The end of time for what was never answered.
    pub(super) answered: u64,
}

/// How far the search went.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    /// The answer that has no explanation, by the index of its operation, and in which states it may have been given.
    pub(super) unexplained: Option<(usize, Vec<State>)>,
    /// How many answers were not checked, because there were too many ways to go.
    pub(super) unchecked: usize,
    /// The most configurations at a time.
    pub(super) most: usize,
}

/// Where a search begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Start {
    /// What is there.
    pub(super) state: State,
    /// What was called earlier may have taken effect before or after the start, or not at all.
    pub(super) order: u64,
}

impl Start {
    /// At the beginning of everything.
    pub(super) const FRESH: Self = Self { state: State::FRESH, order: 0 };
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Config {
    state: State,
    done: Slots,
}

struct Search<'a> {
    operations: &'a [Operation],
    timing: Timing,
    /// The operation of each slot.
    open: Vec<Option<usize>>,
    /// Slots of operations that need not have taken effect.
    optional: Slots,
    /// Whether every operation was answered, so that every tenure is known.
    certain: bool,
    /// How many operations that are yet to be called tell of a fence.
    mentioned: HashMap<u64, usize>,
    /// Of the tenures whose operations are yet to be called the one with the smallest fence, by how many were called.
    next_begun: Vec<Option<usize>>,
    called: usize,
    configs: HashSet<Config>,
    limit: usize,
}

/// Checks the operations of one sandbox. `spans` are theirs; all are given in the order in which they were called.
///
/// `limit` bounds the configurations; where they are more, that stretch is given up and counted as unchecked.
pub(super) fn search(
    operations: &[Operation],
    spans: &[Span],
    timing: Timing,
    start: Start,
    limit: usize,
) -> Outcome {
    let mut search = Search::new(operations, spans, timing, start, limit);
    let mut outcome = Outcome::default();
    for (order, answered, index) in in_time(spans) {
        if !answered {
            if !search.call(index, order < start.order) {
                outcome.unchecked += spans[index..].iter().filter(|span| span.answered != u64::MAX).count();
                return outcome;
            }
        } else {
            match search.answer(index) {
                Answered::Explained => {}
                Answered::Optional | Answered::TooMany => outcome.unchecked += 1,
                Answered::Unexplained(states) => {
                    outcome.unexplained = Some((index, states));
                    return outcome;
                }
            }
        }
        outcome.most = outcome.most.max(search.configs.len());
    }
    outcome
}

/// Calls and answers in the order of time; at the same moment calls come first, for then they overlap.
fn in_time(spans: &[Span]) -> Vec<(u64, bool, usize)> {
    let calls = spans.iter().enumerate().map(|(index, span)| (span.called, false, index));
    let answers = spans.iter().enumerate().map(|(index, span)| (span.answered, true, index));
    let mut all: Vec<_> = calls.chain(answers.filter(|(order, ..)| *order != u64::MAX)).collect();
    all.sort_unstable();
    all
}

enum Answered {
    Explained,
    /// It need not be explained.
    Optional,
    /// There were too many ways; from here on anything may be there.
    TooMany,
    Unexplained(Vec<State>),
}

impl<'a> Search<'a> {
    fn new(operations: &'a [Operation], spans: &[Span], timing: Timing, start: Start, limit: usize) -> Self {
        let mut mentioned = HashMap::new();
        let required = |index: usize| spans[index].called >= start.order;
        for (_, op) in operations.iter().enumerate().filter(|(index, _)| required(*index)) {
            if let Some(fence) = op.mentions() {
                *mentioned.entry(fence).or_default() += 1;
            }
        }
        let mut next_begun = vec![None; operations.len() + 1];
        for index in (0..operations.len()).rev() {
            let later: Option<usize> = next_begun[index + 1];
            let fence = operations[index].begins().filter(|_| required(index));
            let smaller = fence.filter(|fence| {
                later.and_then(|later| operations[later].begins()).is_none_or(|later| *fence < later)
            });
            next_begun[index] = if smaller.is_some() { Some(index) } else { later };
        }
        let configs = HashSet::from([Config { state: start.state, done: 0 }]);
        let certain = !operations.iter().any(|op| matches!(op.said, Said::Unanswered(_)) && !op.is_mute());
        let (open, optional) = (Vec::new(), 0);
        Self { operations, timing, open, optional, certain, mentioned, next_begun, called: 0, configs, limit }
    }

    /// An operation is open from now on; `false` when there is no room for it.
    fn call(&mut self, index: usize, optional: bool) -> bool {
        let op = &self.operations[index];
        self.called = index + 1;
        if op.is_mute() {
            return true;
        }
        let slot = match self.open.iter().position(Option::is_none) {
            Some(free) => free,
            None if self.open.len() == SLOTS => return false,
            None => {
                self.open.push(None);
                self.open.len() - 1
            }
        };
        self.open[slot] = Some(index);
        if optional || matches!(op.said, Said::Unanswered(_)) {
            self.optional |= 1 << slot;
        }
        if let Some(left) = op.mentions().filter(|_| !optional).and_then(|f| self.mentioned.get_mut(&f)) {
            *left -= 1;
        }
        let (op, timing) = (&self.operations[index], self.timing);
        let configs = std::mem::take(&mut self.configs).into_iter();
        self.configs = configs
            .map(|config| {
                let fits = step(op, config.state, timing).any(|after| after == config.state);
                Config { done: if fits { config.done | 1 << slot } else { config.done }, ..config }
            })
            .collect();
        true
    }

    fn answer(&mut self, index: usize) -> Answered {
        let Some(slot) = self.open.iter().position(|open| *open == Some(index)) else {
            return Answered::Explained;
        };
        let bit: Slots = 1 << slot;
        let before = std::mem::take(&mut self.configs);
        let optional = self.optional & bit != 0;
        let mut after = HashSet::with_capacity(before.len());
        let mut room = self.limit * 16;
        for config in &before {
            if optional || config.done & bit != 0 {
                after.insert(Config { done: config.done & !bit, ..*config });
            }
            // One that need not take effect may have, and later answers may tell.
            if config.done & bit == 0 {
                self.explain(*config, bit, &mut after, &mut room);
            }
        }
        self.open[slot] = None;
        self.optional &= !bit;
        if after.len() > self.limit || room == 0 {
            self.give_up();
            return Answered::TooMany;
        }
        if after.is_empty() {
            let states: HashSet<State> = before.into_iter().map(|config| config.state).collect();
            return Answered::Unexplained(states.into_iter().collect());
        }
        self.configs = after;
        if optional { Answered::Optional } else { Answered::Explained }
    }

    /// From here on anything may be there, and what is open may have taken effect or not.
    fn give_up(&mut self) {
        for (slot, open) in self.open.iter().enumerate() {
            if open.is_some() {
                self.optional |= 1 << slot;
            }
        }
        self.configs = HashSet::from([Config { state: State::UNKNOWN, done: 0 }]);
    }

    /// Every configuration that comes of letting open operations take effect in `from`, until the one of `target` has.
    fn explain(&self, from: Config, target: Slots, after: &mut HashSet<Config>, room: &mut usize) {
        let mut seen = HashSet::from([from]);
        let mut stack = vec![from];
        while let Some(config) = stack.pop() {
            if *room == 0 {
                return;
            }
            *room -= 1;
            for (slot, index) in self.undone(config.done) {
                let op = &self.operations[index];
                for state in step(op, config.state, self.timing) {
                    if state == config.state || !self.allows(config, index, state) {
                        continue;
                    }
                    let next = self.settled(Config { state, done: config.done | 1 << slot });
                    if next.done & target != 0 {
                        after.insert(Config { done: next.done & !target, ..next });
                    } else if seen.insert(next) {
                        stack.push(next);
                    }
                }
            }
        }
    }

    /// The same after every open operation that fits its state has taken effect.
    fn settled(&self, config: Config) -> Config {
        let fits = |index: usize| {
            step(&self.operations[index], config.state, self.timing).any(|after| after == config.state)
        };
        let fitting = self.undone(config.done).filter(|(_, index)| fits(*index));
        let done = fitting.fold(config.done, |done, (slot, _)| done | 1 << slot);
        Config { done, ..config }
    }

    /// Open operations that have not taken effect, with their slots.
    fn undone(&self, done: Slots) -> impl Iterator<Item = (usize, usize)> {
        let open = self.open.iter().enumerate();
        open.filter_map(move |(slot, index)| Some((slot, (*index)?)).filter(|_| done & (1 << slot) == 0))
    }

    /// The same without those that need not take effect.
    fn required(&self, done: Slots) -> impl Iterator<Item = (usize, &Operation)> {
        self.undone(done | self.optional).map(|(_, index)| (index, &self.operations[index]))
    }

    /// Whether letting the operation `index` turn `config` into `state` leaves a way for all the others.
    fn allows(&self, config: Config, index: usize, state: State) -> bool {
        let op = &self.operations[index];
        let left = config.state.fence().filter(|fence| state.fence() != Some(*fence));
        if left.is_some_and(|fence| self.is_needed(fence, config.done, index)) {
            return false;
        }
        match op.begins() {
            Some(fence) => self.next(config.done).is_none_or(|next| fence <= next.0),
            None if state.place == Place::Absent && self.certain && self.optional == 0 => {
                self.may_go(config.done)
            }
            // Operations without an answer may begin tenures that nobody knows of.
            None => true,
        }
    }

    /// Whether some operation, this one apart, has to take effect under `fence`.
    fn is_needed(&self, fence: u64, done: Slots, apart: usize) -> bool {
        self.mentioned.get(&fence).is_some_and(|left| *left > 0)
            || self.required(done).any(|(index, op)| index != apart && op.mentions() == Some(fence))
    }

    /// The smallest fence of a tenure that is yet to begin, and what that replaces.
    fn next(&self, done: Slots) -> Option<(u64, Over)> {
        let later = self.next_begun[self.called].map(|index| &self.operations[index]);
        let open = self.required(done).map(|(_, op)| op);
        let begun = open.chain(later).filter_map(|op| match op.said {
            Said::Begun { fence, over, .. } => Some((fence, over)),
            _ => None,
        });
        begun.min_by_key(|(fence, _)| *fence)
    }

    fn may_go(&self, done: Slots) -> bool {
        self.next(done).is_none_or(|(_, over)| over == Over::Nothing)
    }
}
