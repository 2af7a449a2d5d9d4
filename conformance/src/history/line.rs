//! An event as one line of text: fields between tabs, which neither ids nor owners can contain.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use leasehold::{
    ClaimOutcome, DiscardOutcome, Fence, Intent, Lease, Moment, OwnerId, Phase, ReleaseOutcome, RenewOutcome,
    Replaced, TakeOutcome, Tenure,
};

use super::{Answer, Asked, Event, Stamp};

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, owner, ttl, asked, called, answer } = self;
        write!(f, "{id}\t{owner}\t{}\t{called}\t{asked}", ttl.as_nanos())?;
        match answer {
            Some((answered, answer)) => write!(f, "\t{answered}\t{answer}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\t{}", self.order, self.clock.as_nanos())
    }
}

impl fmt::Display for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Take => f.write_str("take"),
            Self::Claim(Intent::Keep) => f.write_str("keep"),
            Self::Claim(Intent::Destroy) => f.write_str("destroy"),
            Self::Claim(Intent::DestroyTenure(fence)) => write!(f, "destroy-tenure\t{fence}"),
            Self::Renew => f.write_str("renew"),
            Self::RenewMany => f.write_str("renew-many"),
            Self::Release => f.write_str("release"),
            Self::ReleaseTenure(fence) => write!(f, "release-tenure\t{fence}"),
            Self::Inspect => f.write_str("inspect"),
            Self::List => f.write_str("list"),
            Self::Discard { force: true } => f.write_str("discard-by-force"),
            Self::Discard { force: false } => f.write_str("discard"),
        }
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let begun = |f: &mut fmt::Formatter<'_>, word: &str, tenure: &Tenure, replaced: &Replaced| {
            write!(f, "{word}\t{}\t{}\t", tenure.fence, tenure.valid_until.as_nanos())?;
            match replaced {
                Replaced::Nothing => f.write_str("nothing"),
                Replaced::Mine(fence) => write!(f, "mine\t{fence}"),
                Replaced::Peer(owner) => write!(f, "peer\t{owner}"),
            }
        };
        let shown = |f: &mut fmt::Formatter<'_>, word: &str, lease: &Lease| {
            let fence = lease.fence.map_or(0, Fence::get);
            write!(f, "{word}\t{}\t{}\t{fence}\t{}", lease.owner, lease.phase, lease.left.as_nanos())
        };
        match self {
            Self::Take(TakeOutcome::Taken { tenure, replaced }) => begun(f, "Taken", tenure, replaced),
            Self::Take(TakeOutcome::BeingDestroyed) => f.write_str("BeingDestroyed"),
            Self::Claim(ClaimOutcome::Claimed { tenure, replaced }) => begun(f, "Claimed", tenure, replaced),
            Self::Claim(ClaimOutcome::Refused) => f.write_str("Refused"),
            Self::Claim(ClaimOutcome::Lapsed) => f.write_str("ClaimLapsed"),
            Self::Renew(RenewOutcome::Renewed(tenure)) => {
                write!(f, "Renewed\t{}\t{}", tenure.fence, tenure.valid_until.as_nanos())
            }
            Self::Renew(RenewOutcome::Lapsed) => f.write_str("Lapsed"),
            Self::Renew(RenewOutcome::Lost) => f.write_str("Lost"),
            Self::Release(ReleaseOutcome::Released) => f.write_str("Released"),
            Self::Release(ReleaseOutcome::NotHeld) => f.write_str("NotHeld"),
            Self::Look(None) => f.write_str("None"),
            Self::Look(Some(lease)) => shown(f, "Some", lease),
            Self::Discard(DiscardOutcome::Discarded) => f.write_str("Discarded"),
            Self::Discard(DiscardOutcome::Absent) => f.write_str("Absent"),
            Self::Discard(DiscardOutcome::Refused(lease)) => shown(f, "DiscardRefused", lease),
            Self::Failed(why) => write!(f, "Failed\t{}", why.replace(['\t', '\n'], " ")),
        }
    }
}

