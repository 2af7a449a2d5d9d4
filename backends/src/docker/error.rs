//! What the engine says, in our words.

use std::error::Error as _;
use std::io;

use bollard::errors::Error;
use leasehold::{BackendError, BackendErrorKind};

/// A question that the engine did not answer with what was asked for.
#[derive(Debug)]
pub(super) struct Refusal {
    /// The status of its answer, where it gave one.
    status: Option<u16>,
    error: BackendError,
}

impl Refusal {
    /// Whether the engine knows for sure that there is no such container. Any other 404 is somebody else's: a proxy's, say.
    pub(super) fn is_missing_container(&self) -> bool {
        self.says(404, "no such container") || self.says(404, "no container with name or id")
    }

    /// Whether the engine has no such image.
    pub(super) fn is_missing_image(&self) -> bool {
        self.says(404, "no such image") || self.says(404, "image not known")
    }

    /// Whether the engine refused since something else is as it is: a name in use, a container that does not run.
    pub(super) fn is_conflict(&self) -> bool {
        self.status == Some(409) || self.says(500, "name is already in use")
    }

    /// Whether the engine has answered, so that what was asked for is not still on its way.
    pub(super) fn is_answer(&self) -> bool {
        self.status.is_some()
    }

    /// Whether the engine speaks none of the version it was asked in.
    pub(super) fn is_version(&self) -> bool {
        self.says(400, "client version")
    }

    fn says(&self, status: u16, text: &str) -> bool {
        self.status == Some(status) && self.error.to_string().to_ascii_lowercase().contains(text)
    }
}

impl From<Refusal> for BackendError {
    fn from(refusal: Refusal) -> Self {
        refusal.error
    }
}

impl From<BackendError> for Refusal {
    fn from(error: BackendError) -> Self {
        Self { status: None, error }
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        let status = match &error {
            Error::DockerResponseServerError { status_code, .. } => Some(*status_code),
            _ => None,
        };
        Self { status, error: failed(error) }
    }
}

/// The error for an answer of the engine's, or for none.
pub(super) fn failed(error: Error) -> BackendError {
    use BackendErrorKind::{Conflict, Denied, Full, Invalid, Missing, Timeout, Unavailable};
    let (kind, text) = match &error {
        Error::DockerResponseServerError { status_code, message } => {
            let low = message.to_ascii_lowercase();
            let kind = match status_code {
                _ if low.contains("no space left") || low.contains("cannot allocate memory") => Full,
                _ if low.contains("all predefined address pools") || low.contains("no available") => Full,
                400 => Invalid,
                401 | 403 => Denied,
                404 => Missing,
                409 => Conflict,
                _ => Unavailable,
            };
            (kind, format!("the engine answers {status_code}: {}", message.trim()))
        }
        Error::RequestTimeoutError => (Timeout, "the engine did not answer in time".to_owned()),
        Error::SocketNotFoundError(path) => {
            (Unavailable, format!("there is no socket {path}; start the engine, or say where it listens"))
        }
        other if refused_by_system(other) == Some(io::ErrorKind::PermissionDenied) => (
            Denied,
            "the engine's socket may not be used; give this process' user the right to, as by its group"
                .to_owned(),
        ),
        other => (Unavailable, format!("the engine can't be asked: {}", chain(other))),
    };
    BackendError::new(kind, text).with_source(error)
}

/// The error for an answer that says less than it has to.
pub(super) fn unclear(what: &str) -> BackendError {
    let text = format!("the engine's answer has no {what}; it can't be told what that means");
    BackendError::new(BackendErrorKind::Unavailable, text)
}

fn refused_by_system(error: &Error) -> Option<io::ErrorKind> {
    if let Error::IOError { err } = error {
        // Its cause would be that of the system's own error.
        return Some(err.kind());
    }
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<io::Error>() {
            return Some(error.kind());
        }
        cause = error.source();
    }
    None
}

/// The error and its causes in one line, each said once.
fn chain(error: &Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let said = error.to_string();
        if !text.contains(&said) {
            text = format!("{text}: {said}");
        }
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status_code: u16, message: &str) -> Error {
        Error::DockerResponseServerError { status_code, message: message.to_owned() }
    }

    #[test]
    fn the_kind_says_what_to_do_next() {
        use BackendErrorKind::{Conflict, Denied, Full, Invalid, Timeout, Unavailable};
        for (error, kind) in [
            (answer(400, "bad"), Invalid),
            (answer(403, "no"), Denied),
            (answer(409, "name in use"), Conflict),
            (answer(500, "write: no space left on device"), Full),
            (answer(500, "something"), Unavailable),
            (answer(503, "something"), Unavailable),
            (Error::RequestTimeoutError, Timeout),
            (io::Error::from(io::ErrorKind::ConnectionRefused).into(), Unavailable),
            (io::Error::from(io::ErrorKind::PermissionDenied).into(), Denied),
        ] {
            let text = error.to_string();
            assert_eq!(failed(error).kind(), kind, "{text}");
        }
    }

    #[test]
    fn only_the_engines_own_words_mean_gone() {
        let missing = |status, text: &str| Refusal::from(answer(status, text)).is_missing_container();
        assert!(missing(404, "No such container: 4f"));
        assert!(missing(404, "no container with name or ID \"4f\" found: no such container"));
        assert!(!missing(404, "page not found"));
        assert!(!missing(500, "No such container: 4f"));
        assert!(!Refusal::from(Error::RequestTimeoutError).is_missing_container());
    }
}
