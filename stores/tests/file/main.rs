//! The file store against what other processes, operators and crashes do to a directory.

#![cfg(feature = "file")]

mod children;
mod damage;
mod fences;
mod first_open;
mod kills;
mod limits;
mod odd_things;
mod refusals;
mod storage;
mod support;
mod times;
mod waits;
