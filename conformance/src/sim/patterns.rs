//! Happenings that belong together: the tight spots of the protocol, which chance alone finds once in ten thousand worlds.

use std::time::Duration;

use super::plan::{
    Act, Ends, EngineCall, EngineFault, Happening, Make, StoreCall, StoreFault, Visit, What, millis, moment,
};
use crate::chance::Chance;

/// One tight spot, somewhere in the world's time.
pub(super) fn by_chance(chance: &mut Chance, make: &Make, faults: bool) -> Vec<Happening> {
    let mut spot = Spot {
        first: chance.below(make.gateways),
        second: chance.below(make.gateways),
        third: chance.below(make.gateways),
        session: chance.below(make.sessions),
        begins: moment(chance, make.length),
        chance,
        make,
        happenings: Vec::new(),
    };
    match spot.chance.below(if faults { 8 } else { 2 }) {
        0 => spot.acquired_when_due(),
        1 => spot.hops(),
        2 => spot.lost_reply_when_due(),
        3 => spot.wiped_in_use(),
        4 => spot.condemned_late(),
        5 => spot.asleep_when_due(),
        6 => spot.wiped_when_due(),
        _ => spot.taken_twice(),
    }
    spot.happenings
}

struct Spot<'a> {
    chance: &'a mut Chance,
    make: &'a Make,
    first: usize,
    second: usize,
    third: usize,
    session: usize,
    begins: Duration,
    happenings: Vec<Happening>,
}

