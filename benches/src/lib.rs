//! What leasehold costs, as ratios to what the medium itself costs.
//!
//! A figure in microseconds is about a machine; a ratio to a *floor*, the same medium used barely and measured in the same
//! run, is about the code. [`measure`] takes floor and ours in turns, [`rows`] says what is measured against what and
//! which ratio is held, and the binary `ratios` prints the table.

#![forbid(unsafe_code)]

pub mod measure;
pub mod rows;
pub mod table;
pub mod town;
