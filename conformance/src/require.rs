//! `LEASEHOLD_REQUIRE`: what must not be left out.

/// Whether `LEASEHOLD_REQUIRE`, a list with commas, names `what`.
///
/// A test that can't run where it is says "not run: why" and passes; where the variable names what it needs, it fails.
#[must_use]
pub fn is_required(what: &str) -> bool {
    std::env::var("LEASEHOLD_REQUIRE").is_ok_and(|list| names(&list, what))
}

fn names(list: &str, what: &str) -> bool {
    list.split(',').any(|name| name.trim() == what)
}

#[cfg(test)]
mod tests {
    use super::names;

    #[test]
    fn whole_names_count() {
        assert!(names("gate, redis", "redis"));
        assert!(!names("redis-tls", "redis"));
        assert!(!names("", "redis"));
    }
}