impl Spot<'_> {
    /// A sandbox is acquired again, on the same gateway or another, when it is about to be stopped.
    fn acquired_when_due(&mut self) {
        let due = self.left_warm();
        let at = due + self.about();
        let who = if self.chance.below(2) == 0 { self.first } else { self.second };
        self.turn(at, who, &[Act::Hold(Duration::from_secs(8))]);
    }

    /// A conversation hops between two gateways faster than leases are renewed.
    fn hops(&mut self) {
        let mut at = self.begins;
        for nth in 0..3 + self.chance.below(4) {
            let who = if nth % 2 == 0 { self.first } else { self.second };
            let hold = millis(self.chance, 0, 12_000);
            self.turn(at, who, &[Act::Hold(hold)]);
            at += millis(self.chance, 0, 3_000);
        }
    }

    /// What is warm and nearly due is taken by a peer, and taken back by a take whose reply is lost.
    fn lost_reply_when_due(&mut self) {
        let due = self.left_warm();
        let peer = due.saturating_sub(millis(self.chance, 500, 2_500));
        self.turn(peer, self.second, &[Act::Hold(Duration::from_secs(10))]);
        let back = peer + millis(self.chance, 300, 1_500);
        let fault = match self.chance.below(3) {
            0 => StoreFault::After,
            1 => StoreFault::Hang { lands: true },
            _ => StoreFault::Late(millis(self.chance, 10, 400)),
        };
        self.happens(back, What::Store { gateway: self.first, kind: StoreCall::Take, fault, calls: 1 });
        self.turn(back, self.first, &[]);
    }

    /// The store forgets what is in use, and the claim that follows is slow.
    fn wiped_in_use(&mut self) {
        let hold = self.make.renewal_interval + millis(self.chance, 0, 6_000);
        self.turn(self.begins, self.first, &[Act::Hold(hold)]);
        let at = self.begins + millis(self.chance, 300, hold.as_millis() as usize);
        let floor_kept = self.chance.below(2) == 0;
        self.happens(at, What::Wipe { floor_kept });
        let fault = StoreFault::Slow(millis(self.chance, 500, 2_200));
        self.happens(at, What::Store { gateway: self.first, kind: StoreCall::Claim, fault, calls: 1 });
    }

    /// A condemning arrives when its stop was given up long ago, and the sandbox is in use again.
    fn condemned_late(&mut self) {
        let due = self.left_warm();
        let fault = EngineFault::Slow(millis(self.chance, 3_200, 9_000));
        self.happens(
            self.begins,
            What::Engine { gateway: self.first, kind: EngineCall::Condemn, fault, calls: 1 },
        );
        let again = due + Duration::from_millis(3_000) + millis(self.chance, 200, 4_000);
        self.turn(again, self.second, &[Act::Hold(Duration::from_secs(25))]);
        let third = again + millis(self.chance, 2_000, 14_000);
        self.turn(third, self.third, &[Act::Hold(Duration::from_secs(10))]);
    }

    /// A gateway stands still in the middle of a stop.
    fn asleep_when_due(&mut self) {
        let due = self.left_warm();
        let fault = StoreFault::Slow(millis(self.chance, 300, 1_500));
        self.happens(
            self.begins,
            What::Store { gateway: self.first, kind: StoreCall::Claim, fault, calls: 2 },
        );
        let at = due + millis(self.chance, 0, 2_500);
        let lasts = self.make.ttl() / 2 + millis(self.chance, 0, 2 * self.make.ttl().as_millis() as usize);
        let what = match self.chance.below(2) {
            0 => What::Pause { gateway: self.first, lasts },
            _ => What::Suspend { gateway: self.first, lasts },
        };
        self.happens(at, what);
        self.turn(at + lasts.mul_f64(0.9), self.second, &[Act::Hold(Duration::from_secs(10))]);
    }

    /// The store forgets everything when a sandbox is about to be stopped, and a peer uses it.
    fn wiped_when_due(&mut self) {
        let due = self.left_warm();
        let slow = EngineFault::Slow(millis(self.chance, 1_000, 14_000));
        if self.chance.below(2) == 0 {
            self.happens(
                self.begins,
                What::Engine { gateway: self.first, kind: EngineCall::Stop, fault: slow, calls: 1 },
            );
        }
        let peer = due.saturating_sub(millis(self.chance, 0, 2_000));
        self.turn(peer, self.second, &[Act::Hold(Duration::from_secs(12))]);
        let at = due + self.about() + millis(self.chance, 0, 6_000);
        let floor_kept = self.chance.below(2) == 0;
        self.happens(at, What::Wipe { floor_kept });
    }

    /// Two turns on one gateway, the second with a take that goes wrong while the first uses the sandbox.
    fn taken_twice(&mut self) {
        self.turn(self.begins, self.first, &[Act::Hold(Duration::from_secs(15))]);
        let at = self.begins + millis(self.chance, 500, 6_000);
        let fault = match self.chance.below(4) {
            0 => StoreFault::After,
            1 => StoreFault::Hang { lands: true },
            2 => StoreFault::Slow(millis(self.chance, 1_000, 6_000)),
            _ => StoreFault::Late(millis(self.chance, 10, 5_000)),
        };
        let kind = if self.chance.below(3) == 0 { StoreCall::Release } else { StoreCall::Take };
        self.happens(at, What::Store { gateway: self.first, kind, fault, calls: 1 });
        self.turn(at, self.first, &[Act::Hold(Duration::from_secs(6))]);
        if self.chance.below(2) == 0 {
            let later = at + millis(self.chance, 200, 3_000);
            self.turn(later, self.second, &[]);
            let last = later + millis(self.chance, 50, 1_000);
            self.turn(last, self.first, &[Act::Hold(Duration::from_secs(6))]);
        }
    }

    /// A turn that leaves its sandbox warm. Returns when that is due to be stopped.
    fn left_warm(&mut self) -> Duration {
        let hold = millis(self.chance, 0, 1_000);
        self.turn(self.begins, self.first, &[Act::Hold(hold)]);
        // Creating takes a moment too.
        self.begins + (hold + self.make.warm_timeout).max(self.make.horizon()) + Duration::from_millis(500)
    }

    /// A moment just before to just after.
    fn about(&mut self) -> Duration {
        millis(self.chance, 0, 1_500)
    }

    fn turn(&mut self, at: Duration, gateway: usize, acts: &[Act]) {
        let visit = Visit {
            gateway,
            session: Some(self.session),
            deadline: Duration::from_secs(20),
            gives_up: None,
            acts: acts.to_vec(),
            ends: if self.chance.below(2) == 0 { Ends::Drop } else { Ends::Release },
        };
        self.happens(at, What::Visit(visit));
    }

    fn happens(&mut self, at: Duration, what: What) {
        if at < self.make.length {
            self.happenings.push(Happening { at, what });
        }
    }
}
