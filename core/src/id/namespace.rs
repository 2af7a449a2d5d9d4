use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use super::InvalidId;

/// Which deployment a sandbox belongs to. It has no default: two deployments that share an engine and say nothing would
/// tidy up after each other.
///
/// 1 to 48 bytes of `a–z 0–9 -`, starting and ending with a letter or digit, so that it can stand in the name of a
/// container. Namespaces are compared whole: `x` and `x-y` have nothing in common.
///
/// ```
/// use leasehold::Namespace;
///
/// let namespace: Namespace = "agents-prod".parse()?;
/// assert_eq!(namespace.as_str(), "agents-prod");
/// assert!("agents/prod".parse::<Namespace>().is_err());
/// # Ok::<(), leasehold::InvalidId>(())
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Namespace(Arc<str>);

impl Namespace {
    /// The longest namespace, in bytes.
    pub const MAX_LEN: usize = 48;

    /// Checks `text` and makes it a namespace.
    ///
    /// # Errors
    /// [`InvalidId`] that says what is wrong when `text` is empty, longer than 48 bytes, has a byte outside the
    /// alphabet, or starts or ends with a dash.
    pub fn new(text: &str) -> Result<Self, InvalidId> {
        let refuse = |why: String| Err(InvalidId::new("namespace", text, why));
        if text.is_empty() {
            return refuse("it is empty; name the deployment, as in \"agents-prod\"".to_owned());
        }
        if text.len() > Self::MAX_LEN {
            return refuse(format!("it has {} bytes; at most {} fit", text.len(), Self::MAX_LEN));
        }
        if let Some(c) = text.chars().find(|c| !(c.is_ascii_lowercase() || c.is_ascii_digit() || *c == '-')) {
            return refuse(format!("{c:?} is not one of a-z 0-9 -"));
        }
        if text.starts_with('-') || text.ends_with('-') {
            return refuse("it starts or ends with a dash".to_owned());
        }
        Ok(Self(text.into()))
    }

    /// The namespace as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Namespace {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        Self::new(text)
    }
}

impl AsRef<str> for Namespace {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Namespace({})", self.0)
    }
}

#[cfg(feature = "serde")]
super::serde_as_text!(Namespace);

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("x")]
    #[case("x-y")]
    #[case("0")]
    #[case(&"n".repeat(48))]
    fn accepts(#[case] text: &str) {
        assert_eq!(Namespace::new(text).map(|n| n.to_string()), Ok(text.to_owned()));
    }

    #[rstest]
    #[case::none("", "empty")]
    #[case::too_long(&"n".repeat(49), "49 bytes")]
    #[case::upper_case("Agents", "'A'")]
    #[case::slash("a/b", "'/'")]
    #[case::dash_first("-a", "dash")]
    #[case::dash_last("a-", "dash")]
    fn refuses_and_says_why(#[case] text: &str, #[case] says: &str) {
        let error = Namespace::new(text).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
}
