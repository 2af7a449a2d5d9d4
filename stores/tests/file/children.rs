//! Child processes: this test binary again, at an entry that does what its standard input says.

use std::fs::File;
use std::io::{BufRead, BufReader, Lines, Write, stdin, stdout};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;

use leasehold::{BootClock, OwnershipStore, Phase, ReleaseOutcome, StoreError};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::support::{destroy, every_operation, id, open, take};

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
        Self::start_as(None).unwrap()
    }

    /// As another user, which only root can do.
    pub(crate) fn start_as(user: Option<u32>) -> std::io::Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command
            .args(["children::entry", "--exact", "--ignored", "--nocapture", "--test-threads=1"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit());
        if let Some(user) = user {
            command.uid(user).gid(user);
        }
        let mut child = command.spawn()?;
        let input = child.stdin.take().expect("it was asked for");
        let output = BufReader::new(child.stdout.take().expect("it was asked for")).lines();
        Ok(Self { child, input, output })
    }

    pub(crate) fn tell(&mut self, line: &str) {
        writeln!(self.input, "{line}").unwrap();
    }

    /// The next line that the child meant for us; `None` when it is gone.
    pub(crate) fn hear(&mut self) -> Option<String> {
        let next = self.output.by_ref().map_while(Result::ok);
        next.filter_map(|line| Some(line.split_once(MARK)?.1.to_owned())).next()
    }

    /// Tells it one line and hears one.
    pub(crate) fn ask(&mut self, line: &str) -> String {
        self.tell(line);
        self.hear().expect("the child answers")
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
            ("hammer", path) => hammer(path),
            ("without-handles", path) => say(without_handles(path)),
            ("with-a-full-disk", path) => say(with_a_full_disk(path)),
            other => panic!("{other:?}"),
        }
    }
}

fn store(path: &str) -> Result<Box<dyn OwnershipStore>, StoreError> {
    let owner = format!("gw-{}", std::process::id());
    open(&format!("file:{path}"), &owner, Arc::new(BootClock::new().unwrap()))
}

fn open_and_take(path: &str) -> String {
    match store(path).and_then(|store| store.take(&id("sbx-1"))) {
        Ok(_) => "ok".to_owned(),
        Err(error) => format!("{error:?}"),
    }
}

/// Changes three ids for ever and says each change before and after: `start <id>`, then `held <id> <fence>`,
/// `teardown <id> <fence>` or `absent <id>`.
fn hammer(path: &str) {
    say("opening");
    let store = store(path).unwrap();
    let mut turn = std::process::id() as usize;
    loop {
        turn = turn.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let name = format!("sbx-{}", (turn >> 33) % 3);
        let sandbox = id(&name);
        say(format_args!("start {name}"));
        let at = store.inspect(&sandbox).unwrap();
        match at.map(|lease| lease.phase) {
            Some(Phase::Teardown) => release(&*store, &name),
            Some(Phase::Held) if (turn >> 40).is_multiple_of(3) => release(&*store, &name),
            Some(Phase::Held) if (turn >> 40) % 3 == 1 => {
                // A peer's can't be destroyed; it is taken first.
                take(&*store, &sandbox);
                say(format_args!("teardown {name} {}", destroy(&*store, &sandbox).fence));
            }
            _ => say(format_args!("held {name} {}", take(&*store, &sandbox).fence)),
        }
    }
}

fn release(store: &dyn OwnershipStore, name: &str) {
    match store.release(&id(name)).unwrap() {
        ReleaseOutcome::Released => say(format_args!("absent {name}")),
        ReleaseOutcome::NotHeld => say(format_args!("held {name} {}", take(store, &id(name)).fence)),
    }
}

/// The kinds of error while no file can be opened, each once; then what happens when one can be again.
fn without_handles(path: &str) -> String {
    let store = store(path).unwrap();
    take(&*store, &id("there"));
    // The next descriptor is beyond the limit.
    let next = File::open("/dev/null").unwrap().as_raw_fd() as u64;
    let limits = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: Some(next), ..limits }).unwrap();
    let mut errors: Vec<_> = ["there", "absent"]
        .iter()
        .flat_map(|name| every_operation(&*store, &id(name)))
        .map(|(_, error)| error.map_or("an answer".to_owned(), |error| error.kind().to_string()))
        .collect();
    setrlimit(Resource::Nofile, limits).unwrap();
    errors.sort();
    errors.dedup();
    format!(
        "{}, then {}",
        errors.join(" "),
        every_operation(&*store, &id("there")).iter().all(|(_, e)| e.is_none())
    )
}

/// The same with files of at most 100 bytes: what a disk looks like that fills up in the middle of a write.
fn with_a_full_disk(path: &str) -> String {
    let store = store(path).unwrap();
    let (there, absent) = (id("there"), id("absent"));
    let fence = take(&*store, &there).fence;
    let limits = getrlimit(Resource::Fsize);
    setrlimit(Resource::Fsize, Rlimit { current: Some(100), ..limits }).unwrap();
    let errors: Vec<_> = [store.take(&there).err(), store.take(&absent).err()]
        .into_iter()
        .map(|error| error.map_or("an answer".to_owned(), |error| error.kind().to_string()))
        .collect();
    setrlimit(Resource::Fsize, limits).unwrap();
    let kept = store.inspect(&there).unwrap().and_then(|lease| lease.fence) == Some(fence);
    let empty = store.inspect(&absent).unwrap().is_none();
    format!("{}, kept {kept}, absent {empty}", errors.join(" "))
}
