use leasehold::rules::Asker;
use leasehold::{Fence, Lease, Moment, Phase, Reading, Record, Write};

use crate::history::{Answer, Asked};

/// One sandbox, as the rules have it.
#[derive(Clone, Debug, Default)]
pub(super) struct Modelled {
    pub(super) record: Option<Record>,
    /// Every fence that it ever had, the newest last.
    pub(super) fences: Vec<Fence>,
}

impl Modelled {
    /// Asks the rules, who give a new tenure the fence that the store gave it, if that is larger than all before it, and
    /// another one if it isn't.
    pub(super) fn ask(&mut self, asked: Asked, asker: Asker<'_>, now: Moment, given: &Answer) -> Answer {
        let above = self.fences.last().map_or(0, |fence| fence.get()) + 1;
        let fence_floor = given.fence().map_or(above, |fence| fence.get().max(above));
        let step = asked.by_rules(self.record.as_ref(), asker, Reading { now, fence_floor });
        match step.write {
            Write::Nothing => {}
            Write::Extend(expires) => self.record.iter_mut().for_each(|record| record.expires = expires),
            Write::Put(record) => {
                self.fences.extend(record.fence);
                self.record = Some(record);
            }
            Write::Remove => self.record = None,
        }
        step.answer
    }

    pub(super) fn lease(&self, now: Moment) -> Option<Lease> {
        self.record.as_ref().and_then(|record| record.lease_at(now))
    }

    /// Which clause says what comes of `asked`, asked by `owner` now.
    pub(super) fn clause(&self, asked: Asked, owner: &str, now: Moment) -> &'static str {
        let lease = self.lease(now);
        let mine = lease.as_ref().map(|lease| (lease.owner.as_str() == owner, lease.phase));
        match (asked, mine) {
            (Asked::Take, None) => "T1",
            (Asked::Take, Some((_, Phase::Teardown))) => "T4",
            (Asked::Take, Some((true, _))) => "T2",
            (Asked::Take, Some((false, _))) => "T3",
            (Asked::Claim(leasehold::Intent::DestroyTenure(_)), None) => "C7",
            (Asked::Claim(leasehold::Intent::DestroyTenure(_)), Some((true, _))) => "C8",
            (Asked::Claim(leasehold::Intent::Destroy), None) => "C4",
            (Asked::Claim(_), None) => "C1",
            (Asked::Claim(_), Some((false, _))) => "C3",
            (Asked::Claim(leasehold::Intent::Keep), Some((true, Phase::Held))) => "C2",
            (Asked::Claim(leasehold::Intent::Keep), Some((true, Phase::Teardown))) => "C6",
            (Asked::Claim(_), Some((true, Phase::Held))) => "C4",
            (Asked::Claim(_), Some((true, Phase::Teardown))) => "C5",
            (Asked::Renew, None) => "R2",
            (Asked::Renew, Some((false, _))) => "R3",
            (Asked::Renew, Some((true, Phase::Teardown))) => "R4",
            (Asked::Renew, Some((true, Phase::Held))) => "R1",
            (Asked::RenewMany, _) => "B1",
            (Asked::Release | Asked::ReleaseTenure(_), None) => "L3",
            (Asked::Release | Asked::ReleaseTenure(_), Some((false, _))) => "L2",
            (Asked::Release, Some((true, _))) => "L1",
            (Asked::ReleaseTenure(_), Some((true, _))) => "L4",
            (Asked::Inspect, None) => "I3",
            (Asked::Inspect, Some(_)) => "I2",
            (Asked::List, _) => "I4",
            (Asked::Discard { .. }, _) => "X2",
        }
    }
}
