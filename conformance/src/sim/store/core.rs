//! A call on its way: the queue, the way there, the effect, the way back, and what goes wrong on each.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::task::Waker;
use std::time::Duration;

use leasehold::{
    ClaimOutcome, DiscardOutcome, ErrorKind, FenceExhausted, Moment, OwnerId, RenewOutcome, SandboxId, Stage,
    StoreError, TakeOutcome, Tenure, Ttl,
};

use super::ask::{Answer, Ask, Reply, told};
use super::call::{At, Call, Where};
use super::ledger::Page;
use crate::sim::audit::Trouble;
use crate::sim::executor::Life;
use crate::sim::leases::Leases;
use crate::sim::plan::StoreFault;
use crate::sim::world::World;

/// What all calls of one handle share.
pub(super) struct Core {
    pub(super) world: World,
    pub(super) life: Life,
    pub(super) gateway: usize,
    pub(super) owner: OwnerId,
    pub(super) ttl: Ttl,
    /// What was asked about each sandbox, so that an orphan somebody may rely on stays.
    pub(super) ledger: Mutex<BTreeMap<SandboxId, Page>>,
    pub(super) closed: Mutex<bool>,
    /// Calls that somebody waits for.
    pub(super) open: Mutex<usize>,
}

impl Core {
    /// Puts a call in the facade's queue.
    pub(super) fn begin(self: &Arc<Self>, ask: Ask) -> Arc<Call> {
        self.judge(&ask);
        self.waits(&ask, true);
        let at = Where {
            stage: At::Waiting,
            waker: None,
            deadline: None,
            asked: self.world.executor.now(),
            sent: 0,
            effect: 0,
            entry: None,
        };
        let call = Arc::new(Call { life: Mutex::new(at) });
        let executor = &self.world.executor;
        let expire = {
            let (call, ask, world) = (Arc::clone(&call), ask.clone(), self.world.clone());
            move || {
                world.disturb(Trouble::Contact, Duration::ZERO);
                let waker = {
                    let mut at = call.at();
                    let stage = match at.stage {
                        At::Waiting => Stage::Pool,
                        At::Running => Stage::Reply,
                        _ => return,
                    };
                    // What it may still bring goes to nobody: `answer` finds that it is not running any more.
                    at.stage =
                        At::Answered(Err(ask.error(ErrorKind::Timeout, "no answer in time").at(stage)));
                    at.waker.take()
                };
                waker.into_iter().for_each(Waker::wake);
            }
        };
        call.at().deadline = Some(executor.after_in(self.life, self.world.make.store_deadline, expire));
        let queue = self.world.delay(self.gateway, ask.lane()) / 4;
        let (core, begun) = (Arc::clone(self), Arc::clone(&call));
        executor.after_in(self.life, queue, move || core.send(ask, &begun));
        call
    }

    /// A worker takes it up: from now on it may have an effect.
    pub(super) fn send(self: &Arc<Self>, ask: Ask, call: &Arc<Call>) {
        {
            let mut at = call.at();
            if !matches!(at.stage, At::Waiting) {
                return;
            }
            at.stage = At::Running;
            at.sent = self.world.executor.now();
            at.entry = ask.tenure_of().map(|id| self.enter(id));
        }
        let sent = self.world.clock_of(self.gateway);
        let there = self.world.delay(self.gateway, ask.way_there());
        let back = self.world.delay(self.gateway, ask.way_back());
        let fault = {
            let mut inside = self.world.inside();
            let fault = inside.faults.of_store(self.gateway, ask.kind());
            if let Some(fault) = fault {
                inside.tell(|names| format!("{}   {}: {fault:?}", names.life(self.life), ask.told(names)));
                let late = match fault {
                    // What is only slow is answered, or times out, which is trouble of its own.
                    StoreFault::Slow(_) => None,
                    StoreFault::Late(by) => Some(by),
                    _ => Some(Duration::ZERO),
                };
                if let Some(late) = late {
                    inside.disturb(Trouble::Contact, late + self.world.make.settles());
                }
            }
            fault
        };
        let executor = &self.world.executor;
        let fail = |after: Duration| {
            let (core, call, ask) = (Arc::clone(self), Arc::clone(call), ask.clone());
            executor.after_in(self.life, after, move || {
                core.leave(&ask);
                drop(call.answer(Err(ask.error(ErrorKind::Unavailable, "the store did not answer"))));
            });
        };
        let land = |after: Duration, reply: Option<Duration>| {
            let (core, call, ask) = (Arc::clone(self), Arc::clone(call), ask.clone());
            executor.after(after, move || core.land(ask, &call, sent, reply));
        };
        match fault {
            None => land(there, Some(back)),
            Some(StoreFault::Slow(by)) => land(there + by, Some(back)),
            Some(StoreFault::Before) => fail(there + back),
            Some(StoreFault::After) => {
                land(there, None);
                fail(there + back);
            }
            Some(StoreFault::Late(by)) => {
                land(there + by, None);
                fail(there);
            }
            Some(StoreFault::Hang { lands: true }) => land(there, None),
            Some(StoreFault::Hang { lands: false }) => {}
        }
    }

