//! What happens in one simulation, as data: drawn from a seed, and so small that it can be cut down and told.

use std::fmt;
use std::time::Duration;

use super::audit::Trouble;
use crate::chance::Chance;

/// One simulation: how the world is made, and what happens in it when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) make: Make,
    pub(super) happenings: Vec<Happening>,
}

/// How the world of a simulation is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Make {
    /// Everything that is left to chance while it runs.
    pub(super) seed: u64,
    pub(super) gateways: usize,
    pub(super) sessions: usize,
    /// Whether all gateways are on one host, with one clock and common create locks.
    pub(super) one_host: bool,
    /// Whether the store goes by a clock of its own, as a server does.
    pub(super) server_clock: bool,
    pub(super) renewal_interval: Duration,
    pub(super) ttl_intervals: u32,
    pub(super) store_deadline: Duration,
    pub(super) idle_timeout: Duration,
    pub(super) warm_timeout: Duration,
    pub(super) capacity: Option<usize>,
    pub(super) exceed_capacity: bool,
    /// How slow calls are, in percent of the usual.
    pub(super) slowness: u32,
    /// How long things go on happening.
    pub(super) length: Duration,
}

impl Make {
    pub(super) fn ttl(&self) -> Duration {
        self.renewal_interval * self.ttl_intervals
    }

    /// After how long nothing shows any more of something that went wrong: a lease has run out, the grace is over.
    pub(super) fn settles(&self) -> Duration {
        self.horizon() * 3 + Duration::from_secs(15)
    }

    /// One TTL and one renewal interval (K9, and the shortest grace).
    pub(super) fn horizon(&self) -> Duration {
        self.ttl() + self.renewal_interval
    }
}

/// Something that happens at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Happening {
    pub(super) at: Duration,
    pub(super) what: What,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// A turn of a conversation lands on a gateway.
    Visit(Visit),
    /// A gateway is asked to shut down, and started again.
    ShutDown { gateway: usize, hand_over: bool, deadline: Duration, back_after: Duration },
    /// A gateway is killed, and started again.
    Crash { gateway: usize, back_after: Duration },
    /// A gateway's process is stopped and goes on later.
    Pause { gateway: usize, lasts: Duration },
    /// A gateway's host is suspended; with one host, that of all of them.
    Suspend { gateway: usize, lasts: Duration },
    /// The store loses every record.
    Wipe { floor_kept: bool },
    /// The clock of the store's server is set.
    StepClock { millis: i64 },
    /// A gateway can't reach the store.
    Partition { gateway: usize, lasts: Duration },
    /// The next calls of a gateway to the store go wrong.
    Store { gateway: usize, kind: StoreCall, fault: StoreFault, calls: u32 },
    /// A gateway can't reach the engine.
    NoEngine { gateway: usize, lasts: Duration },
    /// The next calls of a gateway to the engine go wrong.
    Engine { gateway: usize, kind: EngineCall, fault: EngineFault, calls: u32 },
    /// The instance of a session ends by itself.
    Dies { session: usize, removed: bool },
    /// An operator pauses the reaping of a gateway.
    PauseReaping { gateway: usize, lasts: Duration },
    /// An operator asks a gateway to stop the sandbox of a session.
    Destroy { gateway: usize, session: usize },
}

