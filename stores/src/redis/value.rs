use leasehold::{ErrorKind, Fence, OwnerId, Phase, StoreError};

/// What the value of a lease's key says: `own:<owner>` or `del:<owner>`, then `#<fence>` unless a foreign program wrote
/// it.
///
/// The scripts read this form too, with the same strictness, where they would overwrite what they find; here it is read
/// for showing it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) phase: Phase,
    pub(super) owner: OwnerId,
    pub(super) fence: Option<Fence>,
}

impl Said {
    pub(super) fn parse(value: &[u8]) -> Result<Self, Fault> {
        let (phase, rest) = match value.split_at_checked(4) {
            Some((b"own:", rest)) => (Phase::Held, rest),
            Some((b"del:", rest)) => (Phase::Teardown, rest),
            _ => return Err(Fault::Form),
        };
        let rest = std::str::from_utf8(rest).map_err(|_| Fault::Owner)?;
        let (owner, fence) = match rest.rsplit_once('#') {
            Some((owner, digits)) if is_digits(digits) => (owner, Some(fence(digits).ok_or(Fault::Fence)?)),
            _ => (rest, None),
        };
        let owner = OwnerId::new(owner).map_err(|_| Fault::Owner)?;
        Ok(Self { phase, owner, fence })
    }
}

/// The fence that `digits` write, in the one form that is ever written.
pub(super) fn fence(digits: &str) -> Option<Fence> {
    if digits.starts_with('0') || !is_digits(digits) {
        return None;
    }
    Fence::new(digits.parse().ok()?)
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

/// What is wrong with what was found under a lease's key or its mark. What was found is not repeated in its words, since
/// a key that strayed here may hold anybody's secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// Another type than a string.
    Type,
    /// No TTL.
    Endless,
    /// Neither `own:` nor `del:` in front.
    Form,
    /// After that no owner: nothing, more than 255 bytes, not UTF-8, or a control character.
    Owner,
    /// At the end `#` and digits that are no fence.
    Fence,
    /// The mark is no fence.
    Mark,
}

impl Fault {
    /// The fault that a script calls `word`.
    pub(super) fn from_word(word: &[u8]) -> Option<Self> {
        Some(match word {
            b"type" => Self::Type,
            b"endless" => Self::Endless,
            b"form" => Self::Form,
            b"owner" => Self::Owner,
            b"fence" => Self::Fence,
            b"mark" => Self::Mark,
            _ => return None,
        })
    }

    /// The error for what is kept under `key`.
    pub(super) fn at(self, key: &str) -> StoreError {
        let what = match self {
            Self::Type => "is not a string",
            Self::Endless => "has no TTL and would be held for ever",
            Self::Form => "begins with neither own: nor del:",
            Self::Owner => "names no owner",
            Self::Fence => "ends in # and digits that are no fence",
            Self::Mark => "has a high-water mark that is no fence",
        };
        let way_out = "look at it, and discard the id once you know that nobody uses it";
        StoreError::new(ErrorKind::Corrupt, format!("the key {key} {what}; {way_out}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_final_hash_with_digits_is_a_fence() {
        let said = |value: &str| {
            Said::parse(value.as_bytes()).map(|s| (s.owner.to_string(), s.fence.map(Fence::get)))
        };
        assert_eq!(said("own:a#7"), Ok(("a".to_owned(), Some(7))));
        assert_eq!(said("del:a#7#8"), Err(Fault::Owner), "no owner of ours ends like a fence");
        assert_eq!(said("own:a#7#x"), Ok(("a#7#x".to_owned(), None)));
        assert_eq!(said("own:a#"), Ok(("a#".to_owned(), None)));
        assert_eq!(said("own:a#07"), Err(Fault::Fence));
        assert_eq!(said("own:"), Err(Fault::Owner));
        assert_eq!(said("own"), Err(Fault::Form));
    }
}
