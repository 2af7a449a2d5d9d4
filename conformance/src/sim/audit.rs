//! What has to come right by itself within a while: looked at every second of the world, and only counted while nothing
//! disturbs it.

use std::collections::BTreeMap;

use leasehold::{OwnerId, Phase, ProviderStatus, SandboxId, SandboxState};

use super::engine::number;
use super::executor::{Life, nanos};
use super::plan::Make;
use super::world::Inside;

/// Since when something has been as it may not stay.
#[derive(Default)]
pub(super) struct Audit {
    since: BTreeMap<(&'static str, Life, SandboxId), u64>,
    /// Until when each kind of trouble may show.
    until: BTreeMap<Trouble, u64>,
}

/// What explains that something is amiss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Trouble {
    /// Calls to the store fail or come late.
    Contact,
    /// The store lost something.
    Records,
    /// Calls to the engine fail or come late, or instances end by themselves.
    Engine,
    /// Gateways begin, end or stand still.
    Process,
}

/// One gateway as it says it is.
pub(super) struct Seen {
    pub(super) life: Life,
    pub(super) owner: OwnerId,
    pub(super) status: ProviderStatus,
}

// The rules, in few words, by which two failures are told apart.
const UNLEASED: &str = "N2: what is in use is leased, or its holders are told";
const UNTRACKED: &str = "Z1: no lease without a tracker";
const STRAY: &str = "Z1: no instance without a lease or a tracker";
const MARKER: &str = "K3: no Teardown without a stop";
const REFRESH: &str = "K3: a Teardown is refreshed for as long as the stop runs";
const FENCE: &str = "N7: the fence that is known is the one that counts";

impl Audit {
    /// Something happens that explains what is amiss for a while from now on.
    pub(super) fn disturb(&mut self, trouble: Trouble, now: u64, for_nanos: u64) {
        let until = self.until.entry(trouble).or_default();
        *until = (*until).max(now + for_nanos);
    }

    /// Whether any of these may still show.
    pub(super) fn is_disturbed(&self, now: u64, by: &[Trouble]) -> bool {
        by.iter().any(|trouble| self.until.get(trouble).is_some_and(|&until| now < until))
    }
}

/// Compares what all gateways believe with what the store and the engine have.
pub(super) fn look(inside: &mut Inside, make: &Make, gateways: &[Seen]) {
    let now = inside.now();
    if make.slowness > 100 {
        return;
    }
    // A lease that nobody renews is gone after a TTL, so what is about leases has to show before.
    let soon = nanos(make.ttl()) / 2;
    let later = nanos(make.renewal_interval * 2 + make.store_deadline * 2) + 3_000_000_000;
    let mut amiss: Vec<(&'static str, Life, SandboxId, u64, String)> = Vec::new();
    let leases = inside.leases.list(now).leases;
    for (id, lease) in &leases {
        let Some(gateway) = gateways.iter().find(|gateway| gateway.owner == lease.owner) else { continue };
        let row = gateway.status.sandboxes.iter().find(|row| row.id == *id);
        match lease.phase {
            Phase::Held if row.is_none() => {
                let says = "its lease lasts, and the gateway does not know of it".to_owned();
                amiss.push((UNTRACKED, gateway.life, id.clone(), soon, says));
            }
            Phase::Held
                if row.is_some_and(|row| {
                    row.fence.is_none()
                        && matches!(
                            row.state,
                            SandboxState::Unowned | SandboxState::Warm | SandboxState::Condemned
                        )
                }) =>
            {
                let says = "its lease lasts, and the gateway does not go by it".to_owned();
                amiss.push((UNTRACKED, gateway.life, id.clone(), soon, says));
            }
            Phase::Held => {
                if let Some(row) = row
                    && !matches!(row.state, SandboxState::Stopping | SandboxState::Acquiring)
                    && row.fence.is_some()
                    && row.fence != lease.fence
                {
                    let says =
                        format!("the gateway goes by {:?} and the store by {:?}", row.fence, lease.fence);
                    amiss.push((FENCE, gateway.life, id.clone(), later, says));
                }
            }
            Phase::Teardown if row.is_none_or(|row| row.state != SandboxState::Stopping) => {
                let says = "it is marked as being stopped, and nobody stops it".to_owned();
                amiss.push((MARKER, gateway.life, id.clone(), soon, says));
            }
            Phase::Teardown => {}
        }
    }
    for gateway in gateways {
        for row in gateway.status.sandboxes.iter().filter(|row| row.state == SandboxState::Stopping) {
            if inside.leases.teardown_ran_out(&row.id, &gateway.owner, now) {
                let says = "its Teardown ran out while it is being stopped".to_owned();
                amiss.push((REFRESH, gateway.life, row.id.clone(), 0, says));
            }
        }
        for held in inside.witness.held_by(gateway.life) {
            let lease = leases.iter().find(|(id, _)| *id == held.id).map(|(_, lease)| lease);
            if lease.is_none_or(|lease| lease.owner != gateway.owner) {
                let says = format!("i{} is in use there, and its lease is {lease:?}", held.instance);
                amiss.push((UNLEASED, gateway.life, held.id.clone(), later, says));
            }
        }
    }
    for (at, there) in inside.engine.all() {
        let tracked = gateways.iter().any(|gateway| {
            gateway.status.sandboxes.iter().any(|row| {
                row.id == there.id && row.instance.as_ref().is_none_or(|instance| number(instance) == at)
            })
        });
        let leased = leases.iter().any(|(id, _)| *id == there.id);
        let creator = gateways.iter().find(|gateway| gateway.owner == *there.creator());
        let excused = there.condemned
            || there.late
            || creator.is_none_or(|creator| inside.witness.has_lost(creator.life, &there.id));
        if let (Some(creator), false, false) = (creator, tracked || excused, leased) {
            let says = format!("i{at} runs, and nobody knows of it");
            amiss.push((STRAY, creator.life, there.id.clone(), soon, says));
        }
    }
    let audit = &mut inside.audit;
    let disturbed = |by: &[Trouble]| audit.is_disturbed(now, by);
    let (contact, records) =
        (disturbed(&[Trouble::Contact, Trouble::Process]), disturbed(&[Trouble::Records]));
    let engine = disturbed(&[Trouble::Engine]);
    let inside_disturbed = |rule: &str| match rule {
        UNLEASED | UNTRACKED => contact,
        REFRESH | MARKER | FENCE => contact || records,
        _ => contact || records || engine,
    };
    let before = std::mem::take(&mut audit.since);
    let mut found = None;
    for (rule, life, id, patience, says) in amiss {
        let key = (rule, life, id.clone());
        if inside_disturbed(rule) {
            continue;
        }
        let since = before.get(&key).copied().unwrap_or(now);
        if now - since >= patience && found.is_none() {
            found = Some((rule, life, id, now - since, says));
        }
        audit.since.insert(key, since);
    }
    if let Some((rule, life, id, lasts, says)) = found {
        inside.fail(rule, |names| {
            let (gateway, sandbox) = (names.life(life), names.sandbox(&id));
            format!("for {:.1} s now, with {gateway} and {sandbox}: {says}", lasts as f64 / 1e9)
        });
    }
}
