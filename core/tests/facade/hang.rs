//! O2, O3, O6: a store that hangs for ever.

use std::sync::Arc;
use std::time::Duration;

use leasehold::{AsyncOwnershipStore, Deadline, ErrorKind, OffloadConfig, Offloaded};

use crate::lanes::TakeOwned;
use crate::support::{Act, Polled, block_on, config, eventually, id, scripted};

#[test]
fn o2_a_worker_lost_to_a_hung_call_is_replaced_and_comes_back_to_a_taken_place() {
    let (store, script, _side) = scripted();
    let deadline = Duration::from_millis(30);
    let config = OffloadConfig { workers: 1, max_stuck: 1, deadline, ..config() };
    let most = config.max_threads();
    let facade = Offloaded::new(store, config).unwrap();
    script.set(&id("hung"), Act::WaitBefore);
    assert!(!block_on(facade.take_owned("hung")), "it times out");
    eventually("a spare serves the lane", || block_on(facade.take_owned("next")));
    assert_eq!((facade.stats().stuck, facade.stats().replaced), (1, 1));
    assert!(!block_on(facade.take_owned("hung")), "the spare hangs too");
    assert!(!block_on(facade.take_owned("next")), "and no further one is allowed");
    assert!(facade.stats().threads <= most);
    script.open();
    eventually("both come back", || facade.stats().stuck == 0 && facade.stats().running == 0);
    assert!(block_on(facade.take_owned("next")));
    eventually("the surplus one has left", || facade.stats().threads == 3);
}

/// Set in the process in which nothing but the ten thousand callers runs.
const ALONE: &str = "LEASEHOLD_HANG_ALONE";

/// Runs in a process of its own, since the threads of a process are counted, and other tests have threads too.
#[test]
fn o6_ten_thousand_callers_behind_a_hung_store_all_get_their_timeout_and_nobody_else_notices() {
    if std::env::var_os(ALONE).is_some() {
        return ten_thousand_callers();
    }
    let name =
        "hang::o6_ten_thousand_callers_behind_a_hung_store_all_get_their_timeout_and_nobody_else_notices";
    let alone = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env(ALONE, "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&alone.stderr);
    assert!(alone.status.success() && said.contains("largest gap"), "{said}");
    eprint!("{said}");
}

fn ten_thousand_callers() {
    let (hung, script, _side) = scripted();
    let (healthy, _, _) = scripted();
    let deadline = Duration::from_millis(300);
    let config = OffloadConfig { workers: 4, max_stuck: 2, deadline, ..config() };
    let most = config.max_threads();
    let quiet = OffloadConfig::default();
    // This thread, that of the test harness, and those of both facades.
    let most_here = 2 + most + quiet.max_threads();
    let hung = Arc::new(Offloaded::new(hung, config).unwrap());
    let healthy = Offloaded::new(healthy, quiet).unwrap();
    script.set(&id("hung"), Act::WaitBefore);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        let ticker = tokio::spawn(gaps());
        let mut callers = Vec::new();
        for n in 1..=10_000 {
            let store = Arc::clone(&hung);
            callers.push(tokio::spawn(async move {
                let asked = Deadline::after(Duration::ZERO);
                let error = store.take(&id("hung")).await.unwrap_err();
                (error.kind(), asked.elapsed())
            }));
            // So that the ticker sees what the facade does, and not how long it takes to start so many tasks.
            if n % 100 == 0 {
                tokio::task::yield_now().await;
            }
        }
        // While they wait, the other facade and the renewals of this one answer.
        let (mut answered, mut threads) = (0, 0);
        let (mut slowest_other, mut slowest_renewal) = (Duration::ZERO, Duration::ZERO);
        while !callers.iter().all(tokio::task::JoinHandle::is_finished) {
            let asked = Deadline::after(Duration::ZERO);
            assert!(healthy.take_owned("x").await);
            slowest_other = slowest_other.max(asked.elapsed());
            let asked = Deadline::after(Duration::ZERO);
            assert!(hung.renew(&id("r")).await.is_ok());
            slowest_renewal = slowest_renewal.max(asked.elapsed());
            assert!(hung.stats().threads <= most, "{:?}", hung.stats());
            threads = threads.max(threads_of_this_process());
            answered += 1;
            tokio::task::yield_now().await;
        }
        assert!(answered > 20, "they answered {answered} times in a third of a second");
        assert!(threads <= most_here, "{threads} threads where {most_here} are allowed");
        let mut last = Duration::ZERO;
        for caller in callers {
            let (kind, waited) = caller.await.unwrap();
            assert_eq!(kind, ErrorKind::Timeout);
            assert!(waited >= deadline, "nobody is told before time");
            last = last.max(waited);
        }
        ticker.abort();
        let gap = *GAP.lock();
        // A tick that comes as late as this has waited for a call; what is measured on a quiet machine is far less.
        assert!(gap < deadline, "the ticker saw a gap of {gap:?}: something waited on the runtime's thread");
        eprintln!(
            "10,000 callers: largest gap of a ticker {gap:.1?}, last caller told after {last:.1?} of {deadline:?}, at \
             most {threads} threads; {answered} calls beside them, the slowest {slowest_other:.1?}, renewals \
             {slowest_renewal:.1?}"
        );
    });
    script.open();
    drop(hung);
}

/// The largest gap that [`gaps`] saw.
static GAP: parking_lot::Mutex<Duration> = parking_lot::Mutex::new(Duration::ZERO);

/// Ticks each millisecond for ever, and notes by how much the largest gap between two ticks was too long.
async fn gaps() {
    let tick = Duration::from_millis(1);
    loop {
        let slept = Deadline::after(tick);
        tokio::time::sleep(tick).await;
        let mut gap = GAP.lock();
        *gap = (*gap).max(slept.elapsed().saturating_sub(tick));
    }
}

/// As the kernel counts them, where it says; else none, which is as if nobody had looked.
fn threads_of_this_process() -> usize {
    std::fs::read_dir("/proc/self/task").map_or(0, Iterator::count)
}

#[test]
fn a_call_polled_by_nobody_is_still_ended_by_the_watcher() {
    let (store, script, _side) = scripted();
    let config = OffloadConfig { workers: 1, deadline: Duration::from_millis(20), ..config() };
    let facade = Offloaded::new(store, config).unwrap();
    script.set(&id("hung"), Act::WaitBefore);
    let mut call = Polled::new(facade.take_owned("hung"));
    assert!(call.poll().is_pending());
    call.await_wake();
    assert_eq!(facade.stats().timed_out, 1);
    script.open();
}
