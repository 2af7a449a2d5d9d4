use std::time::Duration;

use leasehold::{
    ClaimOutcome, DiscardOutcome, ErrorKind, Fence, FenceExhausted, Lease, Moment, OwnerId, ReleaseOutcome,
    RenewOutcome, Replaced, StoreError, TakeOutcome, Tenure,
};

use super::value::{Fault, Said, fence};

/// What a script said about one lease: a word, and what belongs to it.
///
/// Everything is read strictly. What no script of ours says is an error, never a guess at what was meant.
#[derive(Debug)]
pub(super) struct Reply<'a> {
    word: &'a [u8],
    rest: &'a [u8],
    /// The lease's key, for the words of errors.
    key: &'a str,
}

/// Why a reply has no outcome.
#[derive(Debug)]
pub(super) enum NoOutcome {
    /// What is kept can't be read; the error says so.
    Kept(StoreError),
    /// The reply itself can't be read.
    Unexpected,
}

type Read<T> = Result<T, NoOutcome>;

impl From<Unexpected> for NoOutcome {
    fn from(_: Unexpected) -> Self {
        Self::Unexpected
    }
}

/// Something in a reply that no script says.
struct Unexpected;

impl<'a> Reply<'a> {
    /// Opens what was said about the lease under `key`. What the script found wrong there is an error here.
    pub(super) fn open(said: &'a [u8], key: &'a str) -> Read<Self> {
        let (word, rest) = split(said);
        match word {
            b"corrupt" => {
                Err(Fault::from_word(rest).map_or(NoOutcome::Unexpected, |f| NoOutcome::Kept(f.at(key))))
            }
            b"exhausted" => Err(NoOutcome::Kept(
                StoreError::new(ErrorKind::Corrupt, FenceExhausted.to_string()).with_source(FenceExhausted),
            )),
            _ => Ok(Self { word, rest, key }),
        }
    }

    pub(super) fn take(&self, me: &OwnerId, valid_until: Moment) -> Read<TakeOutcome> {
        match (self.word, self.rest) {
            (b"taken", rest) => {
                let (tenure, replaced) = self.begun(rest, me, valid_until)?;
                Ok(TakeOutcome::Taken { tenure, replaced })
            }
            (b"being-destroyed", b"") => Ok(TakeOutcome::BeingDestroyed),
            _ => Err(NoOutcome::Unexpected),
        }
    }

    pub(super) fn claim(&self, me: &OwnerId, valid_until: Moment) -> Read<ClaimOutcome> {
        match (self.word, self.rest) {
            (b"claimed", rest) => {
                let (tenure, replaced) = self.begun(rest, me, valid_until)?;
                Ok(ClaimOutcome::Claimed { tenure, replaced })
            }
            (b"refreshed", value) => {
                let fence = self.said(value)?.fence.ok_or(Unexpected)?;
                let tenure = Tenure { fence, valid_until };
                Ok(ClaimOutcome::Claimed { tenure, replaced: Replaced::Mine(fence) })
            }
            (b"refused", b"") => Ok(ClaimOutcome::Refused),
            (b"lapsed", b"") => Ok(ClaimOutcome::Lapsed),
            _ => Err(NoOutcome::Unexpected),
        }
    }

    pub(super) fn renew(&self, valid_until: Moment) -> Read<RenewOutcome> {
        match (self.word, self.rest) {
            (b"lapsed", b"") => Ok(RenewOutcome::Lapsed),
            (b"lost", b"") => Ok(RenewOutcome::Lost),
            (digits, b"") => Ok(RenewOutcome::Renewed(Tenure { fence: number(digits)?, valid_until })),
            _ => Err(NoOutcome::Unexpected),
        }
    }

    pub(super) fn release(&self) -> Read<ReleaseOutcome> {
        match (self.word, self.rest) {
            (b"released", b"") => Ok(ReleaseOutcome::Released),
            (b"not-held", b"") => Ok(ReleaseOutcome::NotHeld),
            _ => Err(NoOutcome::Unexpected),
        }
    }

    pub(super) fn inspect(&self) -> Read<Option<Lease>> {
        match (self.word, self.rest) {
            (b"lease", rest) => self.lease(rest).map(Some),
            (b"absent", b"") => Ok(None),
            _ => Err(NoOutcome::Unexpected),
        }
    }

