//! What these tests share.

use std::fs;

use leasehold_gate as gate;

/// Without the gate its own tests are not run, and say so.
macro_rules! needs_the_gate {
    () => {
        if !gate::status().is_available() {
            gate::during(|| ());
            return;
        }
    };
}

pub(crate) fn message(panic: Box<dyn std::any::Any + Send>) -> String {
    match panic.downcast::<String>() {
        Ok(text) => *text,
        Err(panic) => (*panic.downcast::<&str>().expect("a panic with a message")).to_owned(),
    }
}

pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime").block_on(future)
}

pub(crate) fn calls(violations: &[gate::Violation]) -> Vec<&str> {
    violations.iter().map(gate::Violation::call).collect()
}

/// A function whose name a backtrace has to show.
#[inline(never)]
pub(crate) fn reads_a_file() -> usize {
    let length = fs::read("/etc/hostname").map_or(0, |bytes| bytes.len());
    std::hint::black_box(length)
}

pub(crate) use needs_the_gate;
