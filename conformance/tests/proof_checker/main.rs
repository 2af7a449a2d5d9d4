//! The checker of recorded histories is sound (it rejects nothing that a right store may answer) and effective (it
//! rejects every wrong history that it is shown).

mod brute;
mod by_hand;
mod generated;
mod support;
mod time_and_failures;
