use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use leasehold::{ErrorKind, StoreError};

/// Where a store is and how it is to be used: `memory:`, `file:/dir`, `sqlite:/path.db`, `redis://…`.
///
/// Settings of a store follow a `?` as `name=value` joined by `&`. Printing it never shows a password.
///
/// ```
/// use leasehold_stores::StoreUrl;
///
/// let url: StoreUrl = "redis://ops:secret@10.0.0.5:6379/2?prefix=prod".parse()?;
/// assert_eq!(url.scheme(), "redis");
/// assert_eq!(url.to_string(), "redis://ops:***@10.0.0.5:6379/2?prefix=prod");
/// # Ok::<(), leasehold::StoreError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct StoreUrl {
    scheme: String,
    /// Everything between `scheme:` and the `?`, as it was written.
    rest: String,
    settings: BTreeMap<String, String>,
}

impl StoreUrl {
    /// The part before the first colon, in lower case.
    #[must_use]
    pub fn scheme(&self) -> &str {
        &self.scheme
    }

    /// The URL without its settings, password and all: for the driver, never for a log.
    #[must_use]
    pub fn without_settings(&self) -> String {
        format!("{}:{}", self.scheme, self.rest)
    }

    /// The absolute path that a `file:` or `sqlite:` URL names, written `scheme:/path` or `scheme:///path`.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] when it is empty, relative, has a host or a NUL byte.
    pub fn path(&self) -> Result<PathBuf, StoreError> {
        let path = match self.rest.strip_prefix("//") {
            Some(local) if local.starts_with('/') => local,
            Some(_) => {
                return Err(self.invalid(format!(
                    "it names a host; write {0}:/absolute/path or {0}:///absolute/path",
                    self.scheme
                )));
            }
            None => &self.rest,
        };
        if !path.starts_with('/') {
            let why = "the path must be absolute, so that every gateway means the same place; write ";
            return Err(self.invalid(format!("{why}{}:/absolute/path", self.scheme)));
        }
        if path.contains('\0') {
            return Err(self.invalid("the path has a NUL byte"));
        }
        Ok(PathBuf::from(path))
    }

    /// Whether anything stands between the scheme and the settings.
    #[must_use]
    pub fn is_bare(&self) -> bool {
        self.rest.is_empty()
    }

    /// The settings after the `?`, to be taken one by one.
    #[must_use]
    pub fn settings(&self) -> Settings<'_> {
        Settings { url: self, left: self.settings.clone() }
    }

    /// An error about this URL.
    #[must_use]
    pub fn invalid(&self, why: impl fmt::Display) -> StoreError {
        StoreError::new(ErrorKind::Invalid, format!("store URL {self}: {why}"))
    }
}

/// The settings of a URL. Each is taken once by its name, and [`finish`](Self::finish) refuses what nobody asked for, so
/// that a misspelt name is an error and not a default.
#[derive(Debug)]
pub struct Settings<'a> {
    url: &'a StoreUrl,
    left: BTreeMap<String, String>,
}

impl Settings<'_> {
    /// The setting `name`, as text.
    pub fn text(&mut self, name: &str) -> Option<String> {
        self.left.remove(name)
    }

    /// The setting `name` in whole milliseconds from 1 to an hour.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] that names setting and value.
    pub fn millis(&mut self, name: &str) -> Result<Option<Duration>, StoreError> {
        let range = 1..=3_600_000;
        Ok(self.number(name, range)?.map(Duration::from_millis))
    }

    /// The setting `name` as a whole number within `range`.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] that names setting, value and range.
    pub fn number(
        &mut self,
        name: &str,
        range: std::ops::RangeInclusive<u64>,
    ) -> Result<Option<u64>, StoreError> {
        let Some(text) = self.text(name) else { return Ok(None) };
        match text.parse() {
            Ok(number) if range.contains(&number) => Ok(Some(number)),
            _ => Err(self.url.invalid(format!(
                "{name}={text:?} is not a whole number from {} to {}",
                range.start(),
                range.end()
            ))),
        }
    }

    /// The setting `name` as one of `words`.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] that names setting, value and the words.
    pub fn word<'w>(&mut self, name: &str, words: &[&'w str]) -> Result<Option<&'w str>, StoreError> {
        let Some(text) = self.text(name) else { return Ok(None) };
        match words.iter().find(|word| **word == text) {
            Some(word) => Ok(Some(word)),
            None => Err(self.url.invalid(format!("{name}={text:?} is not one of {}", words.join(", ")))),
        }
    }

    /// Refuses what was not taken; `known` is what this store understands.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] that names the first unknown setting and the known ones.
    pub fn finish(self, known: &[&str]) -> Result<(), StoreError> {
        match self.left.keys().next() {
            None => Ok(()),
            Some(name) if known.is_empty() => {
                Err(self.url.invalid(format!("unknown setting {name:?}; this store has none")))
            }
            Some(name) => Err(self
                .url
                .invalid(format!("unknown setting {name:?}; this store knows {}", known.join(", ")))),
        }
    }
}

