//! Whether the gate works here.

use std::error::Error;
use std::fmt;
use std::io::Write as _;
use std::sync::Once;

use crate::engine;

/// Whether the gate works in this process.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Status {
    /// It does: its canary tripped.
    Available,
    /// It does not, and why.
    Unavailable(Unavailable),
}

impl Status {
    /// Whether the gate works.
    pub fn is_available(&self) -> bool {
        *self == Status::Available
    }
}

/// Why the gate does not work here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unavailable {
    why: String,
}

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the blocking gate is unavailable: {}", self.why)
    }
}

impl Error for Unavailable {}

/// Whether the gate works in this process. The first call finds out, by a canary; the answer stays.
///
/// ```
/// use leasehold_gate::{self as gate, Status};
///
/// match gate::status() {
///     Status::Available => println!("gate: on"),
///     Status::Unavailable(why) => println!("gate: not run: {why}"),
///     _ => {}
/// }
/// ```
pub fn status() -> Status {
    match require() {
        Ok(()) => Status::Available,
        Err(why) => Status::Unavailable(why),
    }
}

/// As [`status()`], for `?`.
///
/// ```
/// # fn test() -> Result<(), leasehold_gate::Unavailable> {
/// leasehold_gate::require()?;
/// // From here on a gate that passes has looked.
/// # Ok(()) }
/// ```
///
/// # Errors
///
/// [`Unavailable`], with the reason.
pub fn require() -> Result<(), Unavailable> {
    engine::available().map_err(|why| Unavailable { why })
}

/// Lets a gated scope begin, or says why it can't: an unavailable gate never passes in silence.
#[track_caller]
pub(crate) fn admit() {
    let Err(unavailable) = require() else { return };
    assert!(!is_required("gate"), "{unavailable}, and LEASEHOLD_REQUIRE wants it");
    static SAY_IT_ONCE: Once = Once::new();
    SAY_IT_ONCE.call_once(|| {
        // Not `eprintln!`, which a test harness keeps to itself when the test passes.
        let _ = writeln!(std::io::stderr(), "not run: {unavailable}");
    });
}

/// Whether what can't be had here makes a failure: its name stands in the comma list `LEASEHOLD_REQUIRE`.
pub(crate) fn is_required(need: &str) -> bool {
    names(&std::env::var("LEASEHOLD_REQUIRE").unwrap_or_default(), need)
}

fn names(list: &str, need: &str) -> bool {
    list.split(',').any(|name| name.trim() == need)
}

#[cfg(test)]
mod tests {
    use super::names;

    #[test]
    fn a_need_is_required_by_its_own_name_alone() {
        assert!(names("gate", "gate"));
        assert!(names("redis, gate ,docker", "gate"));
        assert!(!names("", "gate"));
        assert!(!names("redis,gateway", "gate"));
    }
}
