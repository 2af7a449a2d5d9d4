//! What the gate costs, measured here and now: `cargo run --release -p leasehold-gate --example cost`.
//!
//! Each figure is the median of many batches, gated and not gated in turns, so that a busy machine disturbs both alike.

#![expect(clippy::print_stdout, reason = "a table on standard output is what it is for")]

use std::hint::black_box;
use std::net::UdpSocket;
use std::os::unix::process::parent_id;
use std::time::{Duration, Instant};

use leasehold_gate as gate;

const BATCHES: usize = 301;
const CALLS: u32 = 200;
/// As many violations as a poll keeps in full.
const KEPT: u32 = 24;

fn main() {
    if let gate::Status::Unavailable(why) = gate::status() {
        println!("not run: {why}");
        return;
    }
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    socket.set_nonblocking(true).expect("a socket takes the flag");

    println!("| what | not gated | gated |");
    println!("| --- | --- | --- |");
    row("a benign call (`getppid`)", CALLS, || {
        black_box(parent_id());
    });
    row("a call judged by its descriptor (`recvfrom`, non-blocking)", CALLS, || {
        drop(black_box(socket.recv_from(&mut [0; 1])));
    });
    row("a violation, backtrace and all (`statx`)", KEPT, || drop(black_box(std::fs::metadata("/"))));
    poll_row();
}

/// One call, by itself and within a closure under the gate.
fn row(what: &str, calls: u32, call: impl Fn()) {
    let many = || (0..calls).for_each(|_| call());
    let (mut bare, mut gated) = (Vec::new(), Vec::new());
    for _ in 0..BATCHES {
        bare.push(time(many));
        gated.push(gate::during(|| time(many)).0);
    }
    println!("| {what} | {} | {} |", show(median(bare) / calls), show(median(gated) / calls));
}

/// One poll that does nothing, by itself and under the gate.
fn poll_row() {
    const POLLS: u32 = 100;
    let (mut bare, mut gated) = (Vec::new(), Vec::new());
    for _ in 0..BATCHES {
        bare.push(time(|| poll_times(POLLS, std::future::pending::<()>())));
        let settings = gate::Settings::new().gate_cancelled_drops(false);
        let future = settings.strict(std::future::pending::<()>());
        gated.push(time(|| poll_times(POLLS, future)));
    }
    println!(
        "| a poll that makes no call | {} | {} |",
        show(median(bare) / POLLS),
        show(median(gated) / POLLS)
    );
}

fn poll_times(times: u32, future: impl Future) {
    let mut future = std::pin::pin!(future);
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    for _ in 0..times {
        assert!(black_box(future.as_mut().poll(&mut context)).is_pending());
    }
}

#[expect(clippy::disallowed_methods, reason = "real time is what is measured")]
fn time(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn show(time: Duration) -> String {
    format!("{:.2} µs", time.as_secs_f64() * 1e6)
}
