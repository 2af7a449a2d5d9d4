use leasehold::{Fence, Intent, SandboxId};

use crate::chance::Chance;
use crate::history::{Asked, Recorder};

/// Operations by chance on a few sandboxes: all there are, with fences that are current, old, or never were.
pub struct Mix {
    chance: Chance,
    ids: Vec<SandboxId>,
    /// The fences seen of each sandbox, the latest last.
    seen: Vec<Vec<Fence>>,
}

impl Mix {
    /// How many fences of a sandbox are remembered.
    const MEMORY: usize = 4;

    /// A mix on `ids`, the same for the same seed and the same answers.
    ///
    /// # Panics
    /// When there are no ids.
    #[must_use]
    pub fn new(ids: &[SandboxId], seed: u64) -> Self {
        assert!(!ids.is_empty(), "a mix needs a sandbox");
        let seen = ids.iter().map(|_| Vec::new()).collect();
        Self { chance: Chance::new(seed), ids: ids.to_vec(), seen }
    }

    /// Asks something.
    pub fn ask(&mut self, recorder: &mut Recorder<'_>) {
        let at = self.chance.below(self.ids.len());
        let fence = self.fence(at);
        let asked = match self.chance.below(24) {
            0..=3 => Asked::Take,
            4 | 5 => Asked::Claim(Intent::Keep),
            6 => Asked::Claim(Intent::Destroy),
            7..=9 => Asked::Claim(Intent::DestroyTenure(fence)),
            10..=12 => Asked::Renew,
            13 | 14 => Asked::RenewMany,
            15 => Asked::Release,
            16..=18 => Asked::ReleaseTenure(fence),
            19 | 20 => Asked::Inspect,
            21 => Asked::List,
            more => Asked::Discard { force: more == 22 },
        };
        match asked {
            Asked::RenewMany => {
                // Not in the order of their names, which a store that sorts them would give back as well.
                let ids: Vec<SandboxId> = self.ids.iter().rev().cloned().collect();
                let answers = recorder.renew_many(&ids);
                answers.iter().rev().enumerate().for_each(|(at, answer)| self.remember(at, answer.fence()));
            }
            Asked::List => {
                let answers = recorder.list(&self.ids);
                answers.iter().enumerate().for_each(|(at, answer)| self.remember(at, answer.fence()));
            }
            asked => {
                let answer = recorder.ask(&self.ids[at], asked);
                self.remember(at, answer.fence());
            }
        }
    }

    fn remember(&mut self, at: usize, fence: Option<Fence>) {
        let seen = &mut self.seen[at];
        if let Some(fence) = fence.filter(|fence| seen.last() != Some(fence)) {
            if seen.len() == Self::MEMORY {
                seen.remove(0);
            }
            seen.push(fence);
        }
    }

    /// Mostly the fence that was seen last, sometimes an older one, rarely one that never was.
    fn fence(&mut self, at: usize) -> Fence {
        let back = self.chance.below(8);
        let seen = &self.seen[at];
        let back = match back {
            0..=4 => 0,
            5 | 6 => 1,
            _ => Self::MEMORY,
        };
        let nth = seen.len().checked_sub(1 + back).and_then(|at| seen.get(at));
        nth.copied().unwrap_or(if back == 0 { Fence::MIN } else { Fence::MAX })
    }
}
