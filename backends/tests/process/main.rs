//! The process backend, with real processes that are really killed.

#![cfg(target_os = "linux")]

mod crash;
mod damage;
mod exec;
mod looks;
mod names;
mod never_blocks;
mod ready;
mod sharing;
mod stop;
mod support;
