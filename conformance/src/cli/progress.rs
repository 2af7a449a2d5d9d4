use std::io::{IsTerminal, Write};

use crate::Progress;
use crate::listed::Listed;

/// A line on a terminal that says what is being done, and leaves no trace.
pub(super) struct Ticker {
    subject: String,
    shown: bool,
}

impl Ticker {
    pub(super) fn new(subject: &str) -> Self {
        Self { subject: subject.to_owned(), shown: std::io::stderr().is_terminal() }
    }

    pub(super) fn tell<C: Listed>(&self, progress: Progress<'_, C>) {
        if let Progress::Began(case, n, of) = progress {
            self.write(&format!("{} {n}/{of} {}", self.subject, case.id()));
        }
    }

    pub(super) fn clear(&self) {
        self.write("");
    }

    fn write(&self, text: &str) {
        if self.shown {
            let _ = write!(std::io::stderr(), "\r\x1b[K{text}");
        }
    }
}
