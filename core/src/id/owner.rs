use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use super::InvalidId;

/// One provider instance: the name under which it holds leases.
///
/// Made at start by [`OwnerId::generate`], never persisted and never reused: whoever comes back after a crash is
/// somebody else, so that a lease of the dead can't be mistaken for one's own.
///
/// ```
/// use leasehold::OwnerId;
///
/// let mine = OwnerId::generate();
/// assert_ne!(mine, OwnerId::generate());
/// assert!(OwnerId::new("gateway-3#17").is_err(), "a trailing #digits is how stores write the fence");
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OwnerId(Arc<str>);

impl OwnerId {
    /// The longest owner id, in bytes.
    pub const MAX_LEN: usize = 255;

    /// The longest part of the host's name that [`generate`](Self::generate) keeps, in bytes.
    const MAX_HOST: usize = 128;

    /// A new owner id: this host's name, a colon, and 128 random bits as 32 hex digits.
    ///
    /// # Panics
    /// When the operating system has no randomness to give, which no supported system does after boot.
    #[must_use]
    pub fn generate() -> Self {
        let mut bits = [0_u8; 16];
        getrandom::fill(&mut bits).expect("the operating system gives 16 random bytes");
        Self(format!("{}:{:032x}", host_name(), u128::from_be_bytes(bits)).into())
    }

    /// Checks `text` and makes it an owner id. Choosing one by hand is for tests, tools and peers' records; a gateway
    /// uses [`generate`](Self::generate).
    ///
    /// # Errors
    /// [`InvalidId`] when `text` is empty, longer than 255 bytes, has a control character, or ends in `#` and digits
    /// (stores write the fence there).
    pub fn new(text: &str) -> Result<Self, InvalidId> {
        let refuse = |why: String| Err(InvalidId::new("owner id", text, why));
        if text.is_empty() {
            return refuse("it is empty".to_owned());
        }
        if text.len() > Self::MAX_LEN {
            return refuse(format!("it has {} bytes; at most {} fit", text.len(), Self::MAX_LEN));
        }
        if let Some(c) = text.chars().find(|c| c.is_control()) {
            return refuse(format!("it has the control character {c:?}"));
        }
        if ends_like_a_fence(text) {
            return refuse("it ends in # and digits, which is how a fence is written".to_owned());
        }
        Ok(Self(text.into()))
    }

    /// The owner as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn ends_like_a_fence(text: &str) -> bool {
    text.rsplit_once('#')
        .is_some_and(|(_, tail)| !tail.is_empty() && tail.bytes().all(|b| b.is_ascii_digit()))
}

/// The host's name with everything that an owner id doesn't carry well replaced, and cut to [`OwnerId::MAX_HOST`].
fn host_name() -> String {
    #[cfg(unix)]
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    #[cfg(not(unix))]
    let name = String::new();
    let mut clean: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' }).collect();
    clean.truncate(OwnerId::MAX_HOST);
    if clean.is_empty() { "host".to_owned() } else { clean }
}

impl FromStr for OwnerId {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        Self::new(text)
    }
}

impl AsRef<str> for OwnerId {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for OwnerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for OwnerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OwnerId({})", self.0)
    }
}

#[cfg(feature = "serde")]
super::serde_as_text!(OwnerId);

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[test]
    fn generated_ones_are_host_colon_32_hex_digits_and_pass_their_own_check() {
        let id = OwnerId::generate();
        let (host, bits) = id.as_str().rsplit_once(':').unwrap();
        assert!(!host.is_empty());
        assert_eq!(bits.len(), 32);
        assert!(bits.bytes().all(|b| b.is_ascii_hexdigit()));
        assert_eq!(OwnerId::new(id.as_str()), Ok(id));
    }

    #[rstest]
    #[case::none("", "empty")]
    #[case::too_long(&"x".repeat(256), "256 bytes")]
    #[case::newline("a\nb", "control")]
    #[case::nul("a\0", "control")]
    #[case::escape("\u{1b}[31m", "control")]
    #[case::fence("a#1", "fence")]
    fn refuses_and_says_why(#[case] text: &str, #[case] says: &str) {
        let error = OwnerId::new(text).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }

    #[rstest]
    #[case("gw-3:ab")]
    #[case("a#")]
    #[case("a#1b")]
    #[case("#1 x")]
    #[case(&"x".repeat(255))]
    fn accepts(#[case] text: &str) {
        assert!(OwnerId::new(text).is_ok());
    }
}
