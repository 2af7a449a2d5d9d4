//! Trying a lock again and again, bounded: locks are tried and never waited for, since a wait inside the kernel or
//! inside a driver has no deadline that we set.

use std::time::Duration;

use leasehold::{Deadline, StoreError};

/// The first pause, in the order of one operation of a host store.
const FIRST: Duration = Duration::from_micros(20);
/// The longest pause: a waiter looks again at least this often.
const LONGEST: Duration = Duration::from_millis(2);

/// Calls `attempt` until it gives something, pausing between calls for 20 µs at first and 2 ms at most.
///
/// # Errors
/// The error of `attempt` at once, or that of `late` once `deadline` has passed; one attempt is always made.
pub(crate) fn until<T>(
    deadline: &Deadline,
    mut attempt: impl FnMut() -> Result<Option<T>, StoreError>,
    late: impl FnOnce() -> StoreError,
) -> Result<T, StoreError> {
    let mut pause = FIRST;
    loop {
        if let Some(got) = attempt()? {
            return Ok(got);
        }
        let Some(left) = deadline.left() else { return Err(late()) };
        sleep(pause.min(left));
        pause = (pause * 2).min(LONGEST);
    }
}

#[expect(clippy::disallowed_methods, reason = "the one bounded wait of the host stores")]
fn sleep(pause: Duration) {
    std::thread::sleep(pause);
}