impl FromStr for StoreUrl {
    type Err = StoreError;

    fn from_str(text: &str) -> Result<Self, StoreError> {
        let invalid = |why: String| StoreError::new(ErrorKind::Invalid, why);
        let examples = "memory:, file:/dir, sqlite:/path.db or redis://host:6379/0";
        let (scheme, rest) = text
            .split_once(':')
            .ok_or_else(|| invalid(format!("store URL {text:?} has no scheme; write {examples}")))?;
        let lower = scheme.to_ascii_lowercase();
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
        if lower.is_empty() || !lower.chars().all(fits) {
            return Err(invalid(format!("{scheme:?} is not the scheme of a store URL; write {examples}")));
        }
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let mut url = Self { scheme: lower, rest: rest.to_owned(), settings: BTreeMap::new() };
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair
                .split_once('=')
                .ok_or_else(|| url.invalid(format!("the setting {pair:?} has no value; write {pair}=…")))?;
            if url.settings.insert(name.to_owned(), value.to_owned()).is_some() {
                return Err(url.invalid(format!("the setting {name:?} is given twice")));
            }
        }
        Ok(url)
    }
}

impl fmt::Display for StoreUrl {
    /// With `***` in the place of a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.scheme)?;
        match self.rest.rsplit_once('@') {
            // A user without a password has nothing to hide, but a lone word before the @ is a password in some drivers.
            Some((before, host)) => {
                let slashes = if before.starts_with("//") { "//" } else { "" };
                let user = before.trim_start_matches('/').split(':').next().unwrap_or_default();
                let user = if before.contains(':') { user } else { "***" };
                let secret = if before.contains(':') { ":***" } else { "" };
                write!(f, "{slashes}{user}{secret}@{host}")?;
            }
            None => f.write_str(&self.rest)?,
        }
        for (i, (name, value)) in self.settings.iter().enumerate() {
            let value = if name.contains("pass") || name.contains("secret") { "***" } else { value };
            write!(f, "{}{name}={value}", if i == 0 { '?' } else { '&' })?;
        }
        Ok(())
    }
}

impl fmt::Debug for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StoreUrl({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> StoreUrl {
        text.parse().unwrap()
    }

    #[test]
    fn paths_are_absolute_and_local() {
        assert_eq!(parse("file:/a/b").path().unwrap(), PathBuf::from("/a/b"));
        assert_eq!(parse("sqlite:///a/b.db").path().unwrap(), PathBuf::from("/a/b.db"));
        for text in ["file:", "file:a/b", "file://host/a", "file:./a", "file:/a\0b"] {
            assert_eq!(parse(text).path().unwrap_err().kind(), ErrorKind::Invalid, "{text:?}");
        }
    }

    #[test]
    fn text_without_a_scheme_is_refused_with_an_example() {
        for text in ["", "/tmp/x", "nothing", ":x", "a b:c"] {
            let error = text.parse::<StoreUrl>().unwrap_err().to_string();
            assert!(error.contains("redis://"), "{error}");
        }
    }

    #[test]
    fn no_way_of_writing_a_password_is_printed() {
        for text in [
            "redis://u:hunter2@h/0",
            "redis://:hunter2@h/0",
            "redis://hunter2@h/0",
            "redis://u:hunter2@a@h/0",
            "redis+unix:///run/r.sock?password=hunter2",
        ] {
            let shown = format!("{0} {0:?} {1}", parse(text), parse(text).invalid("x"));
            assert!(!shown.contains("hunter2"), "{shown}");
        }
    }

    #[test]
    fn settings_are_taken_once_and_unknown_ones_refused() {
        let url = parse("file:/d?deadline_ms=250&network=yes");
        let mut settings = url.settings();
        assert_eq!(settings.millis("deadline_ms").unwrap(), Some(Duration::from_millis(250)));
        let error = settings.finish(&["deadline_ms"]).unwrap_err().to_string();
        assert!(error.contains("network") && error.contains("deadline_ms"), "{error}");
        assert!(parse("file:/d?deadline_ms=0").settings().millis("deadline_ms").is_err());
        assert!(parse("file:/d?deadline_ms=soon").settings().millis("deadline_ms").is_err());
        assert!("file:/d?a=1&a=2".parse::<StoreUrl>().is_err());
        assert!("file:/d?a".parse::<StoreUrl>().is_err());
    }
}
