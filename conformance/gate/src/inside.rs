//! Whether a gated poll is under way on this thread; needs no engine.

use std::cell::Cell;

/// One thread's place among gated polls.
#[derive(Clone, Copy)]
struct Place {
    /// How many gated polls lie around this moment.
    polls: u32,
    /// Whether the innermost of them is excused just now.
    excused: bool,
    /// The process it was noted in: a child made by `fork` inherits the note and is in no poll.
    process: u32,
}

thread_local! {
    static PLACE: Cell<Place> = const { Cell::new(Place { polls: 0, excused: false, process: 0 }) };
}

/// Whether the calling code runs inside a gated poll that nothing excuses.
///
/// A store, a mock or a probe that does blocking work can ask and fail by itself. That works on every system, also
/// where there is no engine to see its system calls.
///
/// ```
/// use leasehold_gate as gate;
///
/// assert!(!gate::inside());
/// let (inside, _) = gate::during(gate::inside);
/// assert!(inside);
/// let (excused, _) = gate::during(|| gate::allow("the probe is asked about this", gate::inside));
/// assert!(!excused);
/// ```
pub fn inside() -> bool {
    let place = PLACE.get();
    place.polls > 0 && !place.excused && place.process == std::process::id()
}

/// Until it is dropped, the thread is in one more gated poll, or excused from it.
pub(crate) struct Entered(Place);

pub(crate) fn enter() -> Entered {
    let before = PLACE.get();
    let process = std::process::id();
    let polls = if before.process == process { before.polls + 1 } else { 1 };
    PLACE.set(Place { polls, excused: false, process });
    Entered(before)
}

pub(crate) fn excuse() -> Entered {
    let before = PLACE.get();
    PLACE.set(Place { excused: true, ..before });
    Entered(before)
}

impl Drop for Entered {
    fn drop(&mut self) {
        PLACE.set(self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_poll_within_an_excuse_within_a_poll_counts() {
        let _outer = enter();
        assert!(inside());
        {
            let _excused = excuse();
            assert!(!inside());
            {
                let _inner = enter();
                assert!(inside());
            }
            assert!(!inside());
        }
        assert!(inside());
    }

    #[test]
    fn another_thread_is_elsewhere() {
        let _here = enter();
        assert!(!std::thread::scope(|scope| scope.spawn(inside).join().expect("the thread ran")));
    }
}
