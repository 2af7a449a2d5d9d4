//! The provider, clause by clause: each test is named after the one it proves.

mod hand_out;
mod reap;
mod world;
mod yard;

use leasehold::{Acquire, SessionKey};

/// What one session asks for.
fn session(user: &str, thread: &str) -> Acquire {
    Acquire::session(SessionKey::new(user, thread).unwrap())
}
