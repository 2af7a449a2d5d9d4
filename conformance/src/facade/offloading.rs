//! O1 and O8: what runs where, and that no way leads around it.

use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::Arc;

use leasehold::{AsyncOwnershipStore, Fence, OffloadConfig, Offloaded, OwnershipStore, StoreError};
use leasehold_gate as gate;

use super::flavour::{Flavour, words};
use super::scene::{Text, calm, play};
use super::stage::Stage;
use super::staged::Staged;
use super::{Call, rounds};
use crate::case::{Check, Stop, must};
use crate::kit::{Kit, id};

/// Makes the async store that is to be proved of a sync one.
pub type Make<'a> = dyn Fn(Box<dyn OwnershipStore>) -> Result<Arc<dyn AsyncOwnershipStore>, StoreError> + 'a;

/// The facade of this house, with its own settings.
fn offloaded(store: Box<dyn OwnershipStore>) -> Result<Arc<dyn AsyncOwnershipStore>, StoreError> {
    Ok(Arc::new(Offloaded::new(store, OffloadConfig::default())?))
}

/// No operation of the facade makes a call that blocks the thread that polls it.
pub(crate) fn no_operation_blocks(kit: &Kit<'_>) -> Check {
    prove_by_system_calls(kit, &offloaded)
}

/// No operation of the facade runs on a thread of the runtime, whether or not it makes a system call there.
pub(crate) fn no_operation_runs_where_tasks_are_polled(kit: &Kit<'_>) -> Check {
    prove_by_threads(kit, &offloaded)
}

/// Proves that no operation of the async store that `make` makes blocks a polling thread, on either flavour of the runtime:
/// O1 by system calls, for whoever brings an [`AsyncOwnershipStore`] of their own.
///
/// ```
/// use std::sync::Arc;
/// use leasehold::{OffloadConfig, Offloaded};
/// use leasehold_conformance::Kit;
/// use leasehold_conformance::case::Stop;
/// use leasehold_conformance::facade::prove_by_system_calls;
/// use leasehold_conformance::probes::FileProbe;
///
/// # fn main() -> Result<(), Stop> {
/// let kit = Kit::new(&FileProbe, 1)?;
/// // In place of `Offloaded`, a facade of your own.
/// let proved = prove_by_system_calls(&kit, &|store| Ok(Arc::new(Offloaded::new(store, OffloadConfig::default())?)));
/// assert!(matches!(proved, Ok(()) | Err(Stop::NotRun(_))), "{proved:?}");
/// # Ok(()) }
/// ```
///
/// # Errors
/// [`Stop::Failed`], naming every operation that blocked and what it called; [`Stop::NotRun`] where there is no gate.
pub fn prove_by_system_calls(kit: &Kit<'_>, make: &Make<'_>) -> Check {
    gate::require().map_err(|why| Stop::NotRun(why.to_string()))?;
    for round in 0..rounds()? {
        for flavour in Flavour::ALL {
            let store = kit.open("me", Kit::TESTED)?;
            let tripped = blocking_calls(make(Box::new(Staged::new(store, Stage::new())))?, flavour, round)?;
            let seen = tripped.iter().map(|(call, blocked)| format!("{call}: {}", blocked.join("\n")));
            let seen = seen.collect::<Vec<_>>().join("\n");
            must(tripped.is_empty(), &format!("no operation that blocks {flavour}"), Text(seen))?;
        }
    }
    Ok(())
}

