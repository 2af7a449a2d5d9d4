//! The kit itself: what it makes of stores, harnesses and machines that are not as they should be.

mod faulty;
mod report;
mod runner;
mod stalls;
mod suite;
mod support;
