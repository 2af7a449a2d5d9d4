//! The engine as one gateway sees it: every call takes time, on its way there, in the engine and back, and may go wrong in
//! each. What has arrived goes on whether or not anybody waits.

use std::time::Duration;

use async_trait::async_trait;
use leasehold::{
    BackendError, BackendErrorKind, BackendListing, BackendOperation, Command, Condemned, Condition,
    Destroyed, EngineId, Execution, Exit, InstanceId, Namespace, Output, SandboxBackend, SandboxId,
    SandboxInfo, SandboxSpec, Seen, Unreadable,
};

use super::audit::Trouble;
use super::engine::{NotMade, name, number};
use super::executor::Life;
use super::plan::{EngineCall, EngineFault};
use super::promise::Promise;
use super::witness::Shown;
use super::world::{Inside, World};

/// One gateway's handle to the engine of the world.
pub(super) struct SimBackend {
    world: World,
    life: Life,
    gateway: usize,
    namespace: Namespace,
}

impl SimBackend {
    /// How long the engine's driver waits for an answer that does not come.
    const HANG: Duration = Duration::from_secs(25);

    pub(super) fn new(world: &World, life: Life, gateway: usize, namespace: Namespace) -> Self {
        Self { world: world.clone(), life, gateway, namespace }
    }

    /// One call: to the engine, `deed` there, and back.
    async fn call<T: Send + 'static>(
        &self,
        kind: EngineCall,
        operation: BackendOperation,
        deed: impl FnOnce(&mut Inside, bool) -> Result<T, BackendError> + Send + 'static,
    ) -> Result<T, BackendError> {
        let (world, life, gateway) = (&self.world, self.life, self.gateway);
        let name = kind_name(kind);
        let (there, back) = (world.delay(gateway, name), world.delay(gateway, name));
        world.executor.sleep(life, world.delay(gateway, name) / 4).await;
        let (fault, cut) = {
            let mut inside = world.inside();
            let now = inside.now();
            let fault = inside.faults.of_engine(gateway, kind);
            if let Some(fault) = fault {
                inside.tell(|names| format!("{}   {operation}: {fault:?}", names.life(life)));
                inside.disturb(Trouble::Engine, Self::HANG + world.make.settles());
            }
            (fault, inside.faults.engine_is_cut(gateway, now))
        };
        let failed = || {
            BackendError::new(BackendErrorKind::Unavailable, "the engine did not answer").during(operation)
        };
        let lands = |after: Duration, half: bool| {
            let promise = Promise::new();
            let (kept, world) = (promise.clone(), world.clone());
            world.clone().executor.after(after, move || {
                let done = deed(&mut world.inside(), half);
                kept.keep(done);
            });
            promise
        };
        if cut {
            world.executor.sleep(life, there + back).await;
            return Err(failed());
        }
        match fault {
            None => {
                let done = lands(there, false).await;
                world.executor.sleep(life, back).await;
                done
            }
            Some(EngineFault::Slow(by)) => {
                let done = lands(there + by, false).await;
                world.executor.sleep(life, back).await;
                done
            }
            Some(EngineFault::Half) => {
                let done = lands(there, true).await;
                world.executor.sleep(life, back).await;
                done
            }
            Some(EngineFault::Before) => {
                world.executor.sleep(life, there + back).await;
                Err(failed())
            }
            Some(EngineFault::After) => {
                let _ = lands(there, false).await;
                world.executor.sleep(life, back).await;
                Err(failed())
            }
            Some(EngineFault::Hang { lands: arrives }) => {
                let done = arrives.then(|| lands(there, false));
                world.executor.sleep(life, Self::HANG).await;
                drop(done);
                Err(BackendError::new(BackendErrorKind::Timeout, "the engine did not answer")
                    .during(operation))
            }
        }
    }

    fn missing(instance: &InstanceId, operation: BackendOperation) -> BackendError {
        BackendError::new(BackendErrorKind::Missing, "there is no such instance")
            .during(operation)
            .on(instance)
    }
}

fn shown(info: &SandboxInfo) -> Shown {
    match info.condition {
        Condition::Ended(_) => Shown::Dead,
        _ if info.condemned => Shown::Condemned,
        _ => Shown::Usable,
    }
}

fn kind_name(kind: EngineCall) -> &'static str {
    match kind {
        EngineCall::Create => "engine create",
        EngineCall::Ready => "engine ready",
        EngineCall::Look => "engine look",
        EngineCall::List => "engine list",
        EngineCall::Condemn => "engine condemn",
        EngineCall::Stop => "engine stop",
        EngineCall::Any => "engine",
    }
}