/// A line that is no event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    line: String,
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not a line of a history: {:?}", self.line)
    }
}

impl std::error::Error for Unreadable {}

impl FromStr for Event {
    type Err = Unreadable;

    fn from_str(line: &str) -> Result<Self, Unreadable> {
        let mut fields = Fields(line.split('\t'));
        fields.event().filter(|_| fields.word().is_none()).ok_or_else(|| Unreadable { line: line.to_owned() })
    }
}

/// What is left of a line.
struct Fields<'a>(std::str::Split<'a, char>);

impl<'a> Fields<'a> {
    fn word(&mut self) -> Option<&'a str> {
        self.0.next()
    }

    fn number(&mut self) -> Option<u64> {
        self.word()?.parse().ok()
    }

    fn nanos(&mut self) -> Option<Duration> {
        self.number().map(Duration::from_nanos)
    }

    fn moment(&mut self) -> Option<Moment> {
        self.number().map(Moment::from_nanos)
    }

    fn fence(&mut self) -> Option<Fence> {
        Fence::new(self.number()?)
    }

    fn owner(&mut self) -> Option<OwnerId> {
        OwnerId::new(self.word()?).ok()
    }

    fn stamp(&mut self) -> Option<Stamp> {
        Some(Stamp { order: self.number()?, clock: self.moment()? })
    }

    fn event(&mut self) -> Option<Event> {
        let (id, owner, ttl) = (self.word()?.parse().ok()?, self.owner()?, self.nanos()?);
        let (called, asked) = (self.stamp()?, self.asked()?);
        let answer = match self.word() {
            None => None,
            Some(order) => {
                let answered = Stamp { order: order.parse().ok()?, clock: self.moment()? };
                Some((answered, self.answer()?))
            }
        };
        Some(Event { id, owner, ttl, asked, called, answer })
    }

    fn asked(&mut self) -> Option<Asked> {
        Some(match self.word()? {
            "take" => Asked::Take,
            "keep" => Asked::Claim(Intent::Keep),
            "destroy" => Asked::Claim(Intent::Destroy),
            "destroy-tenure" => Asked::Claim(Intent::DestroyTenure(self.fence()?)),
            "renew" => Asked::Renew,
            "renew-many" => Asked::RenewMany,
            "release" => Asked::Release,
            "release-tenure" => Asked::ReleaseTenure(self.fence()?),
            "inspect" => Asked::Inspect,
            "list" => Asked::List,
            "discard-by-force" => Asked::Discard { force: true },
            "discard" => Asked::Discard { force: false },
            _ => return None,
        })
    }

    fn answer(&mut self) -> Option<Answer> {
        Some(match self.word()? {
            "Taken" => {
                Answer::Take(TakeOutcome::Taken { tenure: self.tenure()?, replaced: self.replaced()? })
            }
            "BeingDestroyed" => Answer::Take(TakeOutcome::BeingDestroyed),
            "Claimed" => {
                Answer::Claim(ClaimOutcome::Claimed { tenure: self.tenure()?, replaced: self.replaced()? })
            }
            "Refused" => Answer::Claim(ClaimOutcome::Refused),
            "ClaimLapsed" => Answer::Claim(ClaimOutcome::Lapsed),
            "Renewed" => Answer::Renew(RenewOutcome::Renewed(self.tenure()?)),
            "Lapsed" => Answer::Renew(RenewOutcome::Lapsed),
            "Lost" => Answer::Renew(RenewOutcome::Lost),
            "Released" => Answer::Release(ReleaseOutcome::Released),
            "NotHeld" => Answer::Release(ReleaseOutcome::NotHeld),
            "None" => Answer::Look(None),
            "Some" => Answer::Look(Some(self.lease()?)),
            "Discarded" => Answer::Discard(DiscardOutcome::Discarded),
            "Absent" => Answer::Discard(DiscardOutcome::Absent),
            "DiscardRefused" => Answer::Discard(DiscardOutcome::Refused(self.lease()?)),
            "Failed" => Answer::Failed(self.word()?.to_owned()),
            _ => return None,
        })
    }

    fn tenure(&mut self) -> Option<Tenure> {
        Some(Tenure { fence: self.fence()?, valid_until: self.moment()? })
    }

    fn replaced(&mut self) -> Option<Replaced> {
        Some(match self.word()? {
            "nothing" => Replaced::Nothing,
            "mine" => Replaced::Mine(self.fence()?),
            "peer" => Replaced::Peer(self.owner()?),
            _ => return None,
        })
    }

    fn lease(&mut self) -> Option<Lease> {
        let owner = self.owner()?;
        let phase = match self.word()? {
            "held" => Phase::Held,
            "teardown" => Phase::Teardown,
            _ => return None,
        };
        // Zero is no fence, and stands for none.
        Some(Lease { owner, phase, fence: Fence::new(self.number()?), left: self.nanos()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_answer_is_a_line_and_back() {
        let fence = Fence::new(9).unwrap();
        let tenure = Tenure { fence, valid_until: Moment::from_nanos(77) };
        let owner = OwnerId::new("gw 2: with blanks").unwrap();
        let lease = Lease {
            owner: owner.clone(),
            phase: Phase::Teardown,
            fence: None,
            left: Duration::from_nanos(5),
        };
        let claimed = |replaced| Answer::Claim(ClaimOutcome::Claimed { tenure, replaced });
        let answers = [
            (
                Asked::Take,
                Answer::Take(TakeOutcome::Taken { tenure, replaced: Replaced::Peer(owner.clone()) }),
            ),
            (Asked::Take, Answer::Take(TakeOutcome::BeingDestroyed)),
            (Asked::Claim(Intent::Keep), claimed(Replaced::Nothing)),
            (Asked::Claim(Intent::Destroy), claimed(Replaced::Mine(fence))),
            (Asked::Claim(Intent::DestroyTenure(fence)), Answer::Claim(ClaimOutcome::Refused)),
            (Asked::Claim(Intent::DestroyTenure(fence)), Answer::Claim(ClaimOutcome::Lapsed)),
            (Asked::Renew, Answer::Renew(RenewOutcome::Renewed(tenure))),
            (Asked::RenewMany, Answer::Renew(RenewOutcome::Lapsed)),
            (Asked::Renew, Answer::Renew(RenewOutcome::Lost)),
            (Asked::Release, Answer::Release(ReleaseOutcome::Released)),
            (Asked::ReleaseTenure(fence), Answer::Release(ReleaseOutcome::NotHeld)),
            (Asked::Inspect, Answer::Look(None)),
            (Asked::List, Answer::Look(Some(lease.clone()))),
            (Asked::Discard { force: true }, Answer::Discard(DiscardOutcome::Discarded)),
            (Asked::Discard { force: false }, Answer::Discard(DiscardOutcome::Absent)),
            (Asked::Discard { force: false }, Answer::Discard(DiscardOutcome::Refused(lease))),
            (Asked::Renew, Answer::Failed("timed out".to_owned())),
        ];
        for (asked, answer) in answers {
            let (called, answered) = (Stamp::at(Moment::from_nanos(3)), Stamp::at(Moment::from_nanos(4)));
            let (id, ttl) = ("sbx-1".parse().unwrap(), Duration::from_millis(20));
            let answer = Some((answered, answer));
            let event = Event { id, owner: owner.clone(), ttl, asked, called, answer };
            assert_eq!(event.to_string().parse(), Ok(event));
        }
    }

    #[test]
    fn a_line_cut_short_is_refused() {
        let line = "sbx-1\tgw\t5\t1\t1\trenew\t2\t2\tRenewed\t7\t9";
        assert!(line.parse::<Event>().is_ok());
        for cut in ["\t9", "\t7\t9", "\tRenewed\t7\t9"] {
            assert!(line.strip_suffix(cut).unwrap().parse::<Event>().is_err(), "{cut:?}");
        }
        assert!(format!("{line}\tmore").parse::<Event>().is_err());
    }
}
