use super::play::{Differs, Found, play};
use super::story::Move;
use crate::kit::Kit;

/// Leaves out, and simplifies, whatever the failure of `history` doesn't need; each try on a fresh namespace.
pub(super) fn shrunk(kit: &Kit<'_>, history: Vec<Move>, found: Found) -> (Vec<Move>, Found) {
    let mut failing = Failing { kit, history, found };
    failing.history.truncate(failing.found.at + 1);
    loop {
        let before = failing.history.clone();
        failing.drop_steps();
        failing.simplify_steps();
        if failing.history == before {
            return (failing.history, failing.found);
        }
    }
}

struct Failing<'a, 'k> {
    kit: &'a Kit<'k>,
    history: Vec<Move>,
    found: Found,
}

impl Failing<'_, '_> {
    /// Takes `other` for the history if it fails too, in whatever way.
    fn try_out(&mut self, mut other: Vec<Move>) -> bool {
        let Err(Differs::Found(found)) = play(self.kit, &other) else { return false };
        other.truncate(found.at + 1);
        (self.history, self.found) = (other, *found);
        true
    }

    /// Leaves out runs of steps, long ones first.
    fn drop_steps(&mut self) {
        let mut size = self.history.len() / 2;
        while size > 0 {
            let mut at = 0;
            while at < self.history.len() {
                let mut shorter = self.history.clone();
                shorter.drain(at..(at + size).min(shorter.len()));
                if !self.try_out(shorter) {
                    at += size;
                }
            }
            size /= 2;
        }
    }

    /// Makes do with fewer owners and sandboxes and with smaller numbers.
    fn simplify_steps(&mut self) {
        let mut at = 0;
        while at < self.history.len() {
            let simpler = self.history[at].simpler();
            let tried = simpler.into_iter().any(|step| {
                let mut other = self.history.clone();
                other[at] = step;
                self.try_out(other)
            });
            if !tried {
                at += 1;
            }
        }
        // A whole owner or sandbox is often one too many, though no single step can do without.
        let picks: [fn(&mut Move) -> &mut usize; 2] = [|step| &mut step.owner, |step| &mut step.sandbox];
        for pick in picks {
            for from in 1..4 {
                for to in 0..from {
                    let mut other = self.history.clone();
                    other
                        .iter_mut()
                        .map(pick)
                        .filter(|number| **number == from)
                        .for_each(|number| *number = to);
                    if other != self.history {
                        self.try_out(other);
                    }
                }
            }
        }
    }
}
