use std::fmt;
use std::time::Duration;

use leasehold::Fence;

use crate::chance::Chance;

/// The owners of a history.
pub(super) const OWNERS: [&str; 3] = ["gw-1", "gw-2", "gw-3"];
/// Its sandboxes; two differ in the case of their letters alone.
pub(super) const SANDBOXES: [&str; 4] = ["sbx-1", "SBX-1", "sbx-2", "sbx_2"];
/// The TTLs that handles are opened with.
pub(super) const TTLS: [Duration; 3] =
    [Duration::from_secs(60), Duration::from_secs(95), Duration::from_secs(20)];

/// One step of a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Move {
    pub(super) owner: usize,
    pub(super) sandbox: usize,
    pub(super) what: What,
}

/// What is done in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    Take,
    Keep,
    Destroy,
    DestroyTenure(Which),
    Renew,
    /// Of all sandboxes.
    RenewMany,
    Release,
    ReleaseTenure(Which),
    Discard {
        force: bool,
    },
    /// The owner's handle is closed, and another one opened with this TTL.
    Reopen {
        ttl: usize,
    },
    /// So much time passes.
    Pass {
        eighths: u32,
    },
    /// Time goes on to the expiry of the sandbox' lease, and this much beyond.
    PassToExpiry {
        nanos: i64,
    },
    /// The wall clock is set, and no time passes.
    StepWall {
        seconds: i64,
    },
}

/// Which fence is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Which {
    /// The newest that the sandbox ever had.
    Newest,
    /// The one this many before.
    Earlier(usize),
    /// One that no tenure has.
    Wild(u64),
}

impl Which {
    /// The fence that it stands for, of a sandbox that had `fences`.
    pub(super) fn among(self, fences: &[Fence]) -> Fence {
        let nth = |back: usize| fences.len().checked_sub(1 + back).map(|at| fences[at]);
        let found = match self {
            Self::Newest => nth(0),
            Self::Earlier(back) => nth(back),
            Self::Wild(offset) => {
                // Beside the newest: one that a store which compares loosely takes for it.
                let newest = nth(0).map_or(0, Fence::get);
                Fence::new(newest.wrapping_add(offset)).filter(|fence| !fences.contains(fence))
            }
        };
        found.unwrap_or(Fence::MAX)
    }

    fn by_chance(chance: &mut Chance) -> Self {
        match chance.below(8) {
            0..=3 => Self::Newest,
            4 | 5 => Self::Earlier(1 + chance.below(2)),
            6 => Self::Wild(1),
            _ => Self::Wild(u64::MAX),
        }
    }
}

impl Move {
    /// A step by chance. Where nobody can move time, none passes.
    pub(super) fn by_chance(chance: &mut Chance, virtual_time: bool) -> Self {
        let what = match chance.below(if virtual_time { 28 } else { 22 }) {
            0..=2 => What::Take,
            3 | 4 => What::Keep,
            5 => What::Destroy,
            6..=8 => What::DestroyTenure(Which::by_chance(chance)),
            9..=11 => What::Renew,
            12 => What::RenewMany,
            13 => What::Release,
            14..=16 => What::ReleaseTenure(Which::by_chance(chance)),
            17 | 18 => What::Discard { force: chance.below(2) == 0 },
            19..=21 => What::Reopen { ttl: chance.below(TTLS.len()) },
            22 | 23 => What::Pass { eighths: chance.below(9) as u32 },
            24..=26 => What::PassToExpiry { nanos: chance.below(3) as i64 - 1 },
            _ => What::StepWall { seconds: chance.below(7_201) as i64 - 3_600 },
        };
        // Half of it is about one of them, or hardly two steps in a row would meet.
        let mut one_of = |many: usize| if chance.below(2) == 0 { 0 } else { chance.below(many) };
        Self { owner: one_of(OWNERS.len()), sandbox: one_of(SANDBOXES.len()), what }
    }

    /// Moves that are simpler than this one, the simplest first.
    pub(super) fn simpler(self) -> Vec<Self> {
        let mut simpler = Vec::new();
        simpler.extend((0..self.owner).map(|owner| Self { owner, ..self }));
        simpler.extend((0..self.sandbox).map(|sandbox| Self { sandbox, ..self }));
        let what: &[What] = match self.what {
            What::DestroyTenure(Which::Earlier(2)) => &[What::DestroyTenure(Which::Earlier(1))],
            What::ReleaseTenure(Which::Earlier(2)) => &[What::ReleaseTenure(Which::Earlier(1))],
            What::RenewMany => &[What::Renew],
            What::Pass { eighths: 2.. } => &[What::Pass { eighths: 1 }, What::Pass { eighths: 8 }],
            What::PassToExpiry { nanos: -1 | 1 } => &[What::PassToExpiry { nanos: 0 }],
            What::StepWall { seconds } if seconds > 1 => &[What::StepWall { seconds: 1 }],
            What::StepWall { seconds } if seconds < -1 => &[What::StepWall { seconds: -1 }],
            _ => &[],
        };
        simpler.extend(what.iter().filter(|what| **what != self.what).map(|&what| Self { what, ..self }));
        simpler
    }
}

impl fmt::Display for Which {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Newest => f.write_str("the newest fence"),
            Self::Earlier(1) => f.write_str("the fence before the newest"),
            Self::Earlier(back) => write!(f, "the fence {back} before the newest"),
            Self::Wild(1) => f.write_str("a fence one above the newest"),
            Self::Wild(_) => f.write_str("a fence one below the newest"),
        }
    }
}

impl fmt::Display for Move {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (owner, sandbox) = (OWNERS[self.owner], SANDBOXES[self.sandbox]);
        match self.what {
            What::Take => write!(f, "{owner} takes {sandbox}"),
            What::Keep => write!(f, "{owner} claims {sandbox} to keep it"),
            What::Destroy => write!(f, "{owner} claims {sandbox} to stop it"),
            What::DestroyTenure(which) => {
                write!(f, "{owner} claims {sandbox} to stop it, decided under {which}")
            }
            What::Renew => write!(f, "{owner} renews {sandbox}"),
            What::RenewMany => write!(f, "{owner} renews all of them in one call"),
            What::Release => write!(f, "{owner} releases {sandbox}"),
            What::ReleaseTenure(which) => write!(f, "{owner} releases the tenure of {sandbox} with {which}"),
            What::Discard { force: true } => write!(f, "{owner} discards {sandbox} by force"),
            What::Discard { force: false } => write!(f, "{owner} discards {sandbox} without force"),
            What::Reopen { ttl } => write!(f, "{owner} opens its store anew, with a TTL of {:?}", TTLS[ttl]),
            What::Pass { eighths } => write!(f, "{:?} pass", TTLS[0] * eighths / 8),
            What::PassToExpiry { nanos: 0 } => write!(f, "time goes on to the expiry of {sandbox}"),
            What::PassToExpiry { nanos } => {
                write!(f, "time goes on to the expiry of {sandbox} and {nanos} ns")
            }
            What::StepWall { seconds } => write!(f, "the wall clock is set by {seconds} s"),
        }
    }
}

/// A history, step by step.
pub(super) fn told(history: &[Move]) -> String {
    let lines = history.iter().enumerate().map(|(n, step)| format!("    {}. {step}", n + 1));
    lines.collect::<Vec<_>>().join("\n")
}
