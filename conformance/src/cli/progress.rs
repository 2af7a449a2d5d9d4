use std::io::{IsTerminal, Write};

use crate::Progress;

/// A line on a terminal that says what is being done, and leaves no trace.
pub(super) struct Ticker {
    store: String,
    shown: bool,
}

impl Ticker {
    pub(super) fn new(store: &str) -> Self {
        Self { store: store.to_owned(), shown: std::io::stderr().is_terminal() }
    }

    pub(super) fn tell(&self, progress: Progress<'_>) {
        if let Progress::Began(case, n, of) = progress {
            self.write(&format!("{} {n}/{of} {}", self.store, case.id));
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