/// What each operation of `store` did that blocks, called from a task on `flavour`: nothing, if it keeps O1.
///
/// # Errors
/// [`Stop::Failed`] when an operation failed, [`Stop::NotRun`] where there is no gate.
pub fn blocking_calls(
    store: Arc<dyn AsyncOwnershipStore>,
    flavour: Flavour,
    round: usize,
) -> Result<Vec<(Call, Vec<String>)>, Stop> {
    gate::require().map_err(|why| Stop::NotRun(why.to_string()))?;
    let ran = flavour.run(async move {
        let (sandbox, mut fence) = (id(&format!("gated-{flavour:?}-{round}")), Fence::MIN);
        let mut recorded = Vec::new();
        for call in Call::DAY {
            let (answer, violations) = gate::record(call.ask(&*store, &sandbox, fence)).await;
            recorded.push((call, violations));
            match answer {
                Ok(known) => fence = known,
                Err(error) => return (recorded, Err(Stop::failed(format!("an answer to {call}"), error))),
            }
        }
        let ((), dropped) = gate::record(async { drop(store) }).await;
        (recorded, Ok(dropped))
    })?;
    let (recorded, answered) = ran.output;
    let dropped = words(&answered?);
    must(dropped.is_empty(), "dropping the last handle blocks nobody", Text(dropped.join("\n")))?;
    let mut tripped: Vec<(Call, Vec<String>)> = Vec::new();
    for (call, violations) in recorded {
        if !violations.is_empty() {
            tripped.push((call, words(&violations)));
        }
    }
    Ok(tripped)
}

/// Proves that no operation of the async store that `make` makes runs on a thread that polls tasks: O1 for stores too that
/// make no system call, and where there is no gate.
///
/// # Errors
/// [`Stop::Failed`], naming the operations that did, or that never reached the store.
pub fn prove_by_threads(kit: &Kit<'_>, make: &Make<'_>) -> Check {
    for round in 0..rounds()? {
        for flavour in Flavour::ALL {
            let stage = Stage::new();
            let staged = Staged::new(kit.open("me", Kit::TESTED)?, Arc::clone(&stage));
            let store = make(Box::new(staged))?;
            let directed = Arc::clone(&stage);
            let ran = flavour.run(async move {
                let (sandbox, mut fence) = (id(&format!("threads-{flavour:?}-{round}")), Fence::MIN);
                for call in Call::DAY {
                    fence = call.ask(&*store, &sandbox, fence).await?;
                }
                drop(store);
                directed.until("the store itself is dropped", |seen| seen.dropped_by.is_some()).await
            })?;
            ran.output?;
            let seen = stage.seen();
            let asked: Vec<_> = seen.calls.iter().map(|call| call.operation).collect();
            let expected = Call::DAY.map(Call::of_store);
            must(asked == expected, &format!("the store is asked {expected:?}"), asked)?;
            let polls = |thread| ran.polled_by.contains(thread);
            let on_runtime: Vec<_> =
                seen.calls.iter().filter(|call| polls(&call.thread)).map(|call| call.operation).collect();
            must(on_runtime.is_empty(), &format!("no operation on the threads of {flavour}"), on_runtime)?;
            let dropped = seen.dropped_by.as_ref().is_some_and(polls);
            must(!dropped, &format!("the store is not dropped on a thread of {flavour}"), "it is")?;
        }
    }
    Ok(())
}

/// Whether a type has a way to a sync store, told by which constant is found: that of the type, or the fallback.
struct Way<T>(PhantomData<T>);

trait NoWay {
    const IS_STORE: bool = false;
    const DEREFS: bool = false;
    const IS_CLONE: bool = false;
}

impl<T> NoWay for Way<T> {}

impl<T: OwnershipStore> Way<T> {
    const IS_STORE: bool = true;
}

impl<T: Deref> Way<T> {
    const DEREFS: bool = true;
}

impl<T: Clone> Way<T> {
    const IS_CLONE: bool = true;
}

/// O8: neither the facade nor what it gives out is, holds out or copies the sync store. That it has no accessor is held by
/// the examples in its documentation that must not compile.
pub(crate) fn no_way_leads_to_the_store(kit: &Kit<'_>) -> Check {
    must(!Way::<Offloaded>::IS_STORE, "the facade is no sync store", "it is one")?;
    must(!Way::<Offloaded>::DEREFS, "the facade points at nothing", "it does")?;
    must(!Way::<Offloaded>::IS_CLONE, "the facade has one owner", "it is copied")?;
    // The look can tell: these are what the facade must not be.
    let tells = Way::<Box<dyn OwnershipStore>>::IS_STORE && Way::<Box<u8>>::DEREFS && Way::<u8>::IS_CLONE;
    must(tells, "a look at types that can fail", tells)?;
    play(kit, calm(), |scene| async move {
        let text = format!("{:?}", scene.facade);
        must(!text.contains("Staged"), "what the facade shows of itself has no store in it", text)
    })
}
