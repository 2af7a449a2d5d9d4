use std::error::Error;
use std::fmt;

/// A text that can't be an id: which kind of id, the text (cut when it is long) and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidId {
    what: &'static str,
    text: String,
    why: String,
}

impl InvalidId {
    /// As much of the text as an error repeats, in characters.
    const SHOWN: usize = 64;

    pub(super) fn new(what: &'static str, text: &str, why: String) -> Self {
        Self { what, text: text.chars().take(Self::SHOWN).collect(), why }
    }
}

impl fmt::Display for InvalidId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?} is not valid: {}", self.what, self.text, self.why)
    }
}

impl Error for InvalidId {}