    /// It arrives at the store.
    pub(super) fn land(self: &Arc<Self>, ask: Ask, call: &Arc<Call>, sent: Moment, reply: Option<Duration>) {
        let world = &self.world;
        let answer = {
            let mut inside = world.inside();
            let now = inside.now();
            if inside.faults.store_is_cut(self.gateway, now) {
                inside.tell(|names| {
                    format!("{}   {} does not get through", names.life(self.life), ask.told(names))
                });
                None
            } else {
                let before = ask.id().and_then(|id| inside.leases.inspect(id, now));
                let answer = self.effect(&mut inside.leases, &ask, now, sent);
                self.judge_effect(&mut inside, &ask, &answer, before.as_ref());
                let effect = inside.leases.effects();
                call.at().effect = effect;
                if !matches!(call.at().stage, At::Running) {
                    // It lands when nobody counts on it any more.
                    inside.disturb(Trouble::Contact, world.make.settles());
                }
                if !matches!(ask, Ask::Inspect(_) | Ask::List) {
                    inside.tell(|names| {
                        format!("{}   {} → {}", names.life(self.life), ask.told(names), told(&answer))
                    });
                }
                Some(answer)
            }
        };
        let Some(reply) = reply else { return };
        let (core, call, executor) = (Arc::clone(self), Arc::clone(call), &world.executor);
        executor.after_in(self.life, reply, move || {
            let cut = {
                let inside = core.world.inside();
                inside.faults.store_is_cut(core.gateway, inside.now())
            };
            let Some(answer) = answer.filter(|_| !cut) else { return };
            if core.is_disturbed(&ask, &answer, &call) {
                // As the facade does: a refresh that ran beside the release of an orphan is asked once more.
                let sent = core.world.clock_of(core.gateway);
                let (again, executor) = (Arc::clone(&core), core.world.executor.clone());
                executor.after(reply, move || again.land(ask, &call, sent, Some(reply)));
                return;
            }
            core.leave(&ask);
            let entry = call.at().entry;
            if let Some(nobodys) = call.answer(answer) {
                core.settle(&ask, &nobodys, entry);
            }
        });
    }

    pub(super) fn effect(&self, leases: &mut Leases, ask: &Ask, now: u64, sent: Moment) -> Reply {
        let exhausted = |cause: FenceExhausted| StoreError::new(ErrorKind::Corrupt, cause.to_string());
        let ours = |tenure: &mut Tenure| {
            tenure.valid_until = if self.world.make.server_clock {
                sent + self.ttl.as_duration()
            } else {
                Moment::from_nanos(tenure.valid_until.as_nanos() + self.world.clock_offset(self.gateway))
            };
        };
        match ask {
            Ask::Take(id) => {
                let mut outcome = leases.take(id, &self.owner, self.ttl, now).map_err(exhausted)?;
                if let TakeOutcome::Taken { tenure, .. } = &mut outcome {
                    ours(tenure);
                }
                Ok(Answer::Take(outcome))
            }
            Ask::Claim(id, intent) => {
                let mut outcome = leases.claim(id, *intent, &self.owner, self.ttl, now).map_err(exhausted)?;
                if let ClaimOutcome::Claimed { tenure, .. } = &mut outcome {
                    ours(tenure);
                }
                Ok(Answer::Claim(outcome))
            }
            Ask::Renew(ids) => Ok(Answer::Renew(
                ids.iter()
                    .map(|id| {
                        let mut outcome = leases.renew(id, &self.owner, self.ttl, now);
                        if let RenewOutcome::Renewed(tenure) = &mut outcome {
                            ours(tenure);
                        }
                        outcome
                    })
                    .collect(),
            )),
            Ask::Release(id, fence) => {
                Ok(Answer::Release(leases.release(id, *fence, &self.owner, self.ttl, now)))
            }
            Ask::Inspect(id) => Ok(Answer::Inspect(leases.inspect(id, now))),
            Ask::List => Ok(Answer::List(leases.list(now))),
            Ask::Discard(id, force) => Ok(Answer::Discard(match leases.inspect(id, now) {
                Some(lease) if !force => DiscardOutcome::Refused(lease),
                Some(_) => {
                    leases.discard(id);
                    DiscardOutcome::Discarded
                }
                None => DiscardOutcome::Absent,
            })),
        }
    }
}
