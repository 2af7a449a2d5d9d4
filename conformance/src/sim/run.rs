//! One simulation from its beginning to its end, with every rule looked at after every step.

use std::time::Duration;

use super::audit;
use super::executor::{Life, Stepped, nanos};
use super::gateway::Gateway;
use super::plan::{Plan, What};
use super::user;
use super::world::{Failure, World};

/// How one simulation ended.
#[derive(Clone, Debug)]
pub(super) struct Ran {
    pub(super) failure: Option<Failure>,
    /// What was told, line by line; empty unless it was asked for.
    pub(super) story: Vec<String>,
    pub(super) steps: u64,
    /// Virtual time.
    pub(super) time: Duration,
}

/// Something that is not left to the plan: which guard is removed from every provider.
#[cfg(feature = "planted")]
pub(super) type Guard = Option<leasehold::Planted>;
#[cfg(not(feature = "planted"))]
pub(super) type Guard = Option<std::convert::Infallible>;

/// Runs `plan` to its end, or to the first broken rule.
pub(super) fn run(plan: &Plan, without: Guard, told: bool) -> Ran {
    let world = World::new(plan.make.clone(), told);
    let gateways: Vec<Gateway> = (0..=plan.make.gateways)
        .map(|index| {
            let gateway = Gateway::new(&world, index);
            #[cfg(feature = "planted")]
            let gateway = gateway.planted(without);
            #[cfg(not(feature = "planted"))]
            let _ = without;
            gateway
        })
        .collect();
    let simulation = Simulation { world: world.clone(), gateways };
    simulation.run(plan);
    let ran = Ran {
        failure: world.failure(),
        story: world.story(),
        steps: world.executor.steps(),
        time: world.executor.elapsed(),
    };
    simulation.gateways.iter().for_each(Gateway::kill);
    world.executor.end();
    ran
}

struct Simulation {
    world: World,
    /// The last one is the caretaker that tidies up in the end.
    gateways: Vec<Gateway>,
}

impl Simulation {
    /// How often what has to come right by itself is looked at: every second.
    const LOOK: u64 = 1_000_000_000;

    fn run(&self, plan: &Plan) {
        let (caretaker, gateways) = self.gateways.split_last().expect("there is a caretaker");
        gateways.iter().for_each(Gateway::start);
        for happening in &plan.happenings {
            self.go_on_until(nanos(happening.at));
            if self.world.has_failed() {
                return;
            }
            self.world.tell(|_| format!("-- {}", happening.what));
            self.happens(&happening.what);
        }
        let make = &plan.make;
        // What is under way ends; the faults end with it.
        let end = nanos(make.length);
        self.go_on_until(end);
        self.world.tell(|_| "-- from here on nothing goes wrong any more".to_owned());
        self.world.inside().faults.heal();
        // The longest that any one turn, stop or lease can last.
        let calm = nanos(make.horizon() * 2 + Duration::from_secs(150));
        self.go_on_until(end + calm);
        self.world.tell(|_| "-- all gateways shut down".to_owned());
        for (index, gateway) in gateways.iter().enumerate() {
            gateway.shut_down(index % 2 == 0, Duration::from_secs(30), None);
        }
        self.go_on_until(end + calm + nanos(Duration::from_secs(120)));
        self.world.tell(|_| "-- one more starts, and finds what they left".to_owned());
        caretaker.start();
        let tidy = nanos(make.horizon() * 4 + make.warm_timeout + Duration::from_secs(90));
        self.go_on_until(end + calm + nanos(Duration::from_secs(120)) + tidy);
        self.nothing_runs();
        caretaker.shut_down(true, Duration::from_secs(30), None);
        self.go_on_until(end + calm + nanos(Duration::from_secs(240)) + tidy);
        self.nothing_is_left();
    }

