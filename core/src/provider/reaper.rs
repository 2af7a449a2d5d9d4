//! Tidying up: what is idle, warm for too long, condemned or nobody's.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;

use super::event::Event;
use super::inner::{Inner, Running, Stage, panic_text};
use super::planted::Planted;
use crate::{
    BackendOperation, ClaimOutcome, InstanceId, Intent, Lease, Moment, Reach, SandboxId, SandboxInfo, Seen,
};

/// Since when each sandbox that nobody owns has been seen so, in awake time.
#[derive(Default)]
pub(super) struct Watched {
    since: HashMap<InstanceId, (SandboxId, Moment)>,
}

/// Tidies up until the provider begins to close.
pub(super) async fn run(_running: Running, inner: Arc<Inner>) {
    let mut watched = Watched::default();
    let mut next_look = inner.now();
    loop {
        let tick = AssertUnwindSafe(inner.reap(&mut watched, &mut next_look)).catch_unwind().await;
        if let Err(panic) = tick {
            inner.events.tell(Event::Panicked { doing: "reaping", message: panic_text(&*panic) });
        }
        if !inner.rest(inner.config.reap_interval, Stage::Closing).await {
            return;
        }
    }
}

impl Inner {
    async fn reap(self: &Arc<Self>, watched: &mut Watched, next_look: &mut Moment) {
        // No sandbox is tidied up with it, so that a pause is none of its business.
        let had_an_owner = self.let_owed_leases_go().await;
        watched.since.retain(|_, (id, _)| !had_an_owner.contains(id));
        if self.pause.is_on(self.now()) {
            return;
        }
        self.reap_due();
        self.resolve_suspects().await;
        if self.now() >= *next_look {
            *next_look = self.now() + self.config.adopt_interval;
            self.look_around(watched).await;
        }
    }

    /// Begins the stops that are due, as many as may run at once.
    pub(super) fn reap_due(self: &Arc<Self>) {
        let free = self.stops.available_permits();
        if free == 0 {
            return;
        }
        for stop in self.registry.due(free, self.now()) {
            let inner = Arc::clone(self);
            // One for each that was free; nobody else takes any.
            let Ok(permit) = Arc::clone(&self.stops).try_acquire_owned() else { return };
            self.env.spawn(Box::pin(async move {
                let _permit = permit;
                // A stop tells of itself, and contains its own panics.
                let _ = AssertUnwindSafe(inner.stop(stop)).catch_unwind().await;
            }));
        }
    }

    /// Finds out what became of creates whose answer was lost.
    pub(super) async fn resolve_suspects(self: &Arc<Self>) {
        for id in self.registry.suspects() {
            // An acquire of the same id looks for it itself, and tidying up waits for nobody.
            let Some(_turn) = self.keys.try_lock(&id) else { continue };
            match self.discover(&id).await {
                Ok(found) => {
                    let found = found.filter(|info| info.creator == self.owner);
                    let patience = self.config.create_deadline;
                    if let Some(fence) = self.registry.suspect_resolved(&id, found, self.now(), patience) {
                        self.let_lease_go(&id, fence).await;
                    }
                }
                Err(error) => {
                    self.events.tell(Event::EngineUnknown { doing: "looking for a lost creation", error });
                }
            }
        }
    }

    /// Compares what the engine runs with who owns it. Looking changes nothing; either list failing ends the look.
    pub(super) async fn look_around(self: &Arc<Self>, watched: &mut Watched) {
        let unowned_here = self.registry.unowned();
        let limit = self.config.backend_deadline;
        let listing = match self.ask_engine(limit, BackendOperation::List, self.backend.list()).await {
            Ok(listing) => listing,
            Err(error) => {
                self.events.tell(Event::EngineUnknown { doing: "listing sandboxes", error });
                return;
            }
        };
        for unreadable in &listing.unreadable {
            tracing::warn!(instance = %unreadable.instance, why = unreadable.why, clause = "D3", "left alone");
        }
        let leases = match self.store.list().await {
            Ok(leases) => leases,
            Err(_) if self.guards.lack(Planted::ListUnknown) => crate::Listing::default(),
            Err(error) => {
                self.events.tell(Event::StoreUnknown { doing: "listing leases", error });
                return;
            }
        };
        let owned: HashMap<&SandboxId, &Lease> =
            leases.leases.iter().map(|(id, lease)| (id, lease)).collect();
        let unreadable: Vec<&SandboxId> =
            leases.damaged.iter().filter_map(|damaged| damaged.id.as_ref()).collect();
        watched.since.retain(|instance, _| listing.found.iter().any(|info| info.instance == *instance));
        for info in &listing.found {
            if info.identity.namespace != self.config.namespace || unreadable.contains(&&info.id) {
                continue;
            }
            if info.condemned {
                self.finish(info).await;
            }
            if let Some(lease) = owned.get(&info.id) {
                if !self.guards.lack(Planted::GraceRestarts) {
                    watched.since.remove(&info.instance);
                }
                if lease.owner != self.owner {
                    self.registry.owned_by_peer(&info.id);
                }
            } else {
                self.watch(watched, info).await;
            }
        }
        for (id, info) in unowned_here {
            if !listing.found.iter().any(|found| found.instance == info.instance) {
                self.missing(&id, &info).await;
            }
        }
    }

