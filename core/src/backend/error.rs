use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::sync::Arc;

use super::InstanceId;
use crate::SandboxId;

/// What kind of trouble a backend met, and so what a caller does next. None of these ever means "it is gone".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BackendErrorKind {
    /// The engine did not answer, refused to, or is busy. Keep what you have and ask again. The effect may have happened.
    Unavailable,
    /// No answer within the bound. The effect may have happened.
    Timeout,
    /// The name is another instance's. Nothing was changed; look at who has it.
    Conflict,
    /// The name or the instance is another deployment's. Nothing was changed; the text says whose.
    Foreign,
    /// It did not become ready in time. It exists.
    NotReady,
    /// It ended before it was ready. It may still exist; the text has the last it said.
    Exited,
    /// There is no such instance, where one is needed: to run a command in it, to wait for it. Nothing was changed; acquire
    /// the sandbox again.
    Missing,
    /// A setting, a command or an instance id that can't be right. Fix it. Nothing was changed.
    Invalid,
    /// This engine or host can't do it. Nothing was changed.
    Unsupported,
    /// The engine does not let us. Nothing was changed.
    Denied,
    /// The host has no room: memory, disk, processes, addresses. Nothing was changed; make room.
    Full,
    /// A record of the backend's own can't be understood. Nothing was changed; an operator looks at it.
    Corrupt,
    /// The backend's code panicked. The effect may have happened.
    Panicked,
}

impl BackendErrorKind {
    const fn text(self) -> &'static str {
        match self {
            Self::Unavailable => "unavailable",
            Self::Timeout => "timed out",
            Self::Conflict => "name taken",
            Self::Foreign => "another deployment's",
            Self::NotReady => "not ready",
            Self::Exited => "exited",
            Self::Missing => "no such instance",
            Self::Invalid => "invalid",
            Self::Unsupported => "unsupported",
            Self::Denied => "denied",
            Self::Full => "no room",
            Self::Corrupt => "corrupt",
            Self::Panicked => "panicked",
        }
    }
}

impl fmt::Display for BackendErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

/// What a backend was doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each is the method of the same name")]
pub enum BackendOperation {
    EngineId,
    Create,
    WaitReady,
    Inspect,
    Discover,
    List,
    Condemn,
    Destroy,
    Exec,
}

impl BackendOperation {
    pub(crate) const fn text(self) -> &'static str {
        match self {
            Self::EngineId => "engine id",
            Self::Create => "create",
            Self::WaitReady => "wait until ready",
            Self::Inspect => "inspect",
            Self::Discover => "discover",
            Self::List => "list",
            Self::Condemn => "condemn",
            Self::Destroy => "destroy",
            Self::Exec => "exec",
        }
    }
}

impl fmt::Display for BackendOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

/// Why a backend could not do or say something: kind, operation, which sandbox and instance, and the cause as `source`.
///
/// Cheap to clone. Its texts never carry the value of an environment variable.
///
/// ```
/// use leasehold::{BackendError, BackendErrorKind, BackendOperation};
///
/// let error = BackendError::new(BackendErrorKind::Timeout, "the engine did not answer within 10 s")
///     .during(BackendOperation::Create)
///     .of(&"sbx-1".parse()?);
/// assert_eq!(error.to_string(), "create of sbx-1: the engine did not answer within 10 s (timed out)");
/// assert!(error.may_have_happened());
/// # Ok::<(), leasehold::InvalidId>(())
/// ```
#[derive(Clone)]
pub struct BackendError {
    inner: Arc<Inner>,
}

#[derive(Clone)]
struct Inner {
    kind: BackendErrorKind,
    detail: Cow<'static, str>,
    operation: Option<BackendOperation>,
    id: Option<SandboxId>,
    instance: Option<InstanceId>,
    source: Option<Arc<dyn Error + Send + Sync>>,
}

impl BackendError {
    /// An error of `kind`; `detail` says in lower case what was tried, and the way out.
    #[must_use]
    pub fn new(kind: BackendErrorKind, detail: impl Into<Cow<'static, str>>) -> Self {
        let detail = detail.into();
        let inner = Inner { kind, detail, operation: None, id: None, instance: None, source: None };
        Self { inner: Arc::new(inner) }
    }

    /// The same error with its cause.
    #[must_use]
    pub fn with_source(self, source: impl Error + Send + Sync + 'static) -> Self {
        self.with(|inner| inner.source = Some(Arc::new(source)))
    }

    /// The same error, saying what was being done, unless it says so already.
    #[must_use]
    pub fn during(self, operation: BackendOperation) -> Self {
        self.with(|inner| {
            inner.operation.get_or_insert(operation);
        })
    }

    /// The same error, saying which sandbox it was about.
    #[must_use]
    pub fn of(self, id: &SandboxId) -> Self {
        self.with(|inner| inner.id = Some(id.clone()))
    }

    /// The same error, saying which instance it was about.
    #[must_use]
    pub fn on(self, instance: &InstanceId) -> Self {
        self.with(|inner| inner.instance = Some(instance.clone()))
    }

    /// What kind of trouble this is, and so what to do next.
    #[must_use]
    pub fn kind(&self) -> BackendErrorKind {
        self.inner.kind
    }

    /// What was being done.
    #[must_use]
    pub fn operation(&self) -> Option<BackendOperation> {
        self.inner.operation
    }

    /// Of which sandbox, where it was one.
    #[must_use]
    pub fn id(&self) -> Option<&SandboxId> {
        self.inner.id.as_ref()
    }

    /// On which instance, where it was one.
    #[must_use]
    pub fn instance(&self) -> Option<&InstanceId> {
        self.inner.instance.as_ref()
    }

    /// Whether the operation may have taken effect all the same.
    #[must_use]
    pub fn may_have_happened(&self) -> bool {
        use BackendErrorKind::{Exited, NotReady, Panicked, Timeout, Unavailable};
        matches!(self.inner.kind, Unavailable | Timeout | Panicked | NotReady | Exited)
    }

    fn with(mut self, change: impl FnOnce(&mut Inner)) -> Self {
        change(Arc::make_mut(&mut self.inner));
        self
    }
}

impl fmt::Display for BackendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { kind, detail, operation, id, instance, .. } = &*self.inner;
        let mut said = false;
        if let Some(operation) = operation {
            write!(f, "{operation}")?;
            said = true;
        }
        if let Some(id) = id {
            write!(f, "{}{id}", if said { " of " } else { "" })?;
            said = true;
        }
        if let Some(instance) = instance {
            write!(f, "{}instance {instance}", if said { ", " } else { "" })?;
            said = true;
        }
        write!(f, "{}{detail} ({kind})", if said { ": " } else { "" })
    }
}

impl fmt::Debug for BackendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BackendError({self}")?;
        let mut cause = self.source();
        while let Some(error) = cause {
            write!(f, ": {error}")?;
            cause = error.source();
        }
        f.write_str(")")
    }
}

impl Error for BackendError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.inner.source.as_deref().map(|source| source as &(dyn Error + 'static))
    }
}
