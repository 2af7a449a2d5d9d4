//! One gateway through all its lives: started, used, paused, killed, shut down and started again.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use leasehold::{
    Event, Events, Namespace, OwnerId, OwnershipConfig, Provider, ProviderConfig, SandboxState, ShutdownMode,
};

use super::audit::{Seen, Trouble};
use super::backend::SimBackend;
use super::engine::number;
use super::env::SimEnv;
use super::executor::Life;
use super::home::SimHome;
use super::plan::Make;
use super::store::SimStore;
use super::witness;
use super::world::World;

/// A place where gateways run, one after the other.
#[derive(Clone)]
pub(super) struct Gateway {
    world: World,
    pub(super) index: usize,
    now: Arc<Mutex<Now>>,
    #[cfg(feature = "planted")]
    planted: Option<leasehold::Planted>,
}

#[derive(Default)]
struct Now {
    life: Option<Life>,
    provider: Option<Provider>,
    events: Option<Events>,
    ending: bool,
}

pub(super) const NAMESPACE: &str = "sim";

pub(super) fn config(make: &Make) -> ProviderConfig {
    let namespace = Namespace::new(NAMESPACE).expect("the name is in the alphabet");
    let ownership =
        OwnershipConfig::new(make.renewal_interval, f64::from(make.ttl_intervals)).expect("it is in range");
    let mut config = ProviderConfig::new(namespace).with_ownership(ownership).with_home("/nowhere");
    config.idle_timeout = make.idle_timeout;
    config.warm_timeout = make.warm_timeout;
    config.capacity = make.capacity;
    config.exceed_capacity = make.exceed_capacity;
    config.reap_interval = Duration::from_millis(1_000);
    config.adopt_interval = Duration::from_millis(4_000);
    config.backend_deadline = Duration::from_millis(3_000);
    config.create_deadline = Duration::from_millis(6_000);
    config.ready_deadline = Duration::from_millis(8_000);
    config.stop_deadline = Duration::from_millis(15_000);
    config
}

impl Gateway {
    pub(super) fn new(world: &World, index: usize) -> Self {
        Self {
            world: world.clone(),
            index,
            now: Arc::default(),
            #[cfg(feature = "planted")]
            planted: None,
        }
    }

    /// With a guard removed from its provider.
    #[cfg(feature = "planted")]
    pub(super) fn planted(mut self, fault: Option<leasehold::Planted>) -> Self {
        self.planted = fault;
        self
    }

