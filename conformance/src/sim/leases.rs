//! The store of a simulated world: the pure rules, one map, and a clock.

use std::collections::BTreeMap;

use leasehold::rules::{self, Asker};
use leasehold::{
    ClaimOutcome, Fence, FenceExhausted, Intent, Lease, Listing, Moment, OwnerId, Phase, Reading, Record,
    ReleaseOutcome, RenewOutcome, SandboxId, Step, TakeOutcome, Ttl, Write,
};

/// Every lease of the world.
pub(super) struct Leases {
    records: BTreeMap<SandboxId, Record>,
    /// The high-water mark of the fences of what was forgotten.
    mark: u64,
    /// Whether the store goes by a clock of its own.
    pub(super) server_clock: bool,
    /// How far that clock was set, in nanoseconds.
    offset: i64,
    /// Numbers the effects, so that what was known can be put in order.
    effects: u64,
}

impl Leases {
    /// Fences are seeded with the microseconds of a calendar that began long ago.
    const EPOCH: u64 = 1_700_000_000_000_000;

    pub(super) fn new(server_clock: bool) -> Self {
        Self { records: BTreeMap::new(), mark: 0, server_clock, offset: 0, effects: 0 }
    }

    fn reading(&self, now: u64) -> Reading {
        let shown = now.saturating_add_signed(self.offset);
        let fence_floor = (self.mark + 1).max(Self::EPOCH + shown / 1_000);
        Reading { now: Moment::from_nanos(shown), fence_floor }
    }

    /// The number of the last effect.
    pub(super) fn effects(&self) -> u64 {
        self.effects
    }

    fn apply<T>(&mut self, id: &SandboxId, step: Step<T>) -> T {
        self.effects += 1;
        match step.write {
            Write::Nothing => {}
            Write::Extend(expires) => {
                if let Some(record) = self.records.get_mut(id) {
                    record.expires = expires;
                }
            }
            Write::Put(record) => {
                self.records.insert(id.clone(), record);
            }
            Write::Remove => {
                let fence = self.records.remove(id).and_then(|record| record.fence);
                self.mark = self.mark.max(fence.map_or(0, Fence::get));
            }
        }
        step.answer
    }

    pub(super) fn take(
        &mut self,
        id: &SandboxId,
        owner: &OwnerId,
        ttl: Ttl,
        now: u64,
    ) -> Result<TakeOutcome, FenceExhausted> {
        let step = rules::take(self.records.get(id), Asker { owner, ttl }, self.reading(now));
        self.apply(id, step)
    }

    pub(super) fn claim(
        &mut self,
        id: &SandboxId,
        intent: Intent,
        owner: &OwnerId,
        ttl: Ttl,
        now: u64,
    ) -> Result<ClaimOutcome, FenceExhausted> {
        let step = rules::claim(self.records.get(id), intent, Asker { owner, ttl }, self.reading(now));
        self.apply(id, step)
    }

    pub(super) fn renew(&mut self, id: &SandboxId, owner: &OwnerId, ttl: Ttl, now: u64) -> RenewOutcome {
        let step = rules::renew(self.records.get(id), Asker { owner, ttl }, self.reading(now));
        self.apply(id, step)
    }

    pub(super) fn release(
        &mut self,
        id: &SandboxId,
        tenure: Option<Fence>,
        owner: &OwnerId,
        ttl: Ttl,
        now: u64,
    ) -> ReleaseOutcome {
        let step = rules::release(self.records.get(id), tenure, Asker { owner, ttl }, self.reading(now));
        self.apply(id, step)
    }

    pub(super) fn inspect(&self, id: &SandboxId, now: u64) -> Option<Lease> {
        rules::inspect(self.records.get(id), self.reading(now))
    }

    pub(super) fn list(&self, now: u64) -> Listing {
        let mut listing = Listing::default();
        for (id, record) in &self.records {
            listing.leases.extend(record.lease_at(self.reading(now).now).map(|lease| (id.clone(), lease)));
        }
        listing
    }

    /// Whether a Teardown of `owner` ran out, and nobody released it.
    pub(super) fn teardown_ran_out(&self, id: &SandboxId, owner: &OwnerId, now: u64) -> bool {
        let now = self.reading(now).now;
        self.records.get(id).is_some_and(|record| {
            record.owner == *owner && record.phase == Phase::Teardown && !record.is_live(now)
        })
    }

    pub(super) fn discard(&mut self, id: &SandboxId) {
        self.effects += 1;
        let fence = self.records.remove(id).and_then(|record| record.fence);
        self.mark = self.mark.max(fence.map_or(0, Fence::get));
    }

    /// Every record is lost.
    pub(super) fn wipe(&mut self, floor_kept: bool) {
        self.effects += 1;
        for record in std::mem::take(&mut self.records).into_values() {
            self.mark = self.mark.max(record.fence.map_or(0, Fence::get));
        }
        if !floor_kept {
            self.mark = 0;
        }
    }

    /// The server's clock is set. A host's boot clock can't be.
    pub(super) fn step_clock(&mut self, millis: i64) {
        if self.server_clock {
            self.effects += 1;
            self.offset += millis * 1_000_000;
        }
    }
}
