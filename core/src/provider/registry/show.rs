//! What a person or a dashboard may see of it.

use super::Registry;
use super::entry::Entry;
use crate::provider::status::{SandboxState, SandboxStatus};
use crate::{Moment, SandboxId};

impl Registry {
    /// All that is tracked, in the order of ids.
    pub(in crate::provider) fn show(&self, now: Moment) -> Vec<SandboxStatus> {
        let state = self.state.lock();
        let mut rows: Vec<_> = state.entries.iter().map(|(id, entry)| entry.show(id, now)).collect();
        drop(state);
        rows.sort_by(|a, b| a.id.cmp(&b.id));
        rows
    }

    /// How many slots are taken.
    pub(in crate::provider) fn slots(&self) -> usize {
        self.state.lock().slots
    }

    /// How many entries there are, of whatever kind.
    pub(in crate::provider) fn len(&self) -> usize {
        self.state.lock().entries.len()
    }
}

impl Entry {
    fn show(&self, id: &SandboxId, now: Moment) -> SandboxStatus {
        let state = if self.reservation.is_some() {
            SandboxState::Stopping
        } else if !self.holders.is_empty() {
            if self.is_lost() { SandboxState::Lost } else { SandboxState::Active }
        } else if self.acquiring {
            SandboxState::Acquiring
        } else if self.shared.is_none() {
            SandboxState::Unresolved
        } else if self.condemned {
            SandboxState::Condemned
        } else if self.lease.is_none() {
            SandboxState::Unowned
        } else {
            SandboxState::Warm
        };
        SandboxStatus {
            id: id.clone(),
            session: self.rest.identity.session.clone(),
            instance: self.shared.as_ref().map(|shared| shared.info.instance.clone()),
            state,
            holders: self.holders.len(),
            running: self.shared.as_ref().map_or(0, |shared| shared.running()),
            idle_for: self.shared.as_ref().map(|shared| now.since(shared.activity())),
            fence: self.fence(),
            lease_left: self.lease.map(|held| held.tenure.valid_until.since(now)),
            reapable_in: self.lease.map(|held| held.reapable_from.since(now)),
        }
    }
}
