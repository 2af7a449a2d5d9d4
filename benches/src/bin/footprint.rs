//! `footprint [--million]`: what a tracked sandbox and a lease take in memory, and how often an operation allocates.
//!
//! Every allocation of this process is counted, in bytes as they were asked for; what the allocator adds is its own affair.
//! A command of its own, so that counting does not slow down what `ratios` measures.

#![forbid(unsafe_code)]

use std::alloc::System;
use std::process::ExitCode;
use std::sync::Arc;

use leasehold::{BootClock, CellStore, Clock, OwnerId, OwnershipStore, SandboxId, Ttl};
use leasehold_benches::town::Town;
use leasehold_stores::memory::MemoryCell;
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[global_allocator]
static HEAP: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// How often an operation is made to find out what it allocates each time.
const TIMES: usize = 1_000;

fn main() -> ExitCode {
    let million = match std::env::args().skip(1).collect::<Vec<_>>().as_slice() {
        [] => false,
        [only] if only == "--million" => true,
        _ => return end("write footprint, or footprint --million for towns of that size too"),
    };
    let sizes: &[usize] = if million { &[100_000, 1_000_000] } else { &[100_000] };
    match measure(sizes) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(allocations) => end(&format!("get allocates, {allocations} times in {TIMES}; hold: never")),
        Err(why) => end(&why),
    }
}

/// Prints all of it. Says how often `get` allocated, which is held to never.
fn measure(sizes: &[usize]) -> Result<usize, String> {
    for size in sizes {
        provider(*size)?;
    }
    for size in [100_000, 1_000_000] {
        memory_store(size)?;
    }
    allocations()
}

/// The bytes that are allocated now.
fn live() -> usize {
    let stats = HEAP.stats();
    stats.bytes_allocated.saturating_sub(stats.bytes_deallocated)
}

/// How often the heap was asked for more, so far.
fn asked() -> usize {
    let stats = HEAP.stats();
    stats.allocations + stats.reallocations
}

fn provider(size: usize) -> Result<(), String> {
    let before = live();
    let mut town = Town::new(size, false)?;
    town.forget_engine();
    // What was spawned on the way has ended by then.
    town.tick();
    let held = live() - before;
    town.let_all_go();
    let warm = live() - before;
    bytes("provider, a sandbox in use, with its handle", size, held);
    bytes("provider, a sandbox that is warm", size, warm);
    Ok(())
}

fn memory_store(size: usize) -> Result<(), String> {
    let before = live();
    let store = store()?;
    for n in 0..size {
        let _ = store.take(&nth(n)).map_err(|e| e.to_string())?;
    }
    bytes("memory store, a lease with its id", size, live() - before);
    Ok(())
}

fn allocations() -> Result<usize, String> {
    let town = Town::new(TIMES, false)?;
    let ids = town.ids();
    // Whatever is made once is made before the count begins.
    let rounds = |work: &mut dyn FnMut(usize)| {
        (0..TIMES).for_each(&mut *work);
        let before = asked();
        (0..TIMES).for_each(work);
        asked() - before
    };
    let get = rounds(&mut |n| assert!(town.provider().get(&ids[n]).is_some()));
    times("provider get", get, TIMES);
    let before = asked();
    town.tick();
    times("provider renewal, a lease in a tick of 1,000", asked() - before, TIMES);
    let acquire = rounds(&mut |_| drop(town.acquire("thread-7")));
    times("provider acquire of one in use + let go", acquire, TIMES);
    let (store, id) = (store()?, nth(0));
    let _ = store.take(&id).map_err(|e| e.to_string())?;
    let renew = rounds(&mut |_| drop(store.renew(&id)));
    times("memory store renew", renew, TIMES);
    let take = rounds(&mut |_| drop(store.take(&id)));
    times("memory store take", take, TIMES);
    Ok(get)
}

fn store() -> Result<CellStore<MemoryCell>, String> {
    let clock: Arc<dyn Clock> = Arc::new(BootClock::new().map_err(|e| e.to_string())?);
    let ttl = Ttl::from_millis(60_000).map_err(|e| e.to_string())?;
    Ok(CellStore::new(MemoryCell::new(clock), OwnerId::generate(), ttl))
}

fn nth(n: usize) -> SandboxId {
    format!("sbx-7f3a9c1e2b4d5f60-{n}").parse().expect("a valid id")
}

fn bytes(what: &str, size: usize, all: usize) {
    say(&format!("{what:<48} {size:>9}  {:>8.0} bytes each", all as f64 / size as f64));
}

fn times(what: &str, allocations: usize, operations: usize) {
    say(&format!(
        "{what:<48} {operations:>9}  {:>8.3} allocations each",
        allocations as f64 / operations as f64
    ));
}

fn end(why: &str) -> ExitCode {
    say(&format!("footprint: {why}"));
    ExitCode::FAILURE
}

#[expect(clippy::print_stdout, reason = "this is what the command is for")]
fn say(line: &str) {
    println!("{line}");
}
