//! The facade under a store that does as it is told: hang, wait, panic, count.

mod cancel;
mod close;
mod hang;
mod lanes;
mod support;
