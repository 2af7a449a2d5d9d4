use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use leasehold::{
    CellStore, Clock, Damaged, DiscardOutcome, LeaseCell, ManualClock, OwnerId, OwnershipStore, Phase, Reach,
    Reading, Record, SandboxId, Step, StoreError, Ttl,
};
use leasehold_conformance::case::{Case, Check, Tier};
use leasehold_conformance::{
    CASES, Capabilities, Damage, Faults, Harness, Kit, Namespace, Options, Outage, Required, Unready, Waiver,
};
use leasehold_stores::memory::MemoryCell;

/// What is odd about a harness or its store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Quirk {
    #[default]
    Nothing,
    FreshIsNotRun,
    FreshIsBroken,
    FreshPanics,
    CapabilitiesPanic,
    StoredPanics,
    DamagePanics,
    StorePanics,
    StoreHangs,
}

/// The memory store, with an odd harness.
#[derive(Clone, Default)]
pub(crate) struct Odd {
    pub(crate) quirk: Quirk,
    pub(crate) real_time: bool,
    pub(crate) waivers: Vec<Waiver>,
    /// Whether an outage is going on.
    pub(crate) out: Arc<AtomicBool>,
    pub(crate) gate: Arc<Gate>,
}

/// Where a store hangs until the test lets it go.
#[derive(Default)]
pub(crate) struct Gate {
    open: Mutex<bool>,
    opened: Condvar,
}

impl Gate {
    pub(crate) fn open(&self) {
        *self.open.lock().unwrap() = true;
        self.opened.notify_all();
    }

    fn pass(&self) {
        let closed = self.open.lock().unwrap();
        drop(self.opened.wait_while(closed, |open| !*open).unwrap());
    }
}

impl Odd {
    pub(crate) fn with(quirk: Quirk) -> Self {
        Self { quirk, ..Self::default() }
    }
}

impl Harness for Odd {
    fn name(&self) -> String {
        "odd".to_owned()
    }

    fn capabilities(&self) -> Capabilities {
        assert_ne!(self.quirk, Quirk::CapabilitiesPanic, "what can it do?");
        let kind = if self.real_time { Capabilities::real_time } else { Capabilities::virtual_time };
        kind(Reach::Process).deadline(Duration::from_millis(1))
    }

    fn fresh(&self) -> Result<Box<dyn Namespace>, Unready> {
        match self.quirk {
            Quirk::FreshIsNotRun => Err(Unready::not_run("there is no Redis on this machine")),
            Quirk::FreshIsBroken => Err(Unready::broken("the directory is gone")),
            Quirk::FreshPanics => panic!("nothing is fresh"),
            _ => {
                let cell = MemoryCell::new(Arc::new(ManualClock::new()));
                Ok(Box::new(OddNamespace { odd: self.clone(), cell }))
            }
        }
    }

    fn waivers(&self) -> Vec<Waiver> {
        self.waivers.clone()
    }
}

struct OddNamespace {
    odd: Odd,
    cell: MemoryCell,
}

impl Namespace for OddNamespace {
    fn open(
        &self,
        owner: OwnerId,
        ttl: Ttl,
        clock: Arc<dyn Clock>,
    ) -> Result<Arc<dyn OwnershipStore>, StoreError> {
        let cell = OddCell { odd: self.odd.clone(), cell: self.cell.with_clock(clock) };
        Ok(Arc::new(CellStore::new(cell, owner, ttl)))
    }

    fn stored(&self) -> Option<u64> {
        assert_ne!(self.odd.quirk, Quirk::StoredPanics, "how many?");
        Some(self.cell.len() as u64)
    }

    fn faults(&self) -> Option<&dyn Faults> {
        (self.odd.quirk == Quirk::DamagePanics).then_some(self)
    }
}

impl Faults for OddNamespace {
    fn damages(&self) -> &'static [Damage] {
        &[Damage::Torn]
    }

    fn damage(&self, id: &SandboxId, how: Damage) -> Result<(), Unready> {
        panic!("no {how:?} {id}")
    }

    fn outages(&self) -> &'static [Outage] {
        &[Outage::Down]
    }

    fn start_outage(&self, _: Outage) -> Result<(), Unready> {
        self.odd.out.store(true, Ordering::SeqCst);
        Ok(())
    }

    fn end_outage(&self) -> Result<(), Unready> {
        self.odd.out.store(false, Ordering::SeqCst);
        Ok(())
    }

    fn plant_foreign(&self, id: &SandboxId, _: &str, _: Phase, _: Duration) -> Result<(), Unready> {
        Err(Unready::broken(format!("nothing foreign for {id}")))
    }
}

struct OddCell {
    odd: Odd,
    cell: MemoryCell,
}

impl LeaseCell for OddCell {
    fn reach(&self) -> Reach {
        Reach::Process
    }

    fn update<T>(
        &self,
        id: &SandboxId,
        rule: impl Fn(Option<&Record>, Reading) -> Step<T>,
    ) -> Result<T, StoreError> {
        match self.odd.quirk {
            Quirk::StorePanics => panic!("the store fell over {id}"),
            Quirk::StoreHangs => self.odd.gate.pass(),
            _ => {}
        }
        self.cell.update(id, rule)
    }

    fn scan(
        &self,
        each: &mut dyn FnMut(Result<(SandboxId, Record, Reading), Damaged>),
    ) -> Result<(), StoreError> {
        self.cell.scan(each)
    }

    fn discard(&self, id: &SandboxId, force: bool) -> Result<DiscardOutcome, StoreError> {
        self.cell.discard(id, force)
    }
}

/// A case of the kit by its id.
pub(crate) fn case(id: &str) -> &'static Case {
    CASES.iter().find(|case| case.id == id).unwrap()
}

/// A case that the kit doesn't have.
pub(crate) fn made_up(proof: fn(&Kit<'_>) -> Check) -> Case {
    let (id, test) = ("T1.made_up", "t1_made_up");
    Case { id, test, tier: Tier::Core, rule: "made up", since: "1.0", needs: &[], proof }
}

/// Options that no variable of the environment and no calendar has a say in.
pub(crate) fn options() -> Options {
    let today = "2026-06-15".parse().unwrap();
    Options { required: Required::default(), today, ..Options::default() }
}
