//! `LEASEHOLD_REQUIRE`: what must not be left out.

use std::fmt;

/// What `LEASEHOLD_REQUIRE` names, in a list with commas: `gate, redis, docker`.
///
/// What can't run where it is says "not run: why" and is no failure; where the variable names what it needs, it is.
///
/// ```
/// use leasehold_conformance::Required;
///
/// let required = Required::list("gate, redis");
/// assert!(required.names("redis") && !required.names("redis-tls"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Required {
    names: Vec<String>,
}

impl Required {
    /// What the environment asks for.
    #[must_use]
    pub fn from_env() -> Self {
        std::env::var("LEASEHOLD_REQUIRE").map_or_else(|_| Self::default(), |list| Self::list(&list))
    }

    /// What `list` names.
    #[must_use]
    pub fn list(list: &str) -> Self {
        let names = list.split(',').map(|name| name.trim().to_owned());
        Self { names: names.filter(|name| !name.is_empty()).collect() }
    }

    /// Whether `what` is among it.
    #[must_use]
    pub fn names(&self, what: &str) -> bool {
        self.names.iter().any(|name| name == what)
    }

    /// The name for which a store's case, not run because of `why`, must not be left out: the store's own, or one that
    /// the reason has as a word.
    pub(crate) fn asked_for(&self, store: &str, why: &str) -> Option<&str> {
        let why = why.to_lowercase();
        let word = |c: char| !c.is_alphanumeric() && c != '-' && c != '_';
        let asked = |name: &&String| *name == store || why.split(word).any(|said| said == name.as_str());
        self.names.iter().find(asked).map(String::as_str)
    }
}

/// Whether `LEASEHOLD_REQUIRE` names `what`.
#[must_use]
pub fn is_required(what: &str) -> bool {
    Required::from_env().names(what)
}

/// Says on standard error that a test is not run, and why.
///
/// # Panics
/// Where `LEASEHOLD_REQUIRE` names `what`.
pub fn not_run(what: &str, why: impl fmt::Display) {
    assert!(!is_required(what), "not run, and LEASEHOLD_REQUIRE names {what}: {why}");
    eprintln!("not run: {why}");
}

#[cfg(test)]
mod tests {
    use super::Required;

    #[test]
    fn whole_names_count() {
        assert!(Required::list("gate, redis").names("redis"));
        assert!(!Required::list("redis-tls").names("redis"));
        assert!(!Required::list("").names(""));
    }

    #[test]
    fn a_store_is_required_by_its_name_and_by_what_it_lacks() {
        let required = Required::list("redis,docker");
        assert_eq!(required.asked_for("redis", "no server on this machine"), Some("redis"));
        assert_eq!(required.asked_for("mine", "no Docker: set DOCKER_HOST"), Some("docker"));
        assert_eq!(required.asked_for("mine", "no redis-server on the path"), None);
        assert_eq!(Required::default().asked_for("redis", "no redis"), None);
    }
}
