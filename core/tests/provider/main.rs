//! The provider, clause by clause: each test is named after the one it proves.

mod adoption;
mod cancel;
mod capacity;
mod clauses;
mod ending;
mod hand_out;
mod ledger;
mod owed;
mod panics;
mod place;
mod reap;
mod renewal;
mod stopping;
mod taking;
mod world;
mod yard;

use leasehold::{Acquire, SessionKey};

/// What one session asks for.
fn session(user: &str, thread: &str) -> Acquire {
    Acquire::session(SessionKey::new(user, thread).unwrap())
}
