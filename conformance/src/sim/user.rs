//! Turns of conversations: they acquire, hold, run commands, and let go or leave.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use leasehold::{Acquire, AcquireError, Command, LostReason, Output, Provider, Sandbox, SessionKey};

use super::engine::number;
use super::executor::Life;
use super::plan::{Act, Ends, Visit};
use super::world::World;

/// The session with a number.
pub(super) fn session(number: usize) -> SessionKey {
    SessionKey::new("u", &format!("s{number}")).expect("the name is in the alphabet")
}

/// Carries a turn out, as a task of the gateway that it landed on.
pub(super) async fn visit(world: World, life: Life, provider: Provider, visit: Visit) {
    let request = match visit.session {
        Some(number) => Acquire::session(session(number)),
        None => Acquire::anonymous(),
    };
    let who = visit.session.map_or_else(|| "an anonymous turn".to_owned(), |number| format!("s{number}"));
    let begun = world.executor.now();
    let acquired = {
        let acquire = provider.acquire(request.within(visit.deadline));
        match visit.gives_up {
            None => Some(acquire.await),
            Some(after) => first(acquire, world.executor.sleep(life, after)).await,
        }
    };
    let took = Duration::from_nanos(world.executor.now() - begun);
    // Timers are late now and then; a pause or a suspended host makes them later.
    if took > visit.deadline + Duration::from_secs(1) && world.executor.was_never_paused(life) {
        world.fail("an acquire ends within its deadline", |names| {
            format!("{who} on {} was given {:?} and waited {took:?}", names.life(life), visit.deadline)
        });
    }
    let sandbox = match acquired {
        None => return world.tell(|names| format!("{who} on {} gave up", names.life(life))),
        Some(Err(error)) => {
            if let AcquireError::Foreign { .. } | AcquireError::Home(_) | AcquireError::Panicked = &error {
                world.fail("an acquire fails only for a reason there is", |names| {
                    format!("{who} on {} was told: {error}", names.life(life))
                });
            }
            return world.tell(|names| format!("{who} on {} got nothing: {error}", names.life(life)));
        }
        Some(Ok(sandbox)) => sandbox,
    };
    let held = receive(&world, life, &visit, &sandbox, &who);
    for act in &visit.acts {
        if sandbox.is_lost().is_some() {
            break;
        }
        match act {
            // A gateway stops what it does with a sandbox when it is told that it is lost.
            Act::Hold(time) => {
                let _ = first(sandbox.lost(), world.executor.sleep(life, *time)).await;
            }
            Act::Get => {
                if provider.get(sandbox.id()).is_some() {
                    let now = world.executor.now();
                    world.inside().witness.used(held, now);
                }
            }
            Act::Exec(time) => run(&world, life, held, &sandbox, *time).await,
        }
    }
    let id = sandbox.id().clone();
    if let Some(reason) = sandbox.is_lost() {
        let mut inside = world.inside();
        let alive = inside
            .engine
            .get(number(sandbox.instance()))
            .is_some_and(|there| !there.ended && !there.condemned);
        if alive && matches!(reason, LostReason::Gone | LostReason::Stopped) {
            inside.fail("K7: nobody is told that a sandbox is gone while it runs", |names| {
                format!("{who} on {} was told of {}: {reason}", names.life(life), names.sandbox(&id))
            });
        }
        drop(inside);
        world.tell(|names| {
            format!("{who} on {} was told that it lost {}: {reason}", names.life(life), names.sandbox(&id))
        });
    }
    world.inside().witness.let_go(held);
    world.tell(|names| format!("{who} on {} lets {} go", names.life(life), names.sandbox(&id)));
    match visit.ends {
        Ends::Drop => drop(sandbox),
        Ends::Release => drop(sandbox.release().await),
        Ends::Destroy => {
            let destroyed = sandbox.destroy().await;
            world.tell(|names| format!("{who} on {} asked for a stop: {destroyed:?}", names.life(life)));
        }
    }
}

fn receive(world: &World, life: Life, visit: &Visit, sandbox: &Sandbox, who: &str) -> u64 {
    let view = sandbox.view();
    let told = Arc::new(move || view.is_lost().is_some());
    let mut inside = world.inside();
    let now = inside.now();
    let instance = number(sandbox.instance());
    inside.tell(|names| {
        format!("{who} on {} has {} in i{instance}", names.life(life), names.sandbox(sandbox.id()))
    });
    let theirs = inside.engine.get(instance).map(|there| there.identity.session.clone());
    if theirs.is_some_and(|theirs| theirs != visit.session.map(session)) {
        inside.fail("H4: nobody is handed the sandbox of another session", |names| {
            format!("{who} on {} was handed {}", names.life(life), names.sandbox(sandbox.id()))
        });
    }
    inside.witness.received(life, sandbox.id(), instance, now, told)
}

/// Runs a command for a while.
async fn run(world: &World, life: Life, held: u64, sandbox: &Sandbox, time: Duration) {
    let running = sandbox.exec(Command::new("work").timeout(time)).await;
    let mut running = match running {
        Ok(running) => running,
        Err(error) => {
            return world.tell(|names| format!("{} could not run a command: {error}", names.life(life)));
        }
    };
    let now = world.executor.now();
    world.inside().witness.runs(held, now, true);
    let ended = async { while let Ok(Output::Stdout(_) | Output::Stderr(_)) = running.next().await {} };
    let _ = first(ended, sandbox.lost()).await;
    drop(running);
    let now = world.executor.now();
    world.inside().witness.runs(held, now, false);
}

/// What the first of two gives, unless the second ends before.
async fn first<T>(one: impl Future<Output = T>, other: impl Future) -> Option<T> {
    let (mut one, mut other) = (pin!(one), pin!(other));
    Both { one: one.as_mut(), other: other.as_mut() }.await
}

struct Both<'a, A: ?Sized, B: ?Sized> {
    one: Pin<&'a mut A>,
    other: Pin<&'a mut B>,
}

impl<T, A: Future<Output = T> + ?Sized, B: Future + ?Sized> Future for Both<'_, A, B> {
    type Output = Option<T>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T>> {
        if let Poll::Ready(value) = self.one.as_mut().poll(cx) {
            return Poll::Ready(Some(value));
        }
        self.other.as_mut().poll(cx).map(|_| None)
    }
}
