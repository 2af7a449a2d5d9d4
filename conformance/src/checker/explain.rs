use std::fmt;

use leasehold::rules::Asker;
use leasehold::{Fence, Intent, Moment, Phase, Reading, Record, Ttl};

use super::operation::{Operation, Over, Owners, Said};
use super::state::{Kept, Place, State};
use crate::history::Event;

/// An answer for which no order of the operations gives an explanation.
#[derive(Clone, Debug)]
pub struct Unexplained {
    /// The call with that answer: the history up to it has no explanation, the one before it has.
    pub event: Event,
    /// The clause that it seems to break. A wrong answer may well be the late consequence of an earlier wrong step.
    pub clause: &'static str,
    /// The latest part of the history that has no explanation by itself, whatever was there before it.
    pub window: Vec<Event>,
    /// What may have been there, and what the table says to it.
    pub instead: Vec<String>,
}

impl Unexplained {
    /// States that are shown; where there are more, the rest differs in little.
    const SHOWN: usize = 4;

    pub(super) fn new(
        event: Event,
        op: &Operation,
        window: Vec<Event>,
        states: &[State],
        owners: &Owners,
    ) -> Self {
        let clause = clause(op, states);
        let instead =
            |state: &State| format!("{}: {}", words(state, owners), instead(&event, op, state, owners));
        let instead = states.iter().take(Self::SHOWN).map(instead).collect();
        Self { event, clause, window, instead }
    }
}

impl fmt::Display for Unexplained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { event, clause, window, instead } = self;
        writeln!(
            f,
            "{clause}: nothing explains the answer to {} of {} by {}",
            event.asked, event.id, event.owner
        )?;
        let origin = window.iter().map(|event| event.called.clock).min().unwrap_or_default();
        for other in window {
            let mark = if other == event { "→" } else { " " };
            let from = other.called.clock.since(origin).as_nanos();
            write!(f, "  {mark} {from:>12} ns ")?;
            match &other.answer {
                Some((answered, answer)) => {
                    let until = answered.clock.since(origin).as_nanos();
                    let text = format!("{}: {} → {answer}", other.owner, other.asked).replace('\t', " ");
                    writeln!(f, "to {until:>12} ns  {text}")?;
                }
                None => writeln!(f, "and no answer     {}: {}", other.owner, other.asked)?,
            }
        }
        write!(
            f,
            "  what may have been there (times from the first call above), and what the table says to it:"
        )?;
        instead.iter().try_for_each(|line| write!(f, "\n    {line}"))
    }
}

/// The clause that an answer breaks, judged by what it says and by what can have been there.
fn clause(op: &Operation, states: &[State]) -> &'static str {
    let absent = states.iter().all(|state| !matches!(state.place, Place::There(_)));
    let mine = |kept: &Kept| kept.owner == op.owner;
    let any = |which: &dyn Fn(&Kept) -> bool| {
        states.iter().any(|state| matches!(&state.place, Place::There(kept) if which(kept)))
    };
    match op.said {
        Said::TurnedAway | Said::Refused(_) | Said::Lost | Said::Shown { .. }
            if any(&|kept| kept.high <= op.from) =>
        {
            "E1"
        }
        Said::Begun { fence, .. } if states.iter().all(|state| state.mark >= fence) => "F1",
        Said::Begun { phase: Phase::Held, over: Over::Peer(_), .. } => "T3",
        Said::Begun { over: Over::Mine(_), .. } => "T2",
        Said::Begun { over: Over::Nothing, .. } if any(&|kept| !mine(kept)) => "A1",
        Said::Begun { .. } => "T5",
        Said::Refreshed { .. } if absent => "R2",
        Said::Refreshed { .. } if any(&mine) => "R6",
        Said::Refreshed { .. } => "R3",
        Said::TurnedAway => "T4",
        Said::Refused(Intent::DestroyTenure(_)) if absent => "C7",
        Said::Refused(_) => "C3",
        Said::Lost if absent => "R2",
        Said::Lost => "R1",
        Said::Nothing => "E1",
        Said::Released(Some(_)) => "L4",
        Said::Released(None) if absent => "L3",
        Said::Released(None) => "L2",
        Said::NotHeld(_) => "L1",
        Said::Shown { .. } if absent => "I3",
        Said::Shown { .. } => "I2",
        Said::Discarded { .. } => "X2",
        Said::Unanswered(_) | Said::Never(_) => "A2",
    }
}

fn words(state: &State, owners: &Owners) -> String {
    match state.place {
        Place::Unknown => "anything".to_owned(),
        Place::Absent => format!("nothing, and no fence above {} so far", state.mark),
        Place::There(Kept { owner, phase, fence, low, high }) => {
            let fence =
                fence.map_or("of an unknown fence".to_owned(), |fence| format!("under fence {fence}"));
            let until = if low == high { format!("{low}") } else { format!("{low} to {high}") };
            format!("{phase} by {} {fence} until {until} ns", owners.name(owner))
        }
    }
}

/// What the rules answer to the call there, at the earliest and at the latest reading.
fn instead(event: &Event, op: &Operation, state: &State, owners: &Owners) -> String {
    if let Said::Never(why) = op.said {
        return why.to_owned();
    }
    let record = |expires| match state.place {
        Place::There(kept) => Some(Record {
            owner: owners.name(kept.owner).clone(),
            phase: kept.phase,
            fence: kept.fence.and_then(Fence::new).or(Some(Fence::MIN)),
            expires: Moment::from_nanos(expires),
        }),
        Place::Absent | Place::Unknown => None,
    };
    let (low, high) = match state.place {
        Place::There(kept) => (kept.low, kept.high),
        Place::Absent | Place::Unknown => (0, 0),
    };
    let early = answer(event, record(high).as_ref(), op.from, state.mark);
    let late = answer(event, record(low).as_ref(), op.until, state.mark);
    if early == late { early } else { format!("{early}, or later {late}") }
}

fn answer(event: &Event, before: Option<&Record>, now: u64, mark: u64) -> String {
    let Ok(ttl) = Ttl::new(event.ttl) else { return "no TTL".to_owned() };
    let asker = Asker { owner: &event.owner, ttl };
    let reading = Reading { now: Moment::from_nanos(now), fence_floor: mark + 1 };
    let answer = event.asked.by_rules(before, asker, reading).answer;
    answer.to_string().replace('\t', " ")
}
