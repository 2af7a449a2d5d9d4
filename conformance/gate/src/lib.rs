//! A gate that fails a test when real blocking work happens while an async task is being polled.
//!
//! ```
//! use leasehold_gate as gate;
//!
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
//! // Panics, with the call, its target and where it was made, if anything in here blocks its thread.
//! let answer = gate::strict(async { 6 * 7 }).await;
//! # assert_eq!(answer, 42);
//! # });
//! ```
//!
//! It works below all names: on Linux x86_64 the kernel hands every system call of the polling thread to the gate,
//! which judges it, notes it and makes it. So it sees what the standard library, libc's own inner calls, bundled C
//! libraries and bare `syscall` instructions do, and knows no function by name that could be renamed or forgotten. It
//! needs no async runtime and works with all of them.
//!
//! | you want to | look at |
//! | --- | --- |
//! | fail when a future blocks its thread | [`strict()`]; for a task, `tokio::spawn(strict(…))` |
//! | look at what a future did | [`record()`] |
//! | look at what a plain closure did | [`during()`] |
//! | let something pass, and say why | [`allow()`] |
//! | change what counts | [`Settings`] |
//! | know whether the gate works here | [`status()`], [`require`], [`try_strict`] |
//! | ask from within whether a gated poll is under way | [`inside()`] |
//! | read what is known of a call | [`calls`], the table |
//! | see the gate itself proved | `canaries` (feature `canaries`) |
//!
//! # When it can't see
//!
//! The gate arms itself only after a canary of its own tripped, once a process; and each arming, on each poll, makes
//! one call that has to be seen and, after the end, one that must not be. When that fails in mid-test it panics:
//! *the gate is blind*. Where there is no engine at all (another system, a kernel before 5.11, a sandbox that refuses),
//! [`status()`] says [`Status::Unavailable`] and why; [`strict()`] then says "not run" once on standard error and polls
//! ungated. With `gate` in the comma list `LEASEHOLD_REQUIRE` it panics instead, which is what a CI should ask for.
//!
//! # What it can't see
//!
//! CPU work, page faults (a mapped file that has to come from disk), spinning on a lock, the clock (`clock_gettime`
//! makes no system call), what the kernel does for `io_uring` on its own threads, and other threads: a poll that waits
//! for one in user space is only seen as a lock wait, which is off unless [`Settings::report_lock_waits`] turns it on.
//! `tokio::task::block_in_place` runs its closure in the same poll and is reported like anything else.
//! A handler of another signal that was installed with SIGSYS in its mask ends the process if it runs during a gated
//! poll and makes a system call.
//!
//! # What it costs
//!
//! | what | not gated | gated |
//! | --- | --- | --- |
//! | a benign call (`getppid`) | 0.08 µs | 1.25 µs |
//! | a call judged by its descriptor (`recvfrom`, non-blocking) | 0.13 µs | 1.70 µs |
//! | a violation, backtrace and all (`statx`) | 0.35 µs | 5.1 µs |
//! | a poll that makes no call | 0.00 µs | 1.9 µs |
//!
//! The median of 301 batches, gated and not gated in turns, on two cores of an Intel Xeon at 2.6 GHz with Linux 6.18;
//! measure yours with `cargo run --release -p leasehold-gate --example cost`.
//!
//! # Safety
//!
//! `unsafe` code is confined to `engine::dispatch`. A gate belongs into tests; nothing here is meant for production.

#![deny(unsafe_code)]
#![cfg_attr(
    not(all(target_os = "linux", target_arch = "x86_64", target_pointer_width = "64")),
    allow(dead_code, unused_imports, reason = "much of this is only called by an engine, and here is none")
)]
#![cfg_attr(not(test), warn(clippy::unwrap_used))]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod allow;
pub mod calls;
#[cfg(all(feature = "canaries", unix))]
pub mod canaries;
mod during;
mod engine;
#[cfg(feature = "faults")]
#[doc(hidden)]
pub mod faults;
mod frames;
mod inside;
mod record;
mod report;
mod rules;
mod scope;
mod settings;
mod status;
mod strict;
mod tape;
mod violation;

pub use allow::allow;
pub use during::during;
pub use frames::Frame;
pub use inside::inside;
pub use record::{Record, record};
pub use settings::{ProcessSpawn, Settings, UnknownCall};
pub use status::{Status, Unavailable, require, status};
pub use strict::{Strict, strict, try_strict};
pub use violation::Violation;