#[async_trait]
impl SandboxBackend for SimBackend {
    fn kind(&self) -> &'static str {
        "simulated"
    }

    fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    async fn engine_id(&self) -> Result<EngineId, BackendError> {
        self.world.executor.sleep(self.life, self.world.delay(self.gateway, "engine id")).await;
        Ok(EngineId::new("engine"))
    }

    async fn create(&self, spec: &SandboxSpec) -> Result<SandboxInfo, BackendError> {
        let (life, spec) = (self.life, spec.clone());
        let asked = self.world.executor.now();
        let boot = self.world.delay(self.gateway, "engine boot") * 3;
        let first = self.world.inside().witness.asks_to_make(life, &spec.id);
        if let Some((taken, Some(cap))) = self.world.peek(life).map(|status| status.slots)
            && taken > cap
            && first
            && !self.world.make.exceed_capacity
        {
            self.world.fail("G1: a slot is reserved before a create", |names| {
                format!(
                    "{} makes {} and has taken {taken} slots of {cap}",
                    names.life(life),
                    names.sandbox(&spec.id)
                )
            });
        }
        let asked_for = spec.id.clone();
        let made = self
            .call(EngineCall::Create, BackendOperation::Create, move |inside, _| {
                let now = inside.now();
                let ready_at = now + super::executor::nanos(boot);
                match inside.engine.create(&spec, now, ready_at) {
                    Ok(made) => {
                        let session =
                            spec.identity.session.as_ref().map(|session| session.thread().to_owned());
                        if let Some(made) = inside.engine.get_mut(made) {
                            made.late = now - asked > 4_000_000_000;
                        }
                        inside.names.name_sandbox(&spec.id, |nth| {
                            session.unwrap_or_else(|| format!("anonymous-{nth}"))
                        });
                        inside.tell(|names| {
                            format!("{}   creates i{made} for {}", names.life(life), names.sandbox(&spec.id))
                        });
                        super::witness::made(inside, life, made);
                        Ok(inside.engine.info(made).expect("it was made just now"))
                    }
                    Err(NotMade::Taken(other)) => {
                        inside.tell(|names| {
                            format!(
                                "{}   can't create {}: i{other} has the name",
                                names.life(life),
                                names.sandbox(&spec.id)
                            )
                        });
                        Err(BackendError::new(BackendErrorKind::Conflict, "the name is another instance's")
                            .during(BackendOperation::Create)
                            .of(&spec.id))
                    }
                }
            })
            .await;
        if made.as_ref().is_err_and(BackendError::may_have_happened) {
            let world = self.world.clone();
            self.world.executor.after_in(life, Duration::from_secs(4), move || {
                super::witness::created_unknown(&mut world.inside(), life, &asked_for);
            });
        }
        made
    }

    async fn wait_ready(
        &self,
        instance: &InstanceId,
        patience: Duration,
    ) -> Result<SandboxInfo, BackendError> {
        let begun = self.world.executor.now();
        loop {
            let asked = instance.clone();
            let (ready, info) = self
                .call(EngineCall::Ready, BackendOperation::WaitReady, move |inside, half| {
                    let now = inside.now();
                    let there = inside.engine.get(number(&asked)).map(|there| there.ready_at);
                    let (Some(at), Some(info)) = (there, inside.engine.info(number(&asked))) else {
                        return Err(Self::missing(&asked, BackendOperation::WaitReady));
                    };
                    if half {
                        return Err(BackendError::new(
                            BackendErrorKind::NotReady,
                            "it does not become ready",
                        )
                        .during(BackendOperation::WaitReady));
                    }
                    Ok((now >= at, info))
                })
                .await?;
            match info.condition {
                Condition::Ended(_) => {
                    let error = BackendError::new(BackendErrorKind::Exited, "it ended before it was ready");
                    return Err(error.during(BackendOperation::WaitReady).on(instance));
                }
                _ if ready => return Ok(info),
                _ if self.world.executor.now() - begun >= super::executor::nanos(patience) => {
                    let error = BackendError::new(BackendErrorKind::NotReady, "it was not ready in time");
                    return Err(error.during(BackendOperation::WaitReady).on(instance));
                }
                _ => self.world.executor.sleep(self.life, Duration::from_millis(100)).await,
            }
        }
    }

    async fn inspect(&self, instance: &InstanceId) -> Result<Seen, BackendError> {
        let (asked, life, sent) = (instance.clone(), self.life, self.world.executor.now());
        self.world.inside().witness.looks_at(life, number(instance), sent);
        let seen = self
            .call(EngineCall::Look, BackendOperation::Inspect, move |inside, _| {
                Ok(inside.engine.info(number(&asked)).map_or(Seen::Gone, Seen::Present))
            })
            .await?;
        let shown = match &seen {
            Seen::Present(info) => shown(info),
            Seen::Gone => Shown::Dead,
        };
        self.world.inside().witness.looked_at(life, number(instance), sent, shown);
        Ok(seen)
    }

    async fn discover(&self, id: &SandboxId) -> Result<Option<SandboxInfo>, BackendError> {
        let (asked, life, sent) = (id.clone(), self.life, self.world.executor.now());
        let found = self
            .call(EngineCall::Look, BackendOperation::Discover, move |inside, _| {
                Ok(inside.engine.named(&asked).and_then(|named| inside.engine.info(named)))
            })
            .await?;
        if let Some(info) = &found {
            self.world.inside().witness.looked_at(life, number(&info.instance), sent, shown(info));
        }
        Ok(found)
    }

    async fn list(&self) -> Result<BackendListing, BackendError> {
        let missed = self.world.draw(self.gateway, "missed row", 1 << 20) as usize;
        let listing = self
            .call(EngineCall::List, BackendOperation::List, move |inside, half| {
                let mut listing = BackendListing::default();
                let rows: Vec<u64> = inside.engine.all().map(|(number, _)| number).collect();
                for (at, number) in rows.iter().enumerate() {
                    // A row is missing, or can't be read.
                    if half && at == missed % rows.len() {
                        if missed.is_multiple_of(2) {
                            listing
                                .unreadable
                                .push(Unreadable { instance: name(*number), why: "no labels".to_owned() });
                        }
                        continue;
                    }
                    listing.found.extend(inside.engine.info(*number));
                }
                Ok(listing)
            })
            .await?;
        Ok(listing)
    }

    async fn condemn(&self, instance: &InstanceId) -> Result<Condemned, BackendError> {
        let (asked, life) = (instance.clone(), self.life);
        super::witness::asks_to_condemn(&mut self.world.inside(), life, number(instance));
        let done = self
            .call(EngineCall::Condemn, BackendOperation::Condemn, move |inside, _| {
                let condemned =
                    inside.engine.condemn(number(&asked)).map_or(Condemned::Gone, |()| Condemned::Condemned);
                inside.tell(|names| format!("{}   condemns {asked} → {condemned:?}", names.life(life)));
                Ok(condemned)
            })
            .await?;
        let now = self.world.executor.now();
        self.world.inside().witness.condemned(life, number(instance), now);
        Ok(done)
    }

    async fn destroy(&self, instance: &InstanceId) -> Result<Destroyed, BackendError> {
        let (asked, life, world) = (instance.clone(), self.life, self.world.clone());
        let time = self.world.delay(self.gateway, "engine stopping") * 3;
        super::witness::asks_to_stop(&mut self.world.inside(), life, number(instance));
        let gone = Promise::new();
        let kept = gone.clone();
        let begun = self
            .call(EngineCall::Stop, BackendOperation::Destroy, move |inside, half| {
                let number = number(&asked);
                if inside.engine.get(number).is_none() {
                    inside.tell(|names| format!("{}   stops {asked}, which is gone", names.life(life)));
                    kept.keep(());
                    return Ok(Destroyed::AlreadyGone);
                }
                inside.tell(|names| format!("{}   stops {asked}", names.life(life)));
                super::witness::stops(inside, life, number);
                if let Some(instance) = inside.engine.get_mut(number)
                    && !instance.ended
                {
                    instance.ended = true;
                    instance.stopped_by = Some(life);
                }
                if half {
                    return Err(BackendError::new(
                        BackendErrorKind::Unavailable,
                        "the engine could not remove it",
                    )
                    .during(BackendOperation::Destroy));
                }
                // What is going goes on going, whoever waits.
                world.clone().executor.after(time, move || {
                    world.inside().engine.remove(number);
                    kept.keep(());
                });
                Ok(Destroyed::Destroyed)
            })
            .await?;
        gone.await;
        Ok(begun)
    }

    async fn exec(
        &self,
        instance: &InstanceId,
        command: Command,
    ) -> Result<Box<dyn Execution>, BackendError> {
        let asked = instance.clone();
        self.call(EngineCall::Any, BackendOperation::Exec, move |inside, _| {
            match inside.engine.get(number(&asked)) {
                Some(there) if !there.ended => Ok(()),
                _ => Err(Self::missing(&asked, BackendOperation::Exec)),
            }
        })
        .await?;
        let ends = self.world.executor.now() + super::executor::nanos(command.timeout);
        Ok(Box::new(Running {
            world: self.world.clone(),
            life: self.life,
            instance: number(instance),
            ends,
            killed: false,
        }))
    }
}

/// A command that runs for its time, or until its instance ends.
struct Running {
    world: World,
    life: Life,
    instance: u64,
    ends: u64,
    killed: bool,
}

#[async_trait]
impl Execution for Running {
    async fn next(&mut self) -> Result<Output, BackendError> {
        loop {
            if self.killed {
                return Ok(Output::Exited(Exit::Killed));
            }
            let now = self.world.executor.now();
            if self.world.inside().engine.get(self.instance).is_none_or(|there| there.ended) {
                self.killed = true;
                continue;
            }
            if now >= self.ends {
                return Ok(Output::Exited(Exit::Code(0)));
            }
            let step = Duration::from_nanos(self.ends - now).min(Duration::from_millis(1_500));
            self.world.executor.sleep(self.life, step).await;
        }
    }

    async fn kill(&mut self) -> Result<(), BackendError> {
        self.killed = true;
        Ok(())
    }
}
