//! One poll, or one closure, under the gate.

use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};

use crate::engine::{self, Blind};
use crate::tape::Tape;
use crate::{ProcessSpawn, Settings, Violation, frames, inside, report};

/// What a gated future carries from poll to poll: its settings, and the tape that the engine writes on.
pub(crate) struct Scope {
    tape: Tape,
    settings: Settings,
    place: &'static Location<'static>,
}

impl Scope {
    pub(crate) fn new(settings: Settings, place: &'static Location<'static>) -> Self {
        Self { tape: Tape::new(), settings, place }
    }

    /// Where the gate was put up, in the caller's source.
    pub(crate) fn place(&self) -> &'static Location<'static> {
        self.place
    }

    pub(crate) fn gates_drops(&self) -> bool {
        self.settings.drops
    }

    /// Runs `work` under the gate, on this thread, and returns what in it blocked.
    ///
    /// A panic of `work` goes on as it came, after the gate is down; what blocked before it is said on standard error,
    /// since nobody is left to return it to.
    pub(crate) fn run<R>(&mut self, work: impl FnOnce() -> R) -> (R, Vec<Violation>) {
        if engine::available().is_err() {
            let _entered = inside::enter();
            return (work(), Vec::new());
        }
        self.tape.wipe();
        let entered = inside::enter();
        let armed = match engine::arm(&mut self.tape, self.settings.rules) {
            Ok(armed) => armed,
            Err(Blind(why)) => panic!("the gate is blind: {why}"),
        };
        let result = catch_unwind(AssertUnwindSafe(|| frames::under_the_gate(work)));
        let finished = armed.finish();
        drop(entered);
        let violations = self.violations();
        match result {
            Ok(output) => {
                if let Err(Blind(why)) = finished {
                    panic!("the gate is blind: {why}");
                }
                (output, violations)
            }
            Err(panic) => {
                if !violations.is_empty() {
                    report::also_blocked(&violations, self.place);
                }
                resume_unwind(panic)
            }
        }
    }

    fn violations(&self) -> Vec<Violation> {
        let entries = self.tape.entries();
        let excuse_async = self.settings.spawn == ProcessSpawn::ExcuseAsync
            && entries.iter().any(|entry| entry.verdict == crate::calls::Verdict::Spawn);
        let mut violations: Vec<Violation> = entries
            .iter()
            .filter(|entry| !(excuse_async && frames::came_through_async_process(entry.frames())))
            .map(Violation::new)
            .collect();
        if let Some(last) = violations.last_mut() {
            last.more = self.tape.missed();
        }
        violations
    }
}
