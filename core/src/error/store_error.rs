use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::sync::Arc;

use super::{ErrorKind, Operation, Stage};
use crate::SandboxId;

/// Why a store could not answer: kind, operation, id, where the time went, and the cause as `source`.
///
/// Cheap to clone, so that one failure of a server can be the answer to every id of a batch. Its texts name the thing
/// and the way out, and never carry a password.
///
/// ```
/// use leasehold::{ErrorKind, Operation, Stage, StoreError};
///
/// let error = StoreError::new(ErrorKind::Timeout, "redis at 127.0.0.1:6379 did not answer within 2 s")
///     .at(Stage::Connect)
///     .during(Operation::Take, Some(&"sbx-1".parse()?));
/// assert_eq!(
///     error.to_string(),
///     "take of sbx-1: redis at 127.0.0.1:6379 did not answer within 2 s (timed out connecting)"
/// );
/// assert!(!error.may_have_happened(), "it was never sent");
/// # Ok::<(), leasehold::InvalidId>(())
/// ```
#[derive(Clone)]
pub struct StoreError {
    inner: Arc<Inner>,
}

#[derive(Clone)]
struct Inner {
    kind: ErrorKind,
    detail: Cow<'static, str>,
    stage: Option<Stage>,
    operation: Option<Operation>,
    id: Option<SandboxId>,
    source: Option<Arc<dyn Error + Send + Sync>>,
}

impl StoreError {
    /// An error of `kind`; `detail` says in lower case what was tried on what, and the way out.
    #[must_use]
    pub fn new(kind: ErrorKind, detail: impl Into<Cow<'static, str>>) -> Self {
        let detail = detail.into();
        let inner = Inner { kind, detail, stage: None, operation: None, id: None, source: None };
        Self { inner: Arc::new(inner) }
    }

    /// The same error, saying where the time went.
    #[must_use]
    pub fn at(self, stage: Stage) -> Self {
        self.with(|inner| inner.stage = Some(stage))
    }

    /// The same error with its cause.
    #[must_use]
    pub fn with_source(self, source: impl Error + Send + Sync + 'static) -> Self {
        self.with(|inner| inner.source = Some(Arc::new(source)))
    }

    /// The same error, saying what was done to which sandbox, unless it says so already.
    #[must_use]
    pub fn during(self, operation: Operation, id: Option<&SandboxId>) -> Self {
        self.with(|inner| {
            inner.operation.get_or_insert(operation);
            if inner.id.is_none() {
                inner.id = id.cloned();
            }
        })
    }

    /// What kind of trouble this is, and so what to do next.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.inner.kind
    }

    /// What was being done.
    #[must_use]
    pub fn operation(&self) -> Option<Operation> {
        self.inner.operation
    }

    /// To which sandbox, where it was one.
    #[must_use]
    pub fn id(&self) -> Option<&SandboxId> {
        self.inner.id.as_ref()
    }

    /// Where the time went, for errors of waiting.
    #[must_use]
    pub fn stage(&self) -> Option<Stage> {
        self.inner.stage
    }

    /// Whether the operation may have taken effect all the same. Trying it again converges either way.
    #[must_use]
    pub fn may_have_happened(&self) -> bool {
        match self.inner.stage {
            Some(Stage::Pool | Stage::Connect | Stage::Lock) => false,
            Some(Stage::Reply) | None => self.inner.kind.leaves_effect_unknown(),
        }
    }

    fn with(mut self, change: impl FnOnce(&mut Inner)) -> Self {
        change(Arc::make_mut(&mut self.inner));
        self
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { kind, detail, stage, operation, id, .. } = &*self.inner;
        match (operation, id) {
            (Some(operation), Some(id)) => write!(f, "{operation} of {id}: ")?,
            (Some(operation), None) => write!(f, "{operation}: ")?,
            (None, Some(id)) => write!(f, "{id}: ")?,
            (None, None) => {}
        }
        write!(f, "{detail} ({kind}")?;
        if let Some(stage) = stage {
            write!(f, " {stage}")?;
        }
        f.write_str(")")
    }
}

impl fmt::Debug for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StoreError({self}")?;
        let mut cause = self.source();
        while let Some(error) = cause {
            write!(f, ": {error}")?;
            cause = error.source();
        }
        f.write_str(")")
    }
}

impl Error for StoreError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.inner.source.as_deref().map(|source| source as &(dyn Error + 'static))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_operation_named_stays() {
        let error = StoreError::new(ErrorKind::Closed, "closed").during(Operation::Take, None);
        assert_eq!(error.during(Operation::Claim, None).operation(), Some(Operation::Take));
    }

    #[test]
    fn only_what_was_sent_may_have_happened() {
        let timeout = || StoreError::new(ErrorKind::Timeout, "late");
        assert!(timeout().may_have_happened());
        assert!(timeout().at(Stage::Reply).may_have_happened());
        assert!(!timeout().at(Stage::Lock).may_have_happened());
        assert!(!StoreError::new(ErrorKind::Corrupt, "torn").at(Stage::Reply).may_have_happened());
    }
}
