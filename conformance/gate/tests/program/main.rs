//! What a program under the gate notices of it: nothing.
//!
//! Most of these change things that a whole process shares, so each runs in a process of its own.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![expect(unsafe_code, reason = "signals, forks and bare system calls are what these tests are about")]

mod alone;
mod forks;
mod masks;
mod own_handlers;
mod panics;
mod registers;
mod seccomp;
mod threads;
mod unavailable;