/// What a turn of a conversation does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Visit {
    pub(super) gateway: usize,
    /// `None` is an anonymous one.
    pub(super) session: Option<usize>,
    pub(super) deadline: Duration,
    /// The acquire is given up after so long.
    pub(super) gives_up: Option<Duration>,
    pub(super) acts: Vec<Act>,
    pub(super) ends: Ends,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    /// Holds it and does nothing in it.
    Hold(Duration),
    /// Runs a command in it.
    Exec(Duration),
    /// Looks it up, which is a sign of use.
    Get,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ends {
    Drop,
    Release,
    Destroy,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StoreCall {
    Take,
    Claim,
    Renew,
    Release,
    Any,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StoreFault {
    /// An error, and no effect.
    Before,
    /// The effect, and an error.
    After,
    /// No answer ever; the effect comes or doesn't.
    Hang { lands: bool },
    /// An error, and the effect so much later.
    Late(Duration),
    /// It is just slow: the effect so much later, then the answer.
    Slow(Duration),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EngineCall {
    Create,
    Ready,
    Look,
    List,
    Condemn,
    Stop,
    Any,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EngineFault {
    /// An error, and no effect.
    Before,
    /// The effect, and an error.
    After,
    /// No answer for long; the effect comes or doesn't.
    Hang { lands: bool },
    /// The effect so much later, then the answer.
    Slow(Duration),
    /// A stop that ends the processes and leaves the rest behind, with an error. A list that misses a row.
    Half,
}

impl Plan {
    /// What happens with this seed.
    pub(super) fn by_seed(seed: u64, gateways: usize) -> Self {
        let mut chance = Chance::new(seed ^ 0x5eed_0f5e_ed0f_5eed);
        let make = Make::by_chance(&mut chance, seed, gateways);
        let mut happenings = Vec::new();
        let visits = 6 + chance.below(30);
        // Half of it is about one session, or hardly two turns would meet.
        for _ in 0..visits {
            let visit = Visit::by_chance(&mut chance, &make);
            happenings.push(Happening { at: moment(&mut chance, make.length), what: What::Visit(visit) });
        }
        // A third is without any fault, a third with one or two, the rest with many.
        let faults = match chance.below(6) {
            0 | 1 => 0,
            2 => 1,
            3 => 2,
            4 => 3 + chance.below(4),
            _ => 5 + chance.below(12),
        };
        for _ in 0..faults {
            let what = What::fault_by_chance(&mut chance, &make);
            happenings.push(Happening { at: moment(&mut chance, make.length), what });
        }
        // Turns that meet: another one for the session of an earlier one, soon after it, elsewhere.
        for _ in 0..chance.below(8) {
            let from = chance.below(happenings.len());
            if let What::Visit(first) = &happenings[from].what {
                let again = Visit { session: first.session, ..Visit::by_chance(&mut chance, &make) };
                let at = happenings[from].at + millis(&mut chance, 0, 4_000);
                happenings.push(Happening { at, what: What::Visit(again) });
            }
        }
        for _ in 0..[0, 0, 1, 1, 2, 3][chance.below(6)] {
            happenings.extend(super::patterns::by_chance(&mut chance, &make, faults > 0));
        }
        happenings.sort_by_key(|happening| happening.at);
        Self { make, happenings }
    }
}

impl Make {
    fn by_chance(chance: &mut Chance, seed: u64, gateways: usize) -> Self {
        let renewal_interval = Duration::from_millis([2_000, 3_000, 5_000][chance.below(3)]);
        let ttl_intervals = 3 + chance.below(2) as u32;
        let one_host = chance.below(2) == 0;
        Self {
            seed,
            gateways,
            sessions: 1 + chance.below(4),
            one_host,
            server_clock: !one_host || chance.below(2) == 0,
            renewal_interval,
            ttl_intervals,
            store_deadline: Duration::from_millis(if renewal_interval.as_millis() > 2_000 {
                2_500
            } else {
                1_900
            }),
            idle_timeout: Duration::from_secs([0, 12, 25, 40][chance.below(4)]),
            warm_timeout: Duration::from_secs([2, 8, 20, 45][chance.below(4)]),
            capacity: [None, None, Some(1), Some(2), Some(3)][chance.below(5)],
            exceed_capacity: chance.below(6) == 0,
            slowness: [10, 100, 100, 300][chance.below(4)],
            length: Duration::from_secs([60, 120, 240, 400][chance.below(4)]),
        }
    }
}

impl Visit {
    fn by_chance(chance: &mut Chance, make: &Make) -> Self {
        let session = match chance.below(12) {
            0 => None,
            1..=6 => Some(0),
            _ => Some(chance.below(make.sessions)),
        };
        let acts = (0..chance.below(5))
            .map(|_| match chance.below(5) {
                0 | 1 => Act::Hold(millis(chance, 0, 30_000)),
                2 => Act::Hold(millis(chance, 0, 500)),
                3 => Act::Exec(millis(chance, 10, 40_000)),
                _ => Act::Get,
            })
            .collect();
        Self {
            gateway: chance.below(make.gateways),
            session,
            deadline: millis(chance, 2_000, 60_000),
            gives_up: (chance.below(6) == 0).then(|| millis(chance, 0, 5_000)),
            acts,
            ends: match chance.below(10) {
                0 => Ends::Destroy,
                1..=5 => Ends::Drop,
                _ => Ends::Release,
            },
        }
    }
}

impl What {
    fn fault_by_chance(chance: &mut Chance, make: &Make) -> Self {
        let gateway = chance.below(make.gateways);
        let ttl = make.ttl().as_millis() as usize;
        match chance.below(20) {
            0 | 1 => Self::ShutDown {
                gateway,
                hand_over: chance.below(3) > 0,
                deadline: millis(chance, 500, 20_000),
                back_after: millis(chance, 0, 20_000),
            },
            2 => Self::Crash { gateway, back_after: millis(chance, 0, 30_000) },
            3 => Self::Pause { gateway, lasts: millis(chance, 500, 3 * ttl) },
            4 => Self::Suspend { gateway, lasts: millis(chance, 500, 3 * ttl) },
            5 | 6 => Self::Wipe { floor_kept: chance.below(2) == 0 },
            7 if make.server_clock => Self::StepClock {
                millis: chance.below(3 * ttl) as i64 - if chance.below(2) == 0 { ttl as i64 } else { 0 },
            },
            7 | 8 => Self::Partition { gateway, lasts: millis(chance, 500, 2 * ttl) },
            9..=12 => {
                use StoreCall::{Any, Claim, Release, Renew, Take};
                let kind = [Take, Take, Claim, Renew, Release, Any][chance.below(6)];
                let fault = match chance.below(6) {
                    0 => StoreFault::Before,
                    1 => StoreFault::After,
                    2 => StoreFault::Hang { lands: chance.below(3) > 0 },
                    3 | 4 => StoreFault::Late(millis(chance, 10, 2 * ttl)),
                    _ => StoreFault::Slow(millis(chance, 100, 2_400)),
                };
                Self::Store { gateway, kind, fault, calls: 1 + chance.below(4) as u32 }
            }
            13 => Self::NoEngine { gateway, lasts: millis(chance, 500, 20_000) },
            14..=16 => {
                use EngineCall::{Any, Condemn, Create, List, Look, Ready, Stop};
                let kind = [Create, Ready, Look, List, Condemn, Stop, Stop, Any][chance.below(8)];
                let fault = match chance.below(6) {
                    0 => EngineFault::Before,
                    1 => EngineFault::After,
                    2 => EngineFault::Hang { lands: chance.below(3) > 0 },
                    3 | 4 => EngineFault::Slow(millis(chance, 100, 2 * ttl)),
                    _ => EngineFault::Half,
                };
                Self::Engine { gateway, kind, fault, calls: 1 + chance.below(3) as u32 }
            }
            17 => Self::Dies { session: chance.below(make.sessions), removed: chance.below(2) == 0 },
            18 => Self::PauseReaping { gateway, lasts: millis(chance, 1_000, 60_000) },
            _ => Self::Destroy { gateway, session: chance.below(make.sessions) },
        }
    }
}

impl What {
    /// What it explains when something is amiss.
    pub(super) fn trouble(&self) -> Option<Trouble> {
        match self {
            Self::Visit(_) | Self::PauseReaping { .. } | Self::Destroy { .. } => None,
            Self::Store { .. } | Self::Engine { .. } => None,
            Self::ShutDown { .. } | Self::Crash { .. } | Self::Pause { .. } | Self::Suspend { .. } => {
                Some(Trouble::Process)
            }
            Self::Wipe { .. } | Self::StepClock { .. } => Some(Trouble::Records),
            Self::Partition { .. } => Some(Trouble::Contact),
            Self::NoEngine { .. } | Self::Dies { .. } => Some(Trouble::Engine),
        }
    }

    /// How long it lasts.
    pub(super) fn lasts(&self) -> Duration {
        match self {
            Self::Pause { lasts, .. }
            | Self::Suspend { lasts, .. }
            | Self::Partition { lasts, .. }
            | Self::NoEngine { lasts, .. }
            | Self::PauseReaping { lasts, .. } => *lasts,
            Self::StepClock { millis } => Duration::from_millis(millis.unsigned_abs()),
            _ => Duration::ZERO,
        }
    }

    /// Which gateway it is about, if one.
    pub(super) fn gateway(&self) -> Option<usize> {
        match self {
            Self::Visit(visit) => Some(visit.gateway),
            Self::ShutDown { gateway, .. }
            | Self::Crash { gateway, .. }
            | Self::Pause { gateway, .. }
            | Self::Suspend { gateway, .. }
            | Self::Partition { gateway, .. }
            | Self::Store { gateway, .. }
            | Self::NoEngine { gateway, .. }
            | Self::Engine { gateway, .. }
            | Self::PauseReaping { gateway, .. }
            | Self::Destroy { gateway, .. } => Some(*gateway),
            Self::Wipe { .. } | Self::StepClock { .. } | Self::Dies { .. } => None,
        }
    }
}

pub(super) fn moment(chance: &mut Chance, length: Duration) -> Duration {
    Duration::from_millis(chance.below(length.as_millis() as usize) as u64)
}

/// Short ones as often as long ones: the logarithm is what is even.
pub(super) fn millis(chance: &mut Chance, from: usize, to: usize) -> Duration {
    let mut most = to.max(from + 1) - from;
    while most > 16 && chance.below(2) == 0 {
        most /= 2;
    }
    Duration::from_millis((from + chance.below(most)) as u64)
}

/// The name of a gateway.
pub(super) fn gateway(index: usize) -> char {
    char::from(b'A' + (index % 26) as u8)
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Visit(visit) => visit.fmt(f),
            Self::ShutDown { gateway: g, hand_over, deadline, back_after } => {
                let mode = if *hand_over { "handing over" } else { "stopping its own" };
                write!(
                    f,
                    "{} shuts down, {mode}, within {deadline:?}; back after {back_after:?}",
                    gateway(*g)
                )
            }
            Self::Crash { gateway: g, back_after } => {
                write!(f, "{} is killed; back after {back_after:?}", gateway(*g))
            }
            Self::Pause { gateway: g, lasts } => write!(f, "{} is paused for {lasts:?}", gateway(*g)),
            Self::Suspend { gateway: g, lasts } => {
                write!(f, "the host of {} is suspended for {lasts:?}", gateway(*g))
            }
            Self::Wipe { floor_kept: true } => f.write_str("the store loses every record"),
            Self::Wipe { floor_kept: false } => {
                f.write_str("the store loses every record and its fence mark")
            }
            Self::StepClock { millis } => write!(f, "the clock of the store is set by {millis} ms"),
            Self::Partition { gateway: g, lasts } => {
                write!(f, "{} can't reach the store for {lasts:?}", gateway(*g))
            }
            Self::Store { gateway: g, kind, fault, calls } => {
                write!(f, "the next {calls} calls ({kind:?}) of {} to the store: {fault:?}", gateway(*g))
            }
            Self::NoEngine { gateway: g, lasts } => {
                write!(f, "{} can't reach the engine for {lasts:?}", gateway(*g))
            }
            Self::Engine { gateway: g, kind, fault, calls } => {
                write!(f, "the next {calls} calls ({kind:?}) of {} to the engine: {fault:?}", gateway(*g))
            }
            Self::Dies { session, removed } => {
                let how = if *removed { "vanishes" } else { "ends by itself" };
                write!(f, "the instance of session s{session} {how}")
            }
            Self::PauseReaping { gateway: g, lasts } => {
                write!(f, "an operator pauses the reaping of {} for {lasts:?}", gateway(*g))
            }
            Self::Destroy { gateway: g, session } => {
                write!(f, "an operator asks {} to stop the sandbox of s{session}", gateway(*g))
            }
        }
    }
}

impl fmt::Display for Visit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.session {
            Some(session) => write!(f, "a turn of s{session} lands on {}", gateway(self.gateway))?,
            None => write!(f, "an anonymous turn lands on {}", gateway(self.gateway))?,
        }
        write!(f, ", waits up to {:?}", self.deadline)?;
        if let Some(after) = self.gives_up {
            write!(f, ", gives up after {after:?}")?;
        }
        for act in &self.acts {
            match act {
                Act::Hold(time) => write!(f, ", holds it for {time:?}")?,
                Act::Exec(time) => write!(f, ", runs a command for {time:?}")?,
                Act::Get => f.write_str(", looks it up")?,
            }
        }
        f.write_str(match self.ends {
            Ends::Drop => ", drops it",
            Ends::Release => ", releases it",
            Ends::Destroy => ", destroys it",
        })
    }
}