    fn happens(&self, what: &What) {
        let world = &self.world;
        let gateways = &self.gateways;
        if let Some(trouble) = what.trouble() {
            world.disturb(trouble, what.lasts());
        }
        let life = |gateway: usize| gateways.get(gateway).and_then(Gateway::life);
        match what {
            What::Visit(visit) => {
                let Some((life, provider)) = gateways[visit.gateway].serving() else { return };
                let task = user::visit(world.clone(), life, provider, visit.clone());
                world.executor.spawn(life, Box::pin(task));
            }
            What::ShutDown { gateway, hand_over, deadline, back_after } => {
                gateways[*gateway].shut_down(*hand_over, *deadline, Some(*back_after));
            }
            What::Crash { gateway, back_after } => {
                gateways[*gateway].kill();
                let again = gateways[*gateway].clone();
                world.executor.after(*back_after, move || again.start());
            }
            What::Pause { gateway, lasts } => {
                if let Some(life) = life(*gateway) {
                    world.executor.pause(life, *lasts);
                }
            }
            What::Suspend { gateway, lasts } => {
                let there: Vec<Life> = if world.make.one_host {
                    gateways.iter().filter_map(Gateway::life).collect()
                } else {
                    life(*gateway).into_iter().collect()
                };
                there.into_iter().for_each(|life| world.executor.suspend(life, *lasts));
            }
            What::Wipe { floor_kept } => world.inside().leases.wipe(*floor_kept),
            What::StepClock { millis } => world.inside().leases.step_clock(*millis),
            What::Partition { gateway, lasts } => {
                let mut inside = world.inside();
                let until = inside.now() + nanos(*lasts);
                inside.faults.cut_store(*gateway, until);
            }
            What::Store { gateway, kind, fault, calls } => {
                world.inside().faults.plan_store(*gateway, *kind, *fault, *calls);
            }
            What::NoEngine { gateway, lasts } => {
                let mut inside = world.inside();
                let until = inside.now() + nanos(*lasts);
                inside.faults.cut_engine(*gateway, until);
            }
            What::Engine { gateway, kind, fault, calls } => {
                world.inside().faults.plan_engine(*gateway, *kind, *fault, *calls);
            }
            What::Dies { session, removed } => {
                let mut inside = world.inside();
                let wanted = user::session(*session);
                let found =
                    inside.engine.all().find(|(_, there)| there.identity.session.as_ref() == Some(&wanted));
                let Some(number) = found.map(|(number, _)| number) else { return };
                if *removed {
                    inside.engine.remove(number);
                } else if let Some(there) = inside.engine.get_mut(number) {
                    there.ended = true;
                }
            }
            What::PauseReaping { gateway, lasts } => {
                if let Some((_, provider)) = gateways[*gateway].serving() {
                    provider.pause_reaping(*lasts, "the plan says so");
                }
            }
            What::Destroy { gateway, session } => {
                let Some((life, provider)) = gateways[*gateway].serving() else { return };
                let wanted = user::session(*session);
                let status = provider.status();
                let Some(row) = status.sandboxes.iter().find(|row| row.session.as_ref() == Some(&wanted))
                else {
                    return;
                };
                let (id, world) = (row.id.clone(), world.clone());
                let executor = world.executor.clone();
                executor.spawn(
                    life,
                    Box::pin(async move {
                        let answer = provider.destroy(&id).await;
                        world.tell(|names| {
                            format!(
                                "{} was asked to stop {}: {answer:?}",
                                names.life(life),
                                names.sandbox(&id)
                            )
                        });
                    }),
                );
            }
        }
    }

    /// Steps until so many nanoseconds after the beginning, or until a rule is broken.
    fn go_on_until(&self, elapsed: u64) {
        let end = self.world.executor.now() + elapsed.saturating_sub(nanos(self.world.executor.elapsed()));
        while self.world.executor.now() < end && !self.world.has_failed() {
            self.steps_until((self.world.executor.now() + Self::LOOK).min(end));
            let seen: Vec<_> = self.gateways.iter().filter_map(Gateway::seen).collect();
            audit::look(&mut self.world.inside(), &self.world.make, &seen);
        }
    }

    fn steps_until(&self, limit: u64) {
        loop {
            if self.world.has_failed() {
                return;
            }
            match self.world.executor.step(limit) {
                Stepped::Polled(life) => self.look(life),
                Stepped::Passed => {}
                Stepped::Idle => return,
                Stepped::Spinning => {
                    self.world.fail("no task spins", |_| "tasks wake each other without end".to_owned());
                    return;
                }
            }
        }
    }

    fn look(&self, life: Life) {
        for (life, said) in self.world.executor.panics() {
            self.world
                .fail("no task panics", |names| format!("a task of {} panicked: {said}", names.life(life)));
        }
        if let Some(gateway) = self.gateways.iter().find(|gateway| gateway.life() == Some(life)) {
            gateway.check();
        }
    }

    /// Nobody uses anything for long: nothing may run any more.
    fn nothing_runs(&self) {
        let mut inside = self.world.inside();
        let left: Vec<_> = inside.engine.all().map(|(number, there)| (number, there.id.clone())).collect();
        if let Some((number, id)) = left.first() {
            inside.fail("no sandbox is left over", |names| {
                format!("i{number} of {} still runs, and nobody tidies it up", names.sandbox(id))
            });
        }
    }

    /// Everybody is gone: nothing may be left at all.
    fn nothing_is_left(&self) {
        let mut inside = self.world.inside();
        let now = inside.now();
        let leases = inside.leases.list(now).leases;
        if let Some((id, lease)) = leases.first() {
            inside.fail("no lease is left over", |names| {
                format!("that of {} is: {lease:?}", names.sandbox(id))
            });
        }
        if let Some(((host, id), _)) =
            inside.locks.first_key_value().map(|(key, value)| (key.clone(), *value))
        {
            inside.fail("no create lock is left over", |names| {
                format!("that of {} on host {host} is", names.sandbox(&id))
            });
        }
    }
}
