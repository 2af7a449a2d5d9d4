use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;

use leasehold::BackendError;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process_group};

use super::engine::Engine;
use super::error::{corrupt, failed};
use super::host::Reckoned;
use super::proc::{self, Stat};
use super::record::{ProcessId, Record};
use super::spawn;

/// Every process that belongs to one instance, wherever it went: those in its group and in the groups of its commands,
/// those that were started with its marker (or show no variables at all and work in its directory), and their children.
///
/// What can be shown to be its own is *ours*. A process in a group of that number, whose leader is gone and which shows
/// no marker, is *doubtful*: its number may have been given out again. It is not touched, and while it is there nobody
/// may say that the instance is gone.
#[derive(Clone, Debug, Default)]
pub(super) struct Members {
    /// Each with the number of the group it is in.
    ours: BTreeMap<ProcessId, i32>,
    /// Groups that are surely the instance's, by number.
    groups: BTreeSet<i32>,
    doubtful: BTreeSet<ProcessId>,
}

impl Members {
    /// All there are now.
    pub(super) fn find(engine: &Engine, record: &Record) -> Result<Self, BackendError> {
        Self::find_again(engine, record, &Self::default())
    }

    /// All there are now; those found `before` that still run are known to be the instance's, whatever became of their
    /// group's leader.
    pub(super) fn find_again(engine: &Engine, record: &Record, before: &Self) -> Result<Self, BackendError> {
        if let Reckoned::AnotherBoot = engine.host.reckon(&record.birthplace, record.created)? {
            return Ok(Self::default());
        }
        let leaders = leaders(engine, record)?;
        let (marker, of) = (spawn::marker(&record.name), engine.place.of(&record.name));
        let all = proc::all()?;
        let mut found = Self::default();
        for stat in all.iter().filter(|stat| !stat.has_ended()) {
            let known = before.ours.contains_key(&stat.process) || leaders.contains(&stat.process);
            if known || proc::shows(stat.process, &marker, &of)? {
                found.ours.insert(stat.process, stat.group);
            }
        }
        found.spread(&all, &leaders);
        found.doubt(&all, &leaders);
        Ok(found)
    }

    /// What is in a group that is the instance's is the instance's, and so is what its processes started.
    fn spread(&mut self, all: &[Stat], leaders: &BTreeSet<ProcessId>) {
        let numbers: BTreeSet<i32> = leaders.iter().map(|leader| leader.pid).collect();
        // A leader that has ended and was not reaped yet still keeps its group's number.
        let kept = all.iter().filter(|stat| leaders.contains(&stat.process));
        self.groups.extend(kept.map(|stat| stat.process.pid));
        loop {
            let size = (self.ours.len(), self.groups.len());
            let pids: BTreeSet<i32> = self.ours.keys().map(|process| process.pid).collect();
            for stat in all {
                if self.ours.contains_key(&stat.process) && numbers.contains(&stat.group) {
                    self.groups.insert(stat.group);
                }
                let belongs = self.groups.contains(&stat.group) || pids.contains(&stat.parent);
                if belongs && !stat.has_ended() {
                    self.ours.insert(stat.process, stat.group);
                }
            }
            if size == (self.ours.len(), self.groups.len()) {
                return;
            }
        }
    }

    fn doubt(&mut self, all: &[Stat], leaders: &BTreeSet<ProcessId>) {
        for leader in leaders.iter().filter(|leader| !self.groups.contains(&leader.pid)) {
            // Where somebody else has the leader's number, the whole group had ended before.
            if all.iter().any(|stat| stat.process.pid == leader.pid) {
                continue;
            }
            let left = all.iter().filter(|stat| stat.group == leader.pid && !stat.has_ended());
            self.doubtful.extend(left.map(|stat| stat.process));
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ours.is_empty() && self.doubtful.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = ProcessId> {
        self.ours.keys().copied()
    }

    /// Those that can't be shown to be the instance's.
    pub(super) fn doubtful(&self) -> impl Iterator<Item = i32> {
        self.doubtful.iter().map(|process| process.pid)
    }

    /// Sends `signal` to all that are surely the instance's: to whole groups at once, so that none can slip through by
    /// forking, and to each that left its group.
    pub(super) fn signal(&self, signal: Signal) -> Result<(), BackendError> {
        let mut refused = None;
        for group in self.groups.iter().filter_map(|group| Pid::from_raw(*group)) {
            match kill_process_group(group, signal) {
                Ok(()) | Err(Errno::SRCH) => {}
                Err(e) => {
                    refused = Some(failed("signal the group of", &super::proc::path(group.as_raw_pid()), e))
                }
            }
        }
        for (process, _) in self.ours.iter().filter(|(_, group)| !self.groups.contains(group)) {
            if let Err(e) = proc::signal(*process, signal) {
                refused = Some(e);
            }
        }
        refused.map_or(Ok(()), Err)
    }
}

/// The leaders of all groups that an instance was started as, and its commands.
fn leaders(engine: &Engine, record: &Record) -> Result<BTreeSet<ProcessId>, BackendError> {
    let mut leaders: BTreeSet<ProcessId> = record.process.into_iter().collect();
    let commands = engine.place.of(&record.name).join(spawn::COMMANDS);
    let entries = match fs::read_dir(&commands) {
        Ok(entries) => entries,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(leaders),
        Err(e) => return Err(failed("read", &commands, e)),
    };
    for entry in entries {
        let entry = entry.map_err(|e| failed("read", &commands, e))?;
        let file = entry.file_name();
        let parts = file.to_str().and_then(|name| name.split_once('-'));
        let process = parts.and_then(|(pid, start)| {
            Some(ProcessId { pid: pid.parse().ok().filter(|pid| *pid > 1)?, start: start.parse().ok()? })
        });
        leaders.insert(process.ok_or_else(|| corrupt("no command has this name", &entry.path()))?);
    }
    Ok(leaders)
}
