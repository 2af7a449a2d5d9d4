//! No engine: for systems that have none of ours.

use std::marker::PhantomData;

use super::Blind;
use crate::rules::Rules;
use crate::tape::Tape;

/// Never made, since [`available`] says no.
pub(crate) struct Armed<'tape>(PhantomData<&'tape mut Tape>);

/// Suspends nothing.
pub(crate) struct Suspended;

pub(crate) fn available() -> Result<(), String> {
    Err(format!(
        "there is no engine for {} on {} (there is one for Linux on x86_64)",
        std::env::consts::OS,
        std::env::consts::ARCH
    ))
}

pub(crate) fn arm(_: &mut Tape, _: Rules) -> Result<Armed<'_>, Blind> {
    Err(Blind("there is no engine here"))
}

#[cfg(feature = "faults")]
pub(crate) fn pretend(_: u64, _: [u64; 6]) {
    panic!("there is no engine here");
}

pub(crate) fn suspend() -> Suspended {
    Suspended
}

impl Armed<'_> {
    pub(crate) fn finish(self) -> Result<(), Blind> {
        Ok(())
    }
}

impl Suspended {
    pub(crate) fn resume(self) -> Result<(), Blind> {
        Ok(())
    }
}
