//! What sees the system calls.
//!
//! An engine offers four things, and everything above it is portable and safe: `available` (with its own proof),
//! `arm` for one poll of one thread, `suspend` for a while within it, and the errors that say it can't see.

#[cfg(all(target_os = "linux", target_arch = "x86_64", target_pointer_width = "64"))]
#[expect(unsafe_code, reason = "this is the one place that talks to the kernel about signals and registers")]
mod dispatch;
#[cfg(all(target_os = "linux", target_arch = "x86_64", target_pointer_width = "64"))]
pub(crate) use dispatch::{arm, available, suspend};
#[cfg(all(
    feature = "faults",
    target_os = "linux",
    target_arch = "x86_64",
    target_pointer_width = "64"
))]
pub(crate) use dispatch::{canary, pretend};

#[cfg(not(all(target_os = "linux", target_arch = "x86_64", target_pointer_width = "64")))]
mod absent;
#[cfg(not(all(target_os = "linux", target_arch = "x86_64", target_pointer_width = "64")))]
pub(crate) use absent::{arm, available, suspend};
#[cfg(all(
    feature = "faults",
    not(all(target_os = "linux", target_arch = "x86_64", target_pointer_width = "64"))
))]
pub(crate) use absent::{available as canary, pretend};

/// The engine was sound when it was tried, and now it is not: what it saw, or didn't, proves nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Blind(pub(crate) &'static str);
