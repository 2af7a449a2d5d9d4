use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use leasehold::{BootClock, Deadline, SandboxId};

use super::Mix;
use crate::case::Stop;
use crate::checker::{Checked, Timing, check};
use crate::children::{Again, Child};
use crate::history::{Event, Order, Recorder};
use crate::kit::Store;
use crate::{Harness, Namespace};

/// Several processes, each with several threads, do everything at once to a few sandboxes of one namespace.
#[derive(Clone, Debug)]
pub struct Hammer {
    /// How many processes.
    pub processes: usize,
    /// How many threads in each; they share one handle, and so one owner.
    pub threads: usize,
    /// For how long.
    pub lasts: Duration,
    /// What chance goes by.
    pub seed: u64,
}

/// What a hammering came to.
#[derive(Debug)]
pub struct Hammered {
    /// How many calls were made; those about many sandboxes count for each.
    pub calls: usize,
    /// What the checker says of them.
    pub checked: Checked,
    /// How long the checker took.
    pub checking: Duration,
}

impl fmt::Display for Hammered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rate = self.calls as f64 / self.checking.as_secs_f64().max(1e-9);
        write!(
            f,
            "{} calls, {}; checked in {:.1?} ({rate:.0} a second)",
            self.calls, self.checked, self.checking
        )
    }
}

impl Hammer {
    /// The sandboxes; two of them differ in the case of their letters alone.
    const IDS: [&'static str; 3] = ["sbx-1", "SBX-1", "sbx-2"];
    /// The TTLs of the processes, in turn: some leases run out under the hammer, others would outlive it.
    const TTLS: [u64; 4] = [5, 60_000, 40, 1_000];
    /// How much longer than its time a process may take.
    const GRACE: Duration = Duration::from_secs(60);

    /// Hammers `namespace`, which has to be a fresh one of `harness`, and checks what was recorded.
    ///
    /// # Errors
    /// [`Stop::NotApplicable`] for a namespace without an address, [`Stop::Harness`] when a child or a file fails.
    pub fn run(
        &self,
        harness: &dyn Harness,
        namespace: &dyn Namespace,
        again: &Again,
    ) -> Result<Hammered, Stop> {
        let address =
            namespace.address().ok_or_else(|| Stop::not_applicable("no other process gets there"))?;
        let dir = Scratch::new()?;
        let mut children = Vec::new();
        for n in 0..self.processes {
            let mut child = Child::start(again, harness)?;
            child.open(
                &address,
                &format!("gw-{n}"),
                Duration::from_millis(Self::TTLS[n % Self::TTLS.len()]),
            )?;
            children.push(child);
        }
        for (n, child) in children.iter_mut().enumerate() {
            let share = Share {
                threads: self.threads,
                lasts: self.lasts,
                seed: self.seed.wrapping_mul(1_000_003).wrapping_add((n * self.threads) as u64),
                files: dir.0.join(format!("history-{n}")),
            };
            child.tell(&share.to_line())?;
        }
        for child in &mut children {
            child.hear_within(self.lasts + Self::GRACE)?;
        }
        let mut history = Vec::new();
        for n in 0..self.processes {
            for thread in 0..self.threads {
                read(&dir.0.join(format!("history-{n}-{thread}")), &mut history)?;
            }
        }
        let timing = if harness.capabilities().virtual_time {
            Timing::Ours
        } else {
            let quantum = children[0].quantum();
            Timing::server(quantum)
        };
        let calls = history.len();
        let since = Deadline::after(Duration::ZERO);
        let checked = check(history, timing);
        Ok(Hammered { calls, checked, checking: since.elapsed() })
    }
}

/// What one process of a hammering does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Share {
    threads: usize,
    lasts: Duration,
    seed: u64,
    /// Each thread writes its history to the file of this name, a dash and its number.
    files: PathBuf,
}

impl Share {
    pub(crate) const WORD: &'static str = "hammer";

    fn to_line(&self) -> String {
        let Self { threads, lasts, seed, files } = self;
        format!("{}\t{threads}\t{}\t{seed}\t{}", Self::WORD, lasts.as_millis(), files.display())
    }

    /// Reads what follows the word.
    pub(crate) fn parse(words: &[&str]) -> Option<Self> {
        let [threads, lasts, seed, files] = words else { return None };
        Some(Self {
            threads: threads.parse().ok()?,
            lasts: Duration::from_millis(lasts.parse().ok()?),
            seed: seed.parse().ok()?,
            files: files.into(),
        })
    }

    /// Does it, and says how many calls were made.
    pub(crate) fn run(&self, store: &Store, clock: BootClock) -> io::Result<usize> {
        let ids: Vec<SandboxId> =
            Hammer::IDS.iter().map(|id| id.parse().expect("the kit's own ids are valid")).collect();
        thread::scope(|scope| {
            let threads: Vec<_> = (0..self.threads)
                .map(|n| {
                    let ids = &ids;
                    scope.spawn(move || self.one(n, store, clock, ids))
                })
                .collect();
            threads
                .into_iter()
                .map(|one| one.join().map_err(|_| io::Error::other("a thread panicked"))?)
                .sum()
        })
    }

    fn one(&self, n: usize, store: &Store, clock: BootClock, ids: &[SandboxId]) -> io::Result<usize> {
        let mut file = BufWriter::new(File::create(format!("{}-{n}", self.files.display()))?);
        let (mut calls, mut failed) = (0, None);
        let mut write = |event: Event| {
            calls += 1;
            if let Err(error) = writeln!(file, "{event}") {
                failed = Some(error);
            }
        };
        let mut recorder = Recorder::new(&**store, &clock, Order::Timed, &mut write);
        let mut mix = Mix::new(ids, self.seed.wrapping_add(n as u64));
        let deadline = Deadline::after(self.lasts);
        while !deadline.passed() {
            mix.ask(&mut recorder);
        }
        file.flush()?;
        failed.map_or(Ok(calls), Err)
    }
}

fn read(path: &Path, history: &mut Vec<Event>) -> Result<(), Stop> {
    let broken = |what: &dyn std::fmt::Display| Stop::Harness(format!("{}: {what}", path.display()));
    let file = File::open(path).map_err(|e| broken(&e))?;
    for line in BufReader::new(file).lines() {
        let line = line.map_err(|e| broken(&e))?;
        history.push(line.parse().map_err(|e: crate::history::Unreadable| broken(&e))?);
    }
    Ok(())
}

/// A directory that goes when this value goes.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Result<Self, Stop> {
        let name = format!("leasehold-hammer-{}", leasehold::OwnerId::generate().as_str().replace(':', "-"));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir(&path).map_err(|e| Stop::Harness(format!("{}: {e}", path.display())))?;
        Ok(Self(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What can't be removed lies in the system's temporary directory.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
