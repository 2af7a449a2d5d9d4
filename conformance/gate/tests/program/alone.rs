//! A test in a process of its own.

use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, ExitStatus};

const MARK: &str = "LEASEHOLD_GATE_TEST_ALONE";

/// Runs this test again in a child process, where `body` runs, and wants it to succeed there. `name` is the test's path.
#[track_caller]
pub(crate) fn alone(name: &str, body: impl FnOnce()) {
    if let Some((status, output)) = child(name, body) {
        assert!(status.success(), "{name} ended with {status}:\n{output}");
    }
}

/// The same for a body that has to say something, once.
#[track_caller]
pub(crate) fn alone_and_saying(text: &str, name: &str, body: impl FnOnce()) {
    if let Some((status, output)) = child(name, body) {
        assert!(status.success(), "{name} ended with {status}:\n{output}");
        assert_eq!(output.matches(text).count(), 1, "`{text}` in the output of {name}:\n{output}");
    }
}

/// The same for a body that must end its process by a signal.
#[track_caller]
pub(crate) fn alone_and_killed_by(signal: i32, name: &str, body: impl FnOnce()) {
    if let Some((status, output)) = child(name, body) {
        assert_eq!(status.signal(), Some(signal), "{name} ended with {status}:\n{output}");
    }
}

fn child(name: &str, body: impl FnOnce()) -> Option<(ExitStatus, String)> {
    if std::env::var_os(MARK).is_some_and(|mark| mark == *name) {
        body();
        return None;
    }
    if !leasehold_gate::status().is_available() {
        // Says so, or panics where the gate is required.
        leasehold_gate::during(|| ());
        return None;
    }
    let output = Command::new(std::env::current_exe().expect("a test knows its own file"))
        .args([name, "--exact", "--nocapture", "--test-threads=1"])
        .env(MARK, name)
        .env("RUST_BACKTRACE", "1")
        .output()
        .expect("a test can start itself");
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    assert!(text.contains("running 1 test"), "{name} is no test's path:\n{text}");
    Some((output.status, text))
}

/// The names of what was seen.
pub(crate) fn calls(violations: &[leasehold_gate::Violation]) -> Vec<&str> {
    violations.iter().map(leasehold_gate::Violation::call).collect()
}
