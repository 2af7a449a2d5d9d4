use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use super::InvalidId;

/// The name of a sandbox, the same on every gateway.
///
/// 1 to 128 bytes of `A–Z a–z 0–9 . _ -`, not starting with a dot. The alphabet is small on purpose: an id is at once
/// a file name, part of a Redis key, a container name and a word in a log, and none of those may have to escape it.
/// Ids that differ only in the case of a letter are different ids.
///
/// ```
/// use leasehold::SandboxId;
///
/// let id: SandboxId = "sbx-7f3a".parse()?;
/// assert_eq!(id.as_str(), "sbx-7f3a");
/// assert!("../etc/passwd".parse::<SandboxId>().is_err());
/// # Ok::<(), leasehold::InvalidId>(())
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SandboxId(Arc<str>);

impl SandboxId {
    /// The longest id, in bytes.
    pub const MAX_LEN: usize = 128;

    /// Checks `text` and makes it an id.
    ///
    /// # Errors
    /// [`InvalidId`] that names the offending byte or length when `text` is empty, longer than 128 bytes, starts with
    /// a dot or has a byte outside the alphabet.
    pub fn new(text: &str) -> Result<Self, InvalidId> {
        let refuse = |why: String| Err(InvalidId::new("sandbox id", text, why));
        if text.is_empty() {
            return refuse("it is empty; use 1 to 128 bytes".to_owned());
        }
        if text.len() > Self::MAX_LEN {
            return refuse(format!("it has {} bytes; at most {} fit", text.len(), Self::MAX_LEN));
        }
        if text.starts_with('.') {
            return refuse("it starts with a dot".to_owned());
        }
        match text.chars().find(|c| !Self::allows(*c)) {
            Some(c) => refuse(format!("{c:?} is not one of A-Z a-z 0-9 . _ -")),
            None => Ok(Self(text.into())),
        }
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn allows(c: char) -> bool {
        c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-')
    }
}

impl FromStr for SandboxId {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        Self::new(text)
    }
}

impl AsRef<str> for SandboxId {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SandboxId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for SandboxId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SandboxId({})", self.0)
    }
}

#[cfg(feature = "serde")]
super::serde_as_text!(SandboxId);

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::one_byte("a")]
    #[case::whole_alphabet("AZaz09._-")]
    #[case::longest(&"X".repeat(128))]
    #[case::dots_inside("a..b")]
    fn accepts(#[case] text: &str) {
        assert_eq!(SandboxId::new(text).map(|id| id.to_string()), Ok(text.to_owned()));
    }

    #[rstest]
    #[case::none("", "empty")]
    #[case::too_long(&"x".repeat(129), "129 bytes")]
    #[case::slash("a/b", "'/'")]
    #[case::nul("a\0b", "'\\0'")]
    #[case::dot_dot("..", "dot")]
    #[case::hidden(".x", "dot")]
    #[case::colon("a:b", "':'")]
    #[case::letter_beyond_ascii("ä", "'ä'")]
    #[case::blank(" ", "' '")]
    fn refuses_and_says_why(#[case] text: &str, #[case] says: &str) {
        let error = SandboxId::new(text).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }

    #[test]
    fn case_matters() {
        assert_ne!(SandboxId::new("a"), SandboxId::new("A"));
    }
}
