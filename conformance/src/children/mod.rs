//! Child processes: this program again, at an entry where it does what its parent says.
//!
//! [`Again`] says how the program is run again, [`Child`] is the parent's side, and [`serve`] the child's. With
//! [`conformance_suite!`](crate::conformance_suite) the entry is a test that returns at once unless the program was started
//! as a child; with [`conformance_main!`](crate::conformance_main) it is the program itself.

mod again;
mod cases;
mod child;
mod entry;

pub use again::Again;
pub(crate) use cases::{a_killed_process_leaves_its_leases, another_process_sees_it};
pub use child::Child;
pub use entry::{asked_for, serve, serve_if_asked};