    /// Nobody owns it. After the grace it is adopted.
    async fn watch(self: &Arc<Self>, watched: &mut Watched, info: &SandboxInfo) {
        let awake = if self.guards.lack(Planted::GraceAwake) { self.now() } else { self.env.awake() };
        if self.registry.is_looked_after(&info.id) {
            watched.since.remove(&info.instance);
            return;
        }
        let here = self.registry.unowned_since(&info.id);
        let (_, since) = watched.since.entry(info.instance.clone()).or_insert((info.id.clone(), awake));
        // The younger of the two: an owner who was seen since then starts it anew.
        let since = here.map_or(*since, |here| here.max(*since));
        let grace = match self.store.reach() {
            Reach::Process => std::time::Duration::ZERO,
            _ if self.guards.lack(Planted::Grace) => std::time::Duration::ZERO,
            Reach::Host | Reach::Cluster => self.config.grace(),
        };
        if awake.since(since) >= grace {
            self.adopt(watched, info).await;
        }
    }

    async fn adopt(self: &Arc<Self>, watched: &mut Watched, info: &SandboxInfo) {
        let id = &info.id;
        // Whoever is acquiring it looks after it; and waiting here would make what was just seen old.
        let Some(_turn) = self.keys.try_lock(id) else {
            watched.since.remove(&info.instance);
            return;
        };
        if self.registry.is_looked_after(id) {
            return;
        }
        let (tenure, replaced) = match self.store.claim(id, Intent::Keep).await {
            Ok(ClaimOutcome::Claimed { tenure, replaced }) => (tenure, replaced),
            Ok(ClaimOutcome::Refused | ClaimOutcome::Lapsed) => {
                watched.since.remove(&info.instance);
                return;
            }
            Err(error) => {
                self.events.tell(Event::StoreUnknown { doing: "adopting", error });
                return;
            }
        };
        watched.since.remove(&info.instance);
        // The list may be old by now: what is adopted is what is seen under the lease.
        let limit = self.config.backend_deadline;
        let call = self.backend.inspect(&info.instance);
        let seen = if self.guards.lack(Planted::AdoptedSeen) {
            Ok(Seen::Present(info.clone()))
        } else {
            self.within(limit, BackendOperation::Inspect, id, call).await
        };
        let now = self.now();
        match seen {
            Ok(Seen::Present(seen)) if self.registry.adopt(&seen, tenure, &replaced, now) => {
                self.events.tell(Event::Adopted { id: id.clone(), instance: seen.instance });
                return;
            }
            Ok(Seen::Gone) => self.registry.unowned_gone(id),
            Ok(Seen::Present(_)) => {}
            Err(error) => self.events.tell(Event::EngineUnknown { doing: "adopting", error }),
        }
        self.let_lease_go(id, tenure.fence).await;
    }

    /// One missing row is one missing row: only a look at the instance itself says that it is gone.
    async fn missing(self: &Arc<Self>, id: &SandboxId, info: &SandboxInfo) {
        let limit = self.config.backend_deadline;
        let call = self.backend.inspect(&info.instance);
        match self.within(limit, BackendOperation::Inspect, id, call).await {
            Ok(Seen::Gone) => self.registry.unowned_gone(id),
            Ok(Seen::Present(_)) => {}
            Err(error) => {
                self.events.tell(Event::EngineUnknown { doing: "looking for a missing sandbox", error })
            }
        }
    }
}
