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
use super::part::{Outcome, Part, Span};
use super::state::{Place, State};
use super::step::step;
use super::timing::Timing;

/// More operations can't be open at a time: each is a bit.
const SLOTS: usize = u128::BITS as usize;

/// Open operations as bits.
type Slots = u128;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Config {
    state: State,
    done: Slots,
}

struct Search<'a> {
    operations: &'a [Operation],
    timing: Timing,
    thrifty: bool,
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

/// Checks a part of the operations of one sandbox. `spans` are theirs; all are given in the order in which they were called.
///
/// `limit` bounds the configurations; where they are more, that stretch is given up and counted as unchecked.
pub(super) fn search(
    operations: &[Operation],
    spans: &[Span],
    timing: Timing,
    part: Part,
    limit: usize,
) -> Outcome {
    let mut search = Search::new(operations, spans, timing, part, limit);
    let mut outcome = Outcome::default();
    for (at, (_, answered, index)) in part.in_time(spans).into_iter().enumerate() {
        if !answered {
            if !search.call(index, !part.requires(&spans[index])) {
                // No room for it, nor for any other: from here on nothing can be said.
                let left = part.in_time(spans).into_iter().skip(at).filter(|(_, answered, _)| *answered);
                outcome.unchecked += left.count();
                break;
            }
        } else {
            match search.answer(index) {
                Answered::Explained => {}
                Answered::Optional | Answered::TooMany => outcome.unchecked += 1,
                Answered::Unexplained => {
                    outcome.unexplained = true;
                    break;
                }
            }
        }
        outcome.most = outcome.most.max(search.configs.len());
    }
    let states: HashSet<State> = search.configs.iter().map(|config| config.state).collect();
    outcome.states = states.into_iter().collect();
    outcome
}

enum Answered {
    Explained,
    /// It need not be explained.
    Optional,
    /// There were too many ways; from here on anything may be there.
    TooMany,
    Unexplained,
}

impl<'a> Search<'a> {
    /// How many configurations may be looked at for one answer, as a multiple of how many may be left by it.
    const ROOM: usize = 8;

    fn new(operations: &'a [Operation], spans: &[Span], timing: Timing, part: Part, limit: usize) -> Self {
        let mut mentioned = HashMap::new();
        let required = |index: usize| part.requires(&spans[index]);
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
        let certain = (0..operations.len()).all(|index| required(index) || operations[index].is_mute());
        let (open, optional, called) = (Vec::new(), 0, 0);
        let thrifty = part.thrifty;
        let configs = HashSet::from([Config { state: part.state, done: 0 }]);
        Self {
            operations,
            timing,
            thrifty,
            open,
            optional,
            certain,
            mentioned,
            next_begun,
            called,
            configs,
            limit,
        }
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
        if optional {
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
        let mut room = self.limit * Self::ROOM;
        // One that need not take effect may have, and later answers may tell; otherwise it is the target of a search.
        for config in &before {
            if optional || config.done & bit != 0 {
                after.insert(Config { done: config.done & !bit, ..*config });
            }
        }
        let undone = || before.iter().filter(|config| config.done & bit == 0);
        for &optionals in self.levels() {
            let found = after.len();
            undone().for_each(|config| self.explain(*config, bit, optionals, &mut after, &mut room));
            if self.thrifty && (after.len() > found || !optional && !after.is_empty()) {
                break;
            }
        }
        self.open[slot] = None;
        self.optional &= !bit;
        if self.optional != 0 {
            after = self.thriftiest(after);
        }
        if after.len() > self.limit || room == 0 {
            self.give_up();
            return Answered::TooMany;
        }
        if after.is_empty() {
            return Answered::Unexplained;
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

    /// Without configurations that differ from another only in having let more take effect of what need not: whatever comes
    /// of them comes of the other too.
    fn thriftiest(&self, configs: HashSet<Config>) -> HashSet<Config> {
        let mut alike: HashMap<Config, Vec<Slots>> = HashMap::new();
        let mut all: Vec<Config> = configs.into_iter().collect();
        all.sort_unstable_by_key(|config| (config.done & self.optional).count_ones());
        for config in all {
            let spent = config.done & self.optional;
            let others = alike.entry(Config { done: config.done & !self.optional, ..config }).or_default();
            if !others.iter().any(|less| less & !spent == 0) {
                others.push(spent);
            }
        }
        let whole = |(config, spent): (Config, Vec<Slots>)| {
            spent.into_iter().map(move |spent| Config { done: config.done | spent, ..config })
        };
        alike.into_iter().flat_map(whole).collect()
    }

    /// How many operations that need not take effect may do so in one search: at first none, and then more.
    fn levels(&self) -> &'static [u32] {
        match (self.optional, self.thrifty) {
            (0, _) | (_, false) => &[u32::MAX],
            (_, true) => &[0, 1, 2, u32::MAX],
        }
    }

    /// Every configuration that comes of letting open operations take effect in `from`, until the one of `target` has; at
    /// most `optionals` among them of those that need not.
    fn explain(
        &self,
        from: Config,
        target: Slots,
        optionals: u32,
        after: &mut HashSet<Config>,
        room: &mut usize,
    ) {
        let mut seen = HashSet::from([from]);
        let mut stack = vec![from];
        let spare = self.optional & !target;
        while let Some(config) = stack.pop() {
            if *room == 0 {
                return;
            }
            *room -= 1;
            let spent = (config.done & !from.done & spare).count_ones() >= optionals;
            let left_out = if spent { spare } else { 0 };
            for (slot, index) in self.undone(config.done | left_out) {
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
