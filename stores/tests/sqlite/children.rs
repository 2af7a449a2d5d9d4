//! Child processes: this test binary again, at an entry that does what its standard input says.

use std::io::{BufRead, BufReader, Lines, Write, stdin, stdout};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;

use leasehold::{BootClock, Phase, ReleaseOutcome};

use crate::support::{destroy, id, open, take};

/// What a child writes before each line that is meant for its parent; the test harness writes lines too.
const MARK: &str = "#";

/// A child process, killed when it is dropped.
pub(crate) struct Worker {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

impl Worker {
    pub(crate) fn start() -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["children::entry", "--exact", "--ignored", "--nocapture", "--test-threads=1"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, input, output }
    }

    pub(crate) fn tell(&mut self, line: &str) {
        writeln!(self.input, "{line}").unwrap();
    }

    /// The next line that the child meant for us; `None` when it is gone.
    pub(crate) fn hear(&mut self) -> Option<String> {
        let next = self.output.by_ref().map_while(Result::ok);
        next.filter_map(|line| Some(line.split_once(MARK)?.1.to_owned())).next()
    }

    /// SIGKILL, at whatever point it is. What it said before can still be heard.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn say(line: impl std::fmt::Display) {
    let mut out = stdout().lock();
    writeln!(out, "{MARK}{line}").unwrap();
    out.flush().unwrap();
}

#[test]
#[ignore = "the entry of child processes"]
fn entry() {
    for line in stdin().lines().map_while(Result::ok) {
        match line.split_once(' ').unwrap() {
            ("open", path) => say(open_and_take(path)),
            ("hammer", rest) => hammer(rest),
            other => panic!("{other:?}"),
        }
    }
}

fn open_and_take(path: &str) -> String {
    let owner = format!("gw-{}", std::process::id());
    let opened = open(&format!("sqlite:{path}"), &owner, Arc::new(BootClock::new().unwrap()));
    match opened.and_then(|store| store.take(&id("sbx-1"))) {
        Ok(_) => "ok".to_owned(),
        Err(error) => format!("{error:?}"),
    }
}

/// Changes three ids for ever and says each change before and after: `start <id>`, then `held <id> <fence>`,
/// `teardown <id> <fence>` or `absent <id>`.
fn hammer(path: &str) {
    say("opening");
    let owner = format!("gw-{}", std::process::id());
    let store = open(&format!("sqlite:{path}"), &owner, Arc::new(BootClock::new().unwrap())).unwrap();
    let mut turn = std::process::id() as usize;
    loop {
        turn = turn.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let name = format!("sbx-{}", (turn >> 33) % 3);
        let sandbox = id(&name);
        say(format_args!("start {name}"));
        let lease = store.inspect(&sandbox).unwrap();
        let in_teardown = lease.as_ref().is_some_and(|lease| lease.phase == Phase::Teardown);
        let is_mine = lease.is_none_or(|lease| lease.owner == *store.owner());
        match (turn >> 40) % 4 {
            0 | 1 if !in_teardown => say(format_args!("held {name} {}", take(&*store, &sandbox).fence)),
            2 if is_mine => say(format_args!("teardown {name} {}", destroy(&*store, &sandbox).fence)),
            _ => {
                let released = store.release(&sandbox).unwrap();
                assert!(matches!(released, ReleaseOutcome::Released | ReleaseOutcome::NotHeld));
                if store.inspect(&sandbox).unwrap().is_none() {
                    say(format_args!("absent {name}"));
                }
            }
        }
    }
}
