//! One line of the table.

use super::class::Class;

/// What is known of one system call: its number, its name, when it blocks and why.
///
/// ```
/// use leasehold_gate::calls::{self, Class};
///
/// let fsync = calls::find("fsync").expect("the table has fsync");
/// assert_eq!(fsync.class, Class::Always);
/// println!("{} blocks: {}", fsync.name, fsync.reason);
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Row {
    /// The number on x86_64.
    pub number: u16,
    /// The kernel's name for it.
    pub name: &'static str,
    /// When it counts as blocking.
    pub class: Class,
    /// Why it does, or why it does not.
    pub reason: &'static str,
    /// Which argument says what the call was about.
    pub(crate) show: Show,
}

impl Row {
    pub(super) const fn new(
        number: u16,
        name: &'static str,
        class: Class,
        show: Show,
        reason: &'static str,
    ) -> Self {
        Self { number, name, class, reason, show }
    }
}

/// Which argument of a call tells a reader what it was about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Show {
    /// Nothing worth showing.
    Nothing,
    /// A path.
    Path(u8),
    /// A descriptor of a directory, and a path below it.
    At(u8, u8),
    /// Two paths: from and to.
    Paths(u8, u8),
    /// Two pairs of directory and path.
    AtAt(u8, u8, u8, u8),
    /// A descriptor.
    Fd(u8),
    /// A socket's address and its length, beside the socket itself in argument 0.
    Address(u8, u8),
    /// Pointer to a time.
    Pause(u8),
    /// Milliseconds.
    Millis(u8),
    /// A process.
    Process(u8),
}