    fn now(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Its life and its provider, while it has one that takes requests.
    pub(super) fn serving(&self) -> Option<(Life, Provider)> {
        let now = self.now();
        Some((now.life?, now.provider.clone()?))
    }

    pub(super) fn life(&self) -> Option<Life> {
        self.now().life
    }

    /// Starts a new life here, unless there is one.
    pub(super) fn start(&self) {
        let life = {
            let mut now = self.now();
            if now.life.is_some() {
                return;
            }
            let life = self.world.executor.begin_life();
            *now = Now { life: Some(life), ..Now::default() };
            life
        };
        {
            let mut inside = self.world.inside();
            inside.names.name_life(life, self.index);
            inside.tell(|names| format!("{} starts", names.life(life)));
        }
        let this = self.clone();
        self.world.executor.spawn(life, Box::pin(async move { this.run(life).await }));
    }

    async fn run(self, life: Life) {
        let (world, index) = (&self.world, self.index);
        world.disturb(Trouble::Process, Duration::ZERO);
        let config = config(&world.make);
        let owner = OwnerId::new(&format!("gw-{index}:{}", life.0)).expect("the name is in the alphabet");
        let ttl = config.ownership.ttl();
        let store = Arc::new(SimStore::new(world, life, index, owner, ttl));
        let backend = Arc::new(SimBackend::new(world, life, index, config.namespace.clone()));
        let builder = Provider::builder(config, store, backend)
            .env(Arc::new(SimEnv::new(world, life, index)))
            .home(Arc::new(SimHome::new(world, life, index)));
        #[cfg(feature = "planted")]
        let builder = match self.planted {
            Some(fault) => builder.planted(fault),
            None => builder,
        };
        match builder.start().await {
            Ok(provider) => {
                let mut now = self.now();
                if now.life == Some(life) {
                    let looked_at = Arc::downgrade(&self.now);
                    let peek = move || {
                        let provider = looked_at.upgrade()?.lock().ok()?.provider.clone()?;
                        Some(provider.status())
                    };
                    world.inside().peeks.insert(life, Arc::new(peek));
                    now.events = Some(provider.events());
                    now.provider = Some(provider);
                }
            }
            Err(error) => {
                world.fail("a gateway starts", |names| format!("{} did not: {error}", names.life(life)))
            }
        }
    }

    /// It is killed: everything of it is gone at once.
    pub(super) fn kill(&self) {
        let now = std::mem::take(&mut *self.now());
        let Some(life) = now.life else { return };
        self.bury(life);
        drop(now);
    }

    /// What it says of itself, for the audit.
    pub(super) fn seen(&self) -> Option<Seen> {
        let (life, provider) = self.serving()?;
        let status = provider.status();
        (!status.closing).then(|| Seen { life, owner: provider.owner().clone(), status })
    }

    fn bury(&self, life: Life) {
        self.world.disturb(Trouble::Process, Duration::ZERO);
        self.world.inside().peeks.remove(&life);
        self.world.tell(|names| format!("{} is no more", names.life(life)));
        self.world.inside().witness.died(life);
        self.world.executor.kill(life);
        self.world.inside().locks.retain(|_, (holder, _)| *holder != life);
    }

    /// It shuts down in good order, and is gone then; `back_after` later another one starts in its place.
    pub(super) fn shut_down(&self, hand_over: bool, deadline: Duration, back_after: Option<Duration>) {
        let (life, provider) = {
            let mut now = self.now();
            let (Some(life), Some(provider), false) = (now.life, now.provider.clone(), now.ending) else {
                return;
            };
            now.ending = true;
            (life, provider)
        };
        let mode = if hand_over { ShutdownMode::HandOver } else { ShutdownMode::StopMine };
        self.world.disturb(Trouble::Process, deadline);
        self.world.inside().witness.ends(life, !hand_over);
        let this = self.clone();
        self.world.executor.spawn(
            life,
            Box::pin(async move {
                let begun = this.world.executor.now();
                let report = provider.shutdown(mode, deadline).await;
                let took = Duration::from_nanos(this.world.executor.now() - begun);
                this.world.tell(|names| format!("{} has shut down: {report:?}", names.life(life)));
                // Its timers may be late, and a pause or a suspended host makes it later.
                if took > deadline + Duration::from_secs(2) && this.world.executor.was_never_paused(life) {
                    this.world.fail("Z2: a shutdown ends within its deadline", |names| {
                        format!("{} was given {deadline:?} and took {took:?}", names.life(life))
                    });
                }
                let clean = report.is_clean();
                if clean {
                    this.let_all_go(life, provider.owner());
                }
                drop(provider);
                // What it began and has to end goes on for a while; then nothing of it may be left.
                this.world.executor.sleep(life, Duration::from_secs(40)).await;
                this.end(life, clean, back_after);
            }),
        );
    }

    /// Right after a clean shutdown: no lease of it is left.
    fn let_all_go(&self, life: Life, owner: &OwnerId) {
        let mut inside = self.world.inside();
        let now = inside.now();
        let lease = inside.leases.list(now).leases.into_iter().find(|(_, lease)| lease.owner == *owner);
        if let (Some((id, lease)), false) = (lease, inside.audit.is_disturbed(now, &[Trouble::Contact])) {
            inside.fail("Z2: the leases go last, and they go", |names| {
                format!(
                    "{} shut down cleanly and still holds {}: {lease:?}",
                    names.life(life),
                    names.sandbox(&id)
                )
            });
        }
    }

    /// After a shutdown: nothing of it is left but this task itself.
    fn end(&self, life: Life, clean: bool, back_after: Option<Duration>) {
        let Some((status, events)) = ({
            let mut now = self.now();
            let provider = now.provider.take();
            let events = now.events.take();
            let same = now.life == Some(life);
            if same {
                now.life = None;
                now.ending = false;
            }
            provider.map(|provider| (provider.status(), events))
        }) else {
            return;
        };
        drop(events);
        // What nobody owns is nobody's: whoever comes adopts it.
        let status_is_empty = status.sandboxes.iter().all(|row| row.state == SandboxState::Unowned);
        if clean && !(status_is_empty && status.slots.0 == status.sandboxes.len() && status.acquires == 0) {
            self.world.fail("Z2: after a shutdown nothing is left", |names| {
                format!("{} still has {status:?}", names.life(life))
            });
        }
        let this = self.clone();
        // From outside, since it can't end itself.
        self.world.executor.after(Duration::from_millis(1), move || {
            let left = this.world.executor.tasks(life);
            if left > 0 && clean && this.world.executor.was_never_paused(life) {
                this.world.fail("Z2: no task outlives a shutdown", |names| {
                    format!("{} has {left} tasks left, long after it", names.life(life))
                });
            }
            this.bury(life);
        });
        if let Some(after) = back_after {
            let this = self.clone();
            self.world.executor.after(after + Duration::from_millis(2), move || this.start());
        }
    }

    /// Looks at what it did in its last step, and whether what it knows fits what its users hold.
    pub(super) fn check(&self) {
        let (life, provider, heard) = {
            let mut now = self.now();
            let Some(life) = now.life else { return };
            let Some(provider) = now.provider.clone() else { return };
            let mut heard = Vec::new();
            if let Some(events) = &mut now.events {
                heard.extend(std::iter::from_fn(|| events.try_next()));
            }
            (life, provider, heard)
        };
        for event in heard {
            self.event(life, &event);
        }
        let status = provider.status();
        let mut inside = self.world.inside();
        let broken = inside.witness.held_by(life).find(|held| {
            !status.sandboxes.iter().any(|row| {
                row.id == held.id
                    && row.instance.as_ref().is_some_and(|instance| number(instance) == held.instance)
            })
        });
        if let Some((id, instance)) = broken.map(|held| (held.id.clone(), held.instance)) {
            inside.fail("Z1: what is handed out is tracked, or its holder is told", |names| {
                format!(
                    "{} has handed out i{instance} of {} and does not track it",
                    names.life(life),
                    names.sandbox(&id)
                )
            });
        }
        let parked = inside.witness.held_by(life).find(|held| {
            status
                .sandboxes
                .iter()
                .any(|row| row.id == held.id && (row.state == SandboxState::Warm || row.holders == 0))
        });
        if let Some(id) = parked.map(|held| held.id.clone()) {
            inside.fail("H7: what somebody holds is not parked", |names| {
                format!("{} has parked {}, which somebody there holds", names.life(life), names.sandbox(&id))
            });
        }
        let (taken, _) = status.slots;
        let tracked = status.sandboxes.iter().filter(|row| row.instance.is_some()).count();
        if taken < tracked || taken > status.sandboxes.len() {
            inside.fail("G1: a slot is reserved once and freed once", |names| {
                format!(
                    "{} counts {taken} slots and tracks {tracked} instances in {} entries",
                    names.life(life),
                    status.sandboxes.len()
                )
            });
        }
        if !status.sandboxes.is_sorted_by(|a, b| a.id < b.id) {
            inside.fail("active and warm are disjoint", |names| {
                format!("{} lists a sandbox twice", names.life(life))
            });
        }
    }

    fn event(&self, life: Life, event: &Event) {
        let awake = self.world.executor.now() - self.world.executor.suspended(life);
        let mut inside = self.world.inside();
        match event {
            Event::Acquired { id, instance, path, .. } => {
                inside.tell(|names| {
                    format!("{} hands out {instance} of {} ({path})", names.life(life), names.sandbox(id))
                });
                witness::handed_out(&mut inside, life, id, number(instance));
            }
            Event::Adopted { id, instance } => {
                inside
                    .tell(|names| format!("{} adopts {instance} of {}", names.life(life), names.sandbox(id)));
                witness::adopted(&mut inside, life, id, number(instance), awake);
            }
            Event::NotAcquired { id, why } => inside.tell(|names| {
                let what = id.as_ref().map_or_else(|| "?".to_owned(), |id| names.sandbox(id));
                format!("{} hands out nothing for {what}: {why}", names.life(life))
            }),
            Event::Stopped { id, instance, why } => {
                inside.tell(|names| {
                    format!("{} has stopped {instance} of {}: {why}", names.life(life), names.sandbox(id))
                });
            }
            Event::NotStopped { id, why, because } => inside.tell(|names| {
                format!("{} does not stop {} ({why}): {because}", names.life(life), names.sandbox(id))
            }),
            Event::Lost { id } => {
                inside.tell(|names| format!("{} has lost {}", names.life(life), names.sandbox(id)))
            }
            Event::Unowned { id } => {
                inside.tell(|names| {
                    format!("{} sees that nobody owns {}", names.life(life), names.sandbox(id))
                });
                inside.witness.looked_at_lease(life, id, false, awake);
            }
            Event::Panicked { doing, message } => inside.fail("Z3: no task of a provider panics", |names| {
                format!("{} panicked while {doing}: {message}", names.life(life))
            }),
            other => inside.tell(|names| format!("{} says {other:?}", names.life(life))),
        }
    }
}