    pub(super) fn discard(&self) -> Read<DiscardOutcome> {
        match (self.word, self.rest) {
            (b"discarded", b"") => Ok(DiscardOutcome::Discarded),
            (b"absent", b"") => Ok(DiscardOutcome::Absent),
            (b"refused", rest) => self.lease(rest).map(DiscardOutcome::Refused),
            _ => Err(NoOutcome::Unexpected),
        }
    }

    /// `<fence> <value that was replaced, or nothing>`
    fn begun(&self, rest: &[u8], me: &OwnerId, valid_until: Moment) -> Read<(Tenure, Replaced)> {
        let (digits, value) = split(rest);
        let tenure = Tenure { fence: number(digits)?, valid_until };
        if value.is_empty() {
            return Ok((tenure, Replaced::Nothing));
        }
        Ok((
            tenure,
            match self.said(value)? {
                Said { owner, fence: Some(fence), .. } if owner == *me => Replaced::Mine(fence),
                Said { owner, .. } => Replaced::Peer(owner),
            },
        ))
    }

    /// `<milliseconds left> <value>`
    fn lease(&self, rest: &[u8]) -> Read<Lease> {
        let (left, value) = split(rest);
        let left = match std::str::from_utf8(left).ok().and_then(|text| text.parse::<i64>().ok()) {
            Some(-1) => return Err(NoOutcome::Kept(Fault::Endless.at(self.key))),
            // In its last millisecond the server still has it and says zero.
            Some(left) => u64::try_from(left).map_err(|_| Unexpected)?.max(1),
            None => return Err(NoOutcome::Unexpected),
        };
        let Said { phase, owner, fence } = self.said(value)?;
        Ok(Lease { owner, phase, fence, left: Duration::from_millis(left) })
    }

    fn said(&self, value: &[u8]) -> Read<Said> {
        Said::parse(value).map_err(|fault| NoOutcome::Kept(fault.at(self.key)))
    }
}

/// What stands before the first blank, and what after it.
fn split(said: &[u8]) -> (&[u8], &[u8]) {
    match said.iter().position(|&b| b == b' ') {
        Some(at) => (&said[..at], &said[at + 1..]),
        None => (said, b""),
    }
}

fn number(digits: &[u8]) -> Result<Fence, Unexpected> {
    std::str::from_utf8(digits).ok().and_then(fence).ok_or(Unexpected)
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNTIL: Moment = Moment::from_nanos(1);

    fn take(said: &str) -> Read<TakeOutcome> {
        Reply::open(said.as_bytes(), "p:x")?.take(&OwnerId::new("me").unwrap(), UNTIL)
    }

    #[test]
    fn what_was_replaced_is_read_from_its_value() {
        let fence = |n| Fence::new(n).unwrap();
        for (said, expected) in [
            ("taken 9 ", Replaced::Nothing),
            ("taken 9 own:me#7", Replaced::Mine(fence(7))),
            ("taken 9 own:me", Replaced::Peer(OwnerId::new("me").unwrap())),
            ("taken 9 own:a peer#8", Replaced::Peer(OwnerId::new("a peer").unwrap())),
        ] {
            let TakeOutcome::Taken { tenure, replaced } = take(said).unwrap() else { panic!("{said}") };
            assert_eq!((tenure.fence, replaced), (fence(9), expected), "{said}");
        }
    }

    #[test]
    fn what_no_script_says_is_unexpected() {
        for said in [
            "",
            "taken",
            "taken 0 ",
            "taken 07 ",
            "taken 9007199254740992 ",
            "taken x ",
            "released",
            "being-destroyed 1",
        ] {
            assert!(matches!(take(said), Err(NoOutcome::Unexpected)), "{said:?}");
        }
        for said in ["", "lease", "lease x own:a", "lease -2 own:a", "lease 5x own:a", "absent "] {
            let read = Reply::open(said.as_bytes(), "p:x").and_then(|reply| reply.inspect());
            assert_eq!(matches!(read, Err(NoOutcome::Unexpected)), said != "absent ", "{said:?}: {read:?}");
        }
    }

    #[test]
    fn what_a_script_found_wrong_is_corrupt_and_names_the_key() {
        for said in ["corrupt endless", "taken 9 nonsense", "exhausted"] {
            let Err(NoOutcome::Kept(error)) = take(said) else { panic!("{said}") };
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{said}");
            assert_eq!(error.to_string().contains("p:x"), said != "exhausted", "{error}");
        }
        assert!(matches!(take("corrupt odd"), Err(NoOutcome::Unexpected)));
    }
}
