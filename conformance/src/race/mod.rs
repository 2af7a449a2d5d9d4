//! Many at once: [`Mix`] asks a store anything and everything, threads and processes of it race, and the
//! [checker](crate::checker) judges what was recorded.

mod cases;
mod hammer;
mod mix;

pub(crate) use cases::mixed_histories_are_explained;
pub(crate) use hammer::Share;
pub use hammer::{Hammer, Hammered};
pub use mix::Mix;
