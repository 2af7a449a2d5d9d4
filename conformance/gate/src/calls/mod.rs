//! What is known of each system call: the [`table()`], and how a call is judged by it.
//!
//! A call whose number is not in the table counts as blocking and is reported as "not in the table": a kernel newer
//! than the table must not make the gate blind.

mod class;
mod index;
mod judge;
mod row;
mod table;

pub use class::{Bits, Class, EmptyPath, SpawnFlags, Timeout};
pub(crate) use index::by_number;
pub use index::{find, table};
pub(crate) use judge::{Arguments, FdKind, Look, Verdict, judge};
pub use row::Row;
pub(crate) use row::Show;

/// One more than the largest number the table can hold.
pub(crate) const NUMBERS: usize = 512;
