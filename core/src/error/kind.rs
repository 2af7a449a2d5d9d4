use std::fmt;

/// What kind of trouble a store met, and so what a caller does next.
///
/// None of these ever means "nobody holds it": what could not be found out is not an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The server or the medium did not answer or refused to. Keep what you have, change nothing, ask again. The
    /// effect may have happened; asking again converges.
    Unavailable,
    /// No answer within the store's deadline; [`StoreError::stage`](crate::StoreError::stage) says where the time
    /// went. As for [`Unavailable`](Self::Unavailable), the effect may have happened.
    Timeout,
    /// The record of this id can't be understood: torn, of a newer version, of the wrong type, without an expiry.
    /// It is never treated as absent and never overwritten. An operator looks at it and may
    /// [`discard`](crate::OwnershipStore::discard) it. Nothing was changed.
    Corrupt,
    /// Answering could harm: another live kernel writes to this directory, say, so its clock is not ours. Fix the
    /// deployment. Nothing was changed.
    Unsafe,
    /// The store was closed. Nothing was changed.
    Closed,
    /// A URL, path, id or setting that can't be right. Fix it; trying again gives the same answer. Nothing was changed.
    Invalid,
    /// This host, server or build can't do it: server too old, feature not compiled in. Nothing was changed.
    Unsupported,
    /// The store may not read or write where it was told to: permissions, credentials. Nothing was changed.
    Denied,
    /// The medium is full: disk, quota, the server's memory, file handles. Nothing was changed; make room.
    Full,
    /// The store's code panicked. The effect may have happened; other calls are not affected.
    Panicked,
}

impl ErrorKind {
    /// Whether an operation that ended so may have taken effect all the same, unless the error says otherwise.
    #[must_use]
    pub const fn leaves_effect_unknown(self) -> bool {
        matches!(self, Self::Unavailable | Self::Timeout | Self::Panicked)
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unavailable => "unavailable",
            Self::Timeout => "timed out",
            Self::Corrupt => "corrupt record",
            Self::Unsafe => "unsafe",
            Self::Closed => "closed",
            Self::Invalid => "invalid",
            Self::Unsupported => "unsupported",
            Self::Denied => "denied",
            Self::Full => "full",
            Self::Panicked => "panicked",
        })
    }
}
