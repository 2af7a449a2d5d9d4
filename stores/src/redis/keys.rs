use leasehold::SandboxId;

/// How the keys of one namespace are named.
#[derive(Clone, Debug)]
pub(super) struct Keys {
    prefix: String,
}

/// What a key that begins with the prefix is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Owned {
    /// The lease of this sandbox.
    Lease(SandboxId),
    /// A key of a namespace whose prefix begins with ours.
    Nested,
    /// Something that no lease is called.
    Stray,
}

impl Keys {
    const MAX_PREFIX: usize = 255;

    /// Checks `prefix`.
    pub(super) fn new(prefix: &str) -> Result<Self, String> {
        if prefix.is_empty() || prefix.len() > Self::MAX_PREFIX {
            return Err(format!("the prefix has {} bytes; use 1 to {}", prefix.len(), Self::MAX_PREFIX));
        }
        if let Some(c) = prefix.chars().find(|c| c.is_control()) {
            return Err(format!("the prefix has the control character {c:?}"));
        }
        if prefix.contains(['{', '}']) {
            return Err(
                "the prefix has a brace, which would part a lease from its mark in a cluster".to_owned()
            );
        }
        Ok(Self { prefix: prefix.to_owned() })
    }

    pub(super) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// The key of the lease of `id`.
    pub(super) fn lease(&self, id: &SandboxId) -> String {
        [self.prefix.as_str(), ":", id.as_str()].concat()
    }

    /// The key of the mark of `id`. The braces make a cluster place it with the lease; and since it doesn't begin with the
    /// prefix, nobody who goes through the leases meets it.
    pub(super) fn mark(&self, id: &SandboxId) -> String {
        ["{", self.prefix.as_str(), ":", id.as_str(), "}#f"].concat()
    }

    /// Both.
    pub(super) fn pair(&self, id: &SandboxId) -> [String; 2] {
        [self.lease(id), self.mark(id)]
    }

    /// A glob pattern for the keys of all leases.
    pub(super) fn pattern(&self) -> String {
        let mut pattern = String::with_capacity(self.prefix.len() + 2);
        for c in self.prefix.chars() {
            if matches!(c, '*' | '?' | '[' | ']' | '^' | '\\') {
                pattern.push('\\');
            }
            pattern.push(c);
        }
        pattern + ":*"
    }

    /// What the key `key`, found by the pattern, is.
    pub(super) fn owned(&self, key: &[u8]) -> Owned {
        let name = std::str::from_utf8(key)
            .ok()
            .and_then(|key| key.strip_prefix(self.prefix.as_str())?.strip_prefix(':'));
        match name {
            Some(name) => match SandboxId::new(name) {
                Ok(id) => Owned::Lease(id),
                Err(_) if name.contains(':') => Owned::Nested,
                Err(_) => Owned::Stray,
            },
            None => Owned::Stray,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn glob_characters_of_the_prefix_mean_themselves() {
        assert_eq!(Keys::new(r"a*b?[c]^\d").unwrap().pattern(), r"a\*b\?\[c\]\^\\d:*");
    }

    #[test]
    fn a_mark_is_tagged_with_its_lease_and_does_not_begin_with_the_prefix() {
        let keys = Keys::new("p").unwrap();
        assert_eq!(keys.pair(&"x".parse().unwrap()), ["p:x", "{p:x}#f"]);
    }

    #[test]
    fn keys_of_nested_namespaces_are_not_ours() {
        let keys = Keys::new("p").unwrap();
        assert_eq!(keys.owned(b"p:x"), Owned::Lease("x".parse().unwrap()));
        assert_eq!(keys.owned(b"p:q:x"), Owned::Nested);
        assert_eq!(keys.owned(b"p:a b"), Owned::Stray);
        assert_eq!(keys.owned(b"p:\xff"), Owned::Stray);
    }
}
