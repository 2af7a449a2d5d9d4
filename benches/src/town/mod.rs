//! A gateway with as many sandboxes as are asked for, in a world whose time passes on command and whose store and engine
//! answer at once, so that what is measured is the provider alone.

mod bare;
mod engine;
mod leases;
mod world;

use std::sync::Arc;
use std::time::Duration;

use leasehold::{
    Acquire, OwnerId, OwnershipConfig, Provider, ProviderConfig, Sandbox, SandboxId, SessionKey,
};
use tokio::runtime::{Builder, Runtime};

pub use self::bare::Bare;
use self::engine::Engine;
use self::leases::Yes;
use self::world::World;

/// A provider at work, and those who hold its sandboxes.
pub struct Town {
    runtime: Runtime,
    world: World,
    provider: Provider,
    engine: Arc<Engine>,
    held: Vec<Sandbox>,
}

/// How often leases are renewed in a town, in its own time.
const RENEWAL: Duration = Duration::from_secs(30);
/// How often its reaper looks, in its own time.
const REAP: Duration = Duration::from_secs(7);

impl Town {
    /// A town of `sandboxes` sandboxes, each held by somebody. Its reaper ticks only where `reaping`, its renewal only
    /// where not, so that each can be measured by itself.
    ///
    /// # Errors
    /// What kept the provider from starting.
    pub fn new(sandboxes: usize, reaping: bool) -> Result<Self, String> {
        Self::of(World::new(), sandboxes, reaping)
    }

    /// A town in which time passes by itself and nothing ticks: for what reads the clock.
    ///
    /// # Errors
    /// What kept the provider from starting.
    pub fn with_real_clock(sandboxes: usize) -> Result<Self, String> {
        let clock = leasehold::BootClock::new().map_err(|e| e.to_string())?;
        Self::of(World::with_clock(Arc::new(clock)), sandboxes, true)
    }

    fn of(world: World, sandboxes: usize, reaping: bool) -> Result<Self, String> {
        let runtime = Builder::new_current_thread().enable_time().build().map_err(|e| e.to_string())?;
        let never = Duration::from_secs(100_000_000);
        let renewal = if reaping { never } else { RENEWAL };
        let ownership = OwnershipConfig::new(renewal, 2.5).map_err(|e| e.to_string())?;
        let mut config =
            ProviderConfig::new("town".parse().map_err(|e| format!("{e}"))?).with_ownership(ownership);
        config.capacity = None;
        config.idle_timeout = never;
        config.adopt_interval = never;
        config.reap_interval = if reaping { REAP } else { never };
        let clock = Arc::clone(&world.clock);
        let engine = Arc::new(Engine::new());
        let store = Yes { owner: OwnerId::generate(), ttl: ownership.ttl(), clock };
        let builder = Provider::builder(config, Arc::new(store), Arc::clone(&engine) as _)
            .env(Arc::new(world.clone()))
            .home(Arc::new(world::NoHome));
        let provider = runtime.block_on(builder.start()).map_err(|e| e.to_string())?;
        let mut town = Self { runtime, world, provider, engine, held: Vec::with_capacity(sandboxes) };
        for n in 0..sandboxes {
            town.held.push(town.acquire(&format!("thread-{n}"))?);
        }
        Ok(town)
    }

    /// Hands one session its sandbox.
    ///
    /// # Errors
    /// What the provider said.
    pub fn acquire(&self, thread: &str) -> Result<Sandbox, String> {
        let session = SessionKey::new("user", thread).map_err(|e| e.to_string())?;
        self.runtime.block_on(self.provider.acquire(Acquire::session(session))).map_err(|e| e.to_string())
    }

    /// Lets time pass until the next tick has been made, of whichever loop ticks here.
    pub fn tick(&self) {
        self.runtime.block_on(self.world.tick(RENEWAL.max(REAP)));
    }

    /// The provider.
    #[must_use]
    pub fn provider(&self) -> &Provider {
        &self.provider
    }

    /// The ids of those that are held.
    #[must_use]
    pub fn ids(&self) -> Vec<SandboxId> {
        self.held.iter().map(|held| held.id().clone()).collect()
    }

    /// Lets go of all of them: they stay warm, and the provider tracks them as before.
    pub fn let_all_go(&mut self) {
        self.held = Vec::new();
    }

    /// Makes the engine forget what it made, so that what is left in memory is the provider's. Nothing can be acquired
    /// again after that.
    pub fn forget_engine(&self) {
        self.engine.forget();
    }
}
