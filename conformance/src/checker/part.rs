use super::state::State;

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
    /// Whether there is no explanation.
    pub(super) unexplained: bool,
    /// How many answers were not checked, because there were too many ways to go.
    pub(super) unchecked: usize,
    /// The most configurations at a time.
    pub(super) most: usize,
    /// What may be there at the end.
    pub(super) states: Vec<State>,
}

/// Which part of a history is searched, and how.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    /// What is there at its beginning.
    pub(super) state: State,
    /// What was called earlier than this may have taken effect before the beginning, after it, or not at all.
    pub(super) from: u64,
    /// What is answered later than this may have taken effect or not; what is called later has no part in it.
    pub(super) to: u64,
    /// Lets operations that need not take effect do so only where nothing else explains an answer. That is quick, and in
    /// rare cases finds no explanation where there is one.
    pub(super) thrifty: bool,
}

impl Part {
    /// All of it.
    pub(super) const WHOLE: Self = Self { state: State::FRESH, from: 0, to: u64::MAX - 1, thrifty: true };

    /// Whether the operation has to take effect in this part.
    pub(super) fn requires(&self, span: &Span) -> bool {
        span.called >= self.from && span.answered <= self.to
    }

    fn has(&self, span: &Span) -> bool {
        span.answered >= self.from && span.called <= self.to
    }

    /// Its calls and answers in the order of time, each with the index of its operation and whether it is an answer. At the
    /// same moment calls come first, for then they overlap.
    pub(super) fn in_time(self, spans: &[Span]) -> Vec<(u64, bool, usize)> {
        let within = || spans.iter().enumerate().filter(|(_, span)| self.has(span));
        let calls = within().map(|(index, span)| (span.called, false, index));
        let answers = within().map(|(index, span)| (span.answered, true, index));
        let mut all: Vec<_> = calls.chain(answers.filter(|(order, ..)| *order <= self.to)).collect();
        all.sort_unstable();
        all
    }
}
