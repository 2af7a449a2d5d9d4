//! What goes wrong next, and for whom.

use std::collections::BTreeMap;

use super::plan::{EngineCall, EngineFault, StoreCall, StoreFault};

/// Faults that wait for the call they are meant for.
#[derive(Default)]
pub(super) struct Faults {
    store: Vec<(usize, StoreCall, StoreFault, u32)>,
    engine: Vec<(usize, EngineCall, EngineFault, u32)>,
    /// Until when a gateway can't reach the store, in virtual nanoseconds.
    no_store: BTreeMap<usize, u64>,
    no_engine: BTreeMap<usize, u64>,
}

impl Faults {
    pub(super) fn plan_store(&mut self, gateway: usize, kind: StoreCall, fault: StoreFault, calls: u32) {
        self.store.push((gateway, kind, fault, calls));
    }

    pub(super) fn plan_engine(&mut self, gateway: usize, kind: EngineCall, fault: EngineFault, calls: u32) {
        self.engine.push((gateway, kind, fault, calls));
    }

    pub(super) fn cut_store(&mut self, gateway: usize, until: u64) {
        let cut = self.no_store.entry(gateway).or_default();
        *cut = until.max(*cut);
    }

    pub(super) fn cut_engine(&mut self, gateway: usize, until: u64) {
        let cut = self.no_engine.entry(gateway).or_default();
        *cut = until.max(*cut);
    }

    pub(super) fn store_is_cut(&self, gateway: usize, now: u64) -> bool {
        self.no_store.get(&gateway).is_some_and(|&until| now < until)
    }

    pub(super) fn engine_is_cut(&self, gateway: usize, now: u64) -> bool {
        self.no_engine.get(&gateway).is_some_and(|&until| now < until)
    }

    /// What goes wrong with this call.
    pub(super) fn of_store(&mut self, gateway: usize, kind: StoreCall) -> Option<StoreFault> {
        let meant = |wanted: StoreCall| wanted == kind || wanted == StoreCall::Any;
        let at = self.store.iter().position(|(who, wanted, ..)| *who == gateway && meant(*wanted))?;
        let (.., fault, left) = &mut self.store[at];
        let fault = *fault;
        *left -= 1;
        if *left == 0 {
            self.store.remove(at);
        }
        Some(fault)
    }

    /// What goes wrong with this call.
    pub(super) fn of_engine(&mut self, gateway: usize, kind: EngineCall) -> Option<EngineFault> {
        let meant = |wanted: EngineCall| wanted == kind || wanted == EngineCall::Any;
        let at = self.engine.iter().position(|(who, wanted, ..)| *who == gateway && meant(*wanted))?;
        let (.., fault, left) = &mut self.engine[at];
        let fault = *fault;
        *left -= 1;
        if *left == 0 {
            self.engine.remove(at);
        }
        Some(fault)
    }

    /// Nothing goes wrong from now on.
    pub(super) fn heal(&mut self) {
        *self = Self::default();
    }
}
