//! Random histories of many owners, run against the store and the pure rules side by side, one step after the other.
//!
//! After every step the answer and the whole state have to agree: the model takes over the fences that the store gives,
//! once they were found to be larger than every earlier one of their sandbox, so that everything else can be compared as it
//! is. A history that fails is shortened to what the failure needs, and told as a story.

mod play;
mod shrink;
mod story;
mod world;

use crate::case::{Check, Stop};
use crate::chance::Chance;
use crate::kit::Kit;
use play::{Differs, play};
use story::Move;

/// Plays histories as many as the store's speed allows.
pub(crate) fn histories_equal_the_rules(kit: &Kit<'_>) -> Check {
    let virtual_time = kit.virtual_clock().is_ok();
    let (histories, length) = if virtual_time { (100, 60) } else { (12, 80) };
    for n in 0..histories {
        let seed = kit.seed().wrapping_mul(1_000_003).wrapping_add(n);
        let mut chance = Chance::new(seed);
        let history: Vec<Move> = (0..length).map(|_| Move::by_chance(&mut chance, virtual_time)).collect();
        match play(kit, &history) {
            Ok(()) => {}
            Err(Differs::Stopped(stop)) => return Err(stop),
            Err(Differs::Found(found)) => {
                let (history, found) = shrink::shrunk(kit, history, *found);
                let expected = format!("{}: {}", found.clause, found.expected);
                let seen = format!(
                    "{}\n  the shortest history that does it (history {n} of seed {}):\n{}",
                    found.seen,
                    kit.seed(),
                    story::told(&history)
                );
                return Err(Stop::Failed { expected, seen });
            }
        }
    }
    Ok(())
}
