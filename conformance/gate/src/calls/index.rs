//! From a number or a name to its row.

use super::NUMBERS;
use super::row::Row;
use super::table::ROWS;

/// Where the row of each number stands in the table, plus one; 0 where there is none. Made by the compiler, so that
/// the signal handler looks a call up without a search and without touching the heap.
static BY_NUMBER: [u16; NUMBERS] = {
    let mut index = [0; NUMBERS];
    let mut at = 0;
    while at < ROWS.len() {
        let number = ROWS[at].number as usize;
        assert!(index[number] == 0, "two rows have the same number");
        at += 1;
        index[number] = at as u16;
    }
    index
};

/// Every row, in the order of their numbers.
///
/// ```
/// let blocking = leasehold_gate::calls::table()
///     .iter()
///     .filter(|row| row.class == leasehold_gate::calls::Class::Always)
///     .count();
/// assert!(blocking > 100);
/// ```
pub fn table() -> &'static [Row] {
    &ROWS
}

/// The row of that name, the kernel's name (`openat`, `newfstatat`, `pread64`).
///
/// ```
/// assert!(leasehold_gate::calls::find("pread64").is_some());
/// assert!(leasehold_gate::calls::find("fread").is_none(), "a function of libc, not a system call");
/// ```
pub fn find(name: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.name == name)
}

/// The row of that number.
pub(crate) fn by_number(number: u64) -> Option<&'static Row> {
    #[cfg(feature = "faults")]
    if crate::faults::row_is_lost(number) {
        return None;
    }
    let at = *BY_NUMBER.get(usize::try_from(number).ok()?)?;
    ROWS.get(usize::from(at).checked_sub(1)?)
}
