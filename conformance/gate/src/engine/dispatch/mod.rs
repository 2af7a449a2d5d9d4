//! The engine for Linux on x86_64: Syscall User Dispatch.
//!
//! The kernel looks at one byte of a thread before each system call and, when the byte says so, raises SIGSYS in place
//! of the call. The handler then judges the call, notes it, makes it in the program's stead and puts its result where
//! the program expects it. Nothing is patched and no function is known by name, so a call is seen whoever makes it:
//! the standard library, libc's own inner calls, C code, or a bare `syscall` instruction.
//!
//! | file | what it does |
//! | --- | --- |
//! | `armed.rs`, `suspended.rs` | the gate up for one poll, and down for a while within it |
//! | `switch.rs` | tells the kernel |
//! | `thread.rs` | what is known of each thread, the byte included |
//! | `handler.rs` | what happens in place of a call |
//! | `region.rs` | calls that have to run where they were made: new threads, new processes, the end of a handler |
//! | `mask.rs` | keeps SIGSYS deliverable without the program noticing |
//! | `previous.rs` | other users of SIGSYS |
//! | `look.rs`, `describe.rs`, `trace.rs` | what a call was about and where it came from |
//! | `proof.rs` | the engine's own canary |
//! | `raw.rs`, `frame.rs` | system calls without libc, and the kernel's structures |

mod armed;
mod describe;
mod frame;
mod handler;
mod look;
mod mask;
mod previous;
mod proof;
mod raw;
mod region;
mod suspended;
mod switch;
mod thread;
mod trace;

pub(crate) use armed::arm;
pub(crate) use proof::available;
#[cfg(feature = "faults")]
pub(crate) use proof::{canary, pretend};
pub(crate) use suspended::suspend;

use super::Blind;
