//! Time, rest, chance and tasks of one simulated process.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use leasehold::{Env, Moment, Task, WallTime, Work};

use super::executor::Life;
use super::world::World;

/// What one life of a gateway sees of the world besides its store and its engine.
pub(super) struct SimEnv {
    world: World,
    life: Life,
    gateway: usize,
    drawn: AtomicU64,
}

impl SimEnv {
    pub(super) fn new(world: &World, life: Life, gateway: usize) -> Self {
        Self { world: world.clone(), life, gateway, drawn: AtomicU64::new(0) }
    }
}

impl Env for SimEnv {
    fn now(&self) -> Moment {
        self.world.clock_of(self.gateway)
    }

    fn awake(&self) -> Moment {
        Moment::from_nanos(self.world.executor.now() - self.world.executor.suspended(self.life))
    }

    fn wall(&self) -> WallTime {
        1_700_000_000_000_000 + self.world.executor.now() / 1_000
    }

    fn random(&self) -> u128 {
        let nth = self.drawn.fetch_add(1, Ordering::Relaxed);
        let half = |salt| u128::from(self.world.draw(self.gateway, salt, u64::MAX));
        (half("random high") << 64 | half("random low"))
            ^ u128::from(self.life.0) << 96
            ^ u128::from(nth) << 64
    }

    fn sleep(&self, duration: Duration) -> Task {
        Box::pin(self.world.executor.sleep(self.life, duration))
    }

    fn spawn(&self, task: Task) {
        self.world.executor.spawn(self.life, task);
    }

    fn drive(&self, _name: &str, task: Task) -> std::io::Result<()> {
        self.spawn(task);
        Ok(())
    }

    fn offload(&self, work: Work) {
        let after = self.world.delay(self.gateway, "disk");
        self.world.executor.after_in(self.life, after, work);
    }
}
