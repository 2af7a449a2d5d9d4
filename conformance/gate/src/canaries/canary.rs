//! One kind of blocking work.

use std::io;

use super::ground::{Setback, Work};
use crate::{Settings, Violation};

/// One kind of blocking work, and the calls by which the gate must know it.
#[derive(Clone, Copy)]
pub struct Canary {
    pub(super) name: &'static str,
    pub(super) calls: &'static [&'static str],
    pub(super) arena: Arena,
    pub(super) prepare: fn() -> Result<Work, Setback>,
}

/// Where the work is done when it is done inline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arena {
    /// In the poll of a gated future.
    Poll,
    /// In the poll of a gated task that was spawned.
    Task,
}

/// What became of one canary or one piece of sanctioned work.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Finding {
    /// As it has to be.
    Sound,
    /// Not as it has to be, and how.
    Wrong(String),
    /// Something it needs is missing here: the name of the need, as in `LEASEHOLD_REQUIRE`, and why.
    NotRun {
        /// The need.
        need: &'static str,
        /// What is missing.
        why: String,
    },
}

impl Canary {
    pub(super) const fn new(
        name: &'static str,
        calls: &'static [&'static str],
        prepare: fn() -> Result<Work, Setback>,
    ) -> Self {
        Self { name, calls, arena: Arena::Poll, prepare }
    }

    pub(super) const fn in_a_task(mut self) -> Self {
        self.arena = Arena::Task;
        self
    }

    /// What it does, in a word or a few.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The calls of which at least one has to be reported when it is done inline.
    pub fn calls(&self) -> &'static [&'static str] {
        self.calls
    }

    /// Does the work in a gated poll. [`Finding::Sound`] when the gate tripped, and knew the call by its name. Needs a
    /// tokio runtime around it.
    pub async fn inline(&self) -> Finding {
        let work = match (self.prepare)() {
            Ok(work) => work,
            Err(setback) => return setback.into(),
        };
        let act = work.act;
        let gated = Settings::new().record(async move { act() });
        let (result, violations) = match self.arena {
            Arena::Poll => gated.await,
            Arena::Task => match tokio::spawn(gated).await {
                Ok(outcome) => outcome,
                Err(error) => return Finding::Wrong(format!("its task failed: {error}")),
            },
        };
        drop(work.ground);
        self.judge_inline(result, &violations)
    }

    /// Does the work on a thread that may block, awaited in a gated poll. [`Finding::Sound`] when the gate did not trip.
    /// Needs a tokio runtime around it.
    pub async fn offloaded(&self) -> Finding {
        let work = match (self.prepare)() {
            Ok(work) => work,
            Err(setback) => return setback.into(),
        };
        let act = work.act;
        let gated = Settings::new().record(async move { tokio::task::spawn_blocking(act).await });
        let (result, violations) = gated.await;
        drop(work.ground);
        match result {
            Ok(result) => quiet(result, &violations),
            Err(error) => Finding::Wrong(format!("its work failed: {error}")),
        }
    }

    fn judge_inline(&self, result: io::Result<()>, violations: &[Violation]) -> Finding {
        if let Err(error) = result {
            return Finding::Wrong(format!("its own work failed: {error}"));
        }
        if violations.iter().any(|violation| self.calls.contains(&violation.call())) {
            return Finding::Sound;
        }
        let seen: Vec<_> = violations.iter().map(Violation::call).collect();
        Finding::Wrong(format!("did not trip: wanted one of {:?}, the gate reported {seen:?}", self.calls))
    }
}

/// Sound when the work went well and nothing was reported.
pub(super) fn quiet(result: io::Result<()>, violations: &[Violation]) -> Finding {
    if let Err(error) = result {
        return Finding::Wrong(format!("its own work failed: {error}"));
    }
    match violations.first() {
        None => Finding::Sound,
        Some(violation) => Finding::Wrong(format!("tripped, and must not: {violation}")),
    }
}

impl From<Setback> for Finding {
    fn from(setback: Setback) -> Self {
        match setback {
            Setback::Missing { need, why } => Finding::NotRun { need, why },
            Setback::Failed(error) => Finding::Wrong(format!("could not be made ready: {error}")),
        }
    }
}
