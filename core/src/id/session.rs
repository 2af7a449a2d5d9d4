use std::fmt;
use std::sync::Arc;

use super::InvalidId;

/// Whose sandbox it is: a user and one of their threads.
///
/// Resolved once at the edge of the gateway and passed by value from there, so that no thread boundary can turn one
/// user into another.
///
/// ```
/// use leasehold::SessionKey;
///
/// let key = SessionKey::new("ada", "thread-7")?;
/// assert_eq!((key.user(), key.thread()), ("ada", "thread-7"));
/// # Ok::<(), leasehold::InvalidId>(())
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionKey {
    user: Arc<str>,
    thread: Arc<str>,
}

impl SessionKey {
    /// The longest user or thread, in bytes.
    pub const MAX_LEN: usize = 255;

    /// Checks both parts and joins them.
    ///
    /// # Errors
    /// [`InvalidId`] when a part is empty, longer than 255 bytes or has a control character.
    pub fn new(user: &str, thread: &str) -> Result<Self, InvalidId> {
        Ok(Self { user: part("user", user)?, thread: part("thread", thread)? })
    }

    /// The user.
    #[must_use]
    pub fn user(&self) -> &str {
        &self.user
    }

    /// The thread of that user.
    #[must_use]
    pub fn thread(&self) -> &str {
        &self.thread
    }
}

fn part(what: &'static str, text: &str) -> Result<Arc<str>, InvalidId> {
    let refuse = |why: String| Err(InvalidId::new(what, text, why));
    if text.is_empty() {
        return refuse("it is empty".to_owned());
    }
    if text.len() > SessionKey::MAX_LEN {
        return refuse(format!("it has {} bytes; at most {} fit", text.len(), SessionKey::MAX_LEN));
    }
    match text.chars().find(|c| c.is_control()) {
        Some(c) => refuse(format!("it has the control character {c:?}")),
        None => Ok(text.into()),
    }
}

impl fmt::Display for SessionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.user, self.thread)
    }
}

impl fmt::Debug for SessionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SessionKey({:?}, {:?})", self.user, self.thread)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_checked_one_by_one() {
        assert!(SessionKey::new("", "t").unwrap_err().to_string().starts_with("user"));
        assert!(SessionKey::new("u", "a\0b").unwrap_err().to_string().starts_with("thread"));
        assert!(SessionKey::new("u", &"t".repeat(256)).is_err());
    }
}
