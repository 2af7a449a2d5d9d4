//! Fixed memory in which the engine notes what it saw.
//!
//! The engine notes a call from within a signal handler, where nothing may allocate: malloc's lock may be held by the
//! very code that was interrupted. So a scope brings its tape, and what doesn't fit is only counted.

use std::fmt;
use std::time::Duration;

use crate::calls::{Row, Verdict};

/// How many violations of one poll are kept in full.
const ENTRIES: usize = 24;
/// How many frames of a backtrace are kept. SQLite's take some twenty.
pub(crate) const FRAMES: usize = 80;

/// What was seen in one poll.
pub(crate) struct Tape {
    entries: Box<[Entry]>,
    used: usize,
    missed: usize,
}

/// One call.
#[derive(Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) number: u64,
    /// Its row; `None` when the table has none.
    pub(crate) row: Option<&'static Row>,
    pub(crate) verdict: Verdict,
    /// Made with `int 0x80`, so that the number is one of the 32-bit table, which we don't have.
    pub(crate) is_32_bit: bool,
    pub(crate) target: Text,
    /// How long it took; `None` when it never came back to us (a new process).
    pub(crate) took: Option<Duration>,
    frames: [usize; FRAMES],
    depth: usize,
}

impl Tape {
    pub(crate) fn new() -> Self {
        Self { entries: vec![Entry::blank(); ENTRIES].into_boxed_slice(), used: 0, missed: 0 }
    }

    /// The next free entry, wiped; `None`, and counted, when the tape is full.
    pub(crate) fn next(&mut self) -> Option<&mut Entry> {
        if self.used == self.entries.len() {
            self.missed = self.missed.saturating_add(1);
            return None;
        }
        self.used += 1;
        let entry = &mut self.entries[self.used - 1];
        *entry = Entry::blank();
        Some(entry)
    }

    /// Hands on what a scope within this one saw: it happened in this poll too.
    pub(crate) fn absorb(&mut self, inner: &Tape) {
        for entry in inner.entries() {
            if let Some(free) = self.next() {
                *free = *entry;
            }
        }
        self.missed = self.missed.saturating_add(inner.missed);
    }

    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries[..self.used]
    }

    /// How many more there were than are kept.
    pub(crate) fn missed(&self) -> usize {
        self.missed
    }

    pub(crate) fn wipe(&mut self) {
        self.used = 0;
        self.missed = 0;
    }
}

impl Entry {
    fn blank() -> Self {
        Self {
            number: 0,
            row: None,
            verdict: Verdict::Benign,
            is_32_bit: false,
            target: Text::default(),
            took: None,
            frames: [0; FRAMES],
            depth: 0,
        }
    }

    pub(crate) fn push_frame(&mut self, address: usize) -> bool {
        let Some(slot) = self.frames.get_mut(self.depth) else { return false };
        *slot = address;
        self.depth += 1;
        true
    }

    pub(crate) fn clear_frames(&mut self) {
        self.depth = 0;
    }

    pub(crate) fn frames(&self) -> &[usize] {
        &self.frames[..self.depth]
    }
}

/// A short text in fixed memory; what doesn't fit is cut off.
#[derive(Clone, Copy)]
pub(crate) struct Text {
    bytes: [u8; 192],
    length: usize,
}

impl Text {
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let free = &mut self.bytes[self.length..];
        let taken = bytes.len().min(free.len());
        free[..taken].copy_from_slice(&bytes[..taken]);
        self.length += taken;
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

impl Default for Text {
    fn default() -> Self {
        Self { bytes: [0; 192], length: 0 }
    }
}

impl fmt::Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.push(text.as_bytes());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_tape_counts_what_it_cannot_keep() {
        let mut tape = Tape::new();
        for _ in 0..ENTRIES + 3 {
            tape.next();
        }
        assert_eq!((tape.entries().len(), tape.missed()), (ENTRIES, 3));
        tape.wipe();
        assert_eq!((tape.entries().len(), tape.missed()), (0, 0));
    }

    #[test]
    fn an_outer_tape_learns_what_the_inner_one_saw_and_missed() {
        let (mut outer, mut inner) = (Tape::new(), Tape::new());
        for number in 0..ENTRIES as u64 + 2 {
            if let Some(entry) = inner.next() {
                entry.number = number;
            }
        }
        outer.next();
        outer.absorb(&inner);
        assert_eq!((outer.entries().len(), outer.missed()), (ENTRIES, 3));
        assert_eq!(outer.entries()[1].number, 0);
    }

    #[test]
    fn a_long_text_is_cut_and_not_overrun() {
        let mut text = Text::default();
        text.push(&[b'x'; 150]);
        text.push(&[b'y'; 150]);
        assert_eq!(text.as_bytes().len(), 192);
    }
}
