use std::collections::VecDeque;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{self, Stdio};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use leasehold::{BackendError, BackendErrorKind, BackendOperation, Command, Execution, Exit, Output};
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process_group};
use tokio::sync::Notify;

use super::engine::{Engine, Step, missing};
use super::error::failed;
use super::files;
use super::life::Life;
use super::name::InstanceName;
use super::proc;
use super::reaper;
use super::runner::Runner;
use super::spawn;
use super::threads;
use crate::environment::check_environment;

/// A command that runs in a sandbox, looked after by a thread of its own.
#[derive(Debug)]
pub(super) struct ProcessExecution {
    pub(super) shared: Arc<Shared>,
}

/// What the command's thread and whoever reads it share.
#[derive(Debug)]
pub(super) struct Shared {
    state: Mutex<State>,
    /// Wakes the thread.
    pub(super) bell: OwnedFd,
    /// Wakes the reader.
    news: Notify,
    /// How much output is kept, in bytes.
    limit: usize,
}

#[derive(Debug, Default)]
pub(super) struct State {
    said: VecDeque<Output>,
    /// Of what was said, in bytes.
    bytes: usize,
    pub(super) end: Option<Result<Exit, BackendError>>,
    /// Somebody asked for its end.
    pub(super) kill: bool,
    /// Nobody will read it any more.
    pub(super) left: bool,
    /// The kill was sent.
    pub(super) killed: bool,
}

/// One of the commands that may run at once, given back when this value goes.
pub(super) struct Slot(Arc<Engine>);

impl Shared {
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether there is room for more output.
    pub(super) fn has_room(&self, state: &State) -> bool {
        state.bytes < self.limit
    }

    pub(super) fn say(&self, output: Output, bytes: usize) {
        let mut state = self.lock();
        state.bytes += bytes;
        state.said.push_back(output);
        drop(state);
        self.news.notify_one();
    }

    pub(super) fn tell(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.lock());
        self.news.notify_one();
    }
}

#[async_trait]
impl Execution for ProcessExecution {
    async fn next(&mut self) -> Result<Output, BackendError> {
        loop {
            let news = self.shared.news.notified();
            {
                let mut state = self.shared.lock();
                if let Some(output) = state.said.pop_front() {
                    let was_full = !self.shared.has_room(&state);
                    if let Output::Stdout(bytes) | Output::Stderr(bytes) = &output {
                        state.bytes -= bytes.len();
                    }
                    let wake = was_full && self.shared.has_room(&state);
                    drop(state);
                    if wake {
                        reaper::ring(&self.shared.bell);
                    }
                    return Ok(output);
                }
                if let Some(end) = &state.end {
                    return end.clone().map(Output::Exited);
                }
            }
            news.await;
        }
    }

    async fn kill(&mut self) -> Result<(), BackendError> {
        self.shared.lock().kill = true;
        reaper::ring(&self.shared.bell);
        loop {
            let news = self.shared.news.notified();
            {
                let state = self.shared.lock();
                if state.killed || state.end.is_some() {
                    return Ok(());
                }
            }
            news.await;
        }
    }
}

impl Drop for ProcessExecution {
    fn drop(&mut self) {
        self.shared.lock().left = true;
        reaper::ring(&self.shared.bell);
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.commands.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Starts a command under the lock of the sandbox's id, so that no stop can overlook it.
///
/// It leads a group of its own, so that killing it takes along what it started and leaves the sandbox alone. Which group
/// that is, is written down, and it has the sandbox's marker besides: whoever stops the sandbox finds it.
pub(super) fn start(
    engine: &Arc<Engine>,
    instance: &InstanceName,
    command: &Command,
) -> Result<Step<ProcessExecution>, BackendError> {
    check_environment(&command.environment)
        .map_err(|why| BackendError::new(BackendErrorKind::Invalid, why))?;
    let slot = slot(engine)?;
    let (_lock, kept) = match engine.locked(instance)? {
        Step::Busy => return Ok(Step::Busy),
        Step::Done(None) => return Err(missing(instance, "it was destroyed")),
        Step::Done(Some(locked)) => locked,
    };
    if kept.record.stopping {
        return Err(missing(instance, "it is being stopped"));
    }
    match Life::settled(engine, &kept.record)? {
        Life::Running(_) => {}
        Life::Paused(_) => {
            let text = "it is paused by a signal; continue it first";
            return Err(BackendError::new(BackendErrorKind::Unavailable, text));
        }
        Life::Starting | Life::Removed => return Err(missing(instance, "it is being changed")),
        Life::Ended(why) => return Err(missing(instance, why)),
    }
    let commands = engine.place.of(instance).join(spawn::COMMANDS);
    forget_ended(&commands)?;
    let mut child = spawn(engine, instance, command)?;
    let written = spawn::process_of(&child).and_then(|process| {
        let path = commands.join(format!("{}-{}", process.pid, process.start));
        files::create(&path).map(|_| path)
    });
    let shared = reaper::bell().map(|bell| {
        Arc::new(Shared {
            state: Mutex::default(),
            bell,
            news: Notify::new(),
            limit: engine.config.output_buffer,
        })
    });
    let (path, shared) = match (written, shared) {
        (Ok(path), Ok(shared)) => (path, shared),
        (Err(error), _) | (_, Err(error)) => {
            spawn::kill_group(&child);
            let _ = child.wait();
            return Err(error);
        }
    };
    let execution = ProcessExecution { shared: Arc::clone(&shared) };
    let runner = Runner::new(engine, instance, command, child, path, shared, slot);
    // Where no thread can be had, the runner is dropped and kills the command.
    threads::start("sandbox-command".to_owned(), move || runner.run())?;
    Ok(Step::Done(execution))
}

fn slot(engine: &Arc<Engine>) -> Result<Slot, BackendError> {
    let limit = engine.config.max_commands;
    let more = |running: usize| (running < limit).then_some(running + 1);
    match engine.commands.fetch_update(Ordering::AcqRel, Ordering::Acquire, more) {
        Ok(_) => Ok(Slot(Arc::clone(engine))),
        Err(running) => {
            let text = format!("{running} commands run already; wait for one, or raise `max_commands`");
            Err(BackendError::new(BackendErrorKind::Full, text))
        }
    }
}

fn spawn(
    engine: &Engine,
    instance: &InstanceName,
    command: &Command,
) -> Result<process::Child, BackendError> {
    let work = engine.place.of(instance).join(spawn::WORK);
    let directory = command.directory.as_ref().map_or(work.clone(), |wanted| directory(&work, wanted));
    if !directory.is_dir() {
        let text = format!("there is no directory {} to start in", directory.display());
        return Err(BackendError::new(BackendErrorKind::Invalid, text));
    }
    let stdin = if command.input.is_empty() { Stdio::null() } else { Stdio::piped() };
    process::Command::new(&command.program)
        .args(&command.arguments)
        .env_clear()
        .envs(spawn::environment_of(engine, instance)?)
        .envs(&command.environment)
        .env(spawn::MARKER, instance.id().as_str())
        .current_dir(directory)
        .process_group(0)
        .stdin(stdin)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| spawn::cannot_start(&command.program, e).during(BackendOperation::Exec))
}

/// Where a command starts: what there is under that path in the work directory, as where a mount is shown, comes before
/// what the host has there.
fn directory(work: &Path, wanted: &Path) -> PathBuf {
    match wanted.strip_prefix("/") {
        Ok(within) if within != Path::new("") && work.join(within).is_dir() => work.join(within),
        _ => work.join(wanted),
    }
}

/// Removes what was written down of groups that have ended, such as those of gateways that died.
fn forget_ended(commands: &Path) -> Result<(), BackendError> {
    for entry in fs::read_dir(commands).map_err(|e| failed("read", commands, e))? {
        let entry = entry.map_err(|e| failed("read", commands, e))?;
        let name = entry.file_name();
        let pid = name.to_str().and_then(|name| name.split_once('-')?.0.parse::<i32>().ok());
        if let Some(pid) = pid
            && proc::look(pid)?.is_none()
            && group_has_ended(pid)
        {
            files::remove(&entry.path())?;
        }
    }
    Ok(())
}

/// Whether there is no process in the group any more, not even one that waits to be reaped.
pub(super) fn group_has_ended(group: i32) -> bool {
    Pid::from_raw(group).is_some_and(|group| test_kill_process_group(group) == Err(Errno::SRCH))
}

/// Makes reading and writing return at once, when there is nothing to read or no room to write.
pub(super) fn never_wait(stream: &impl std::os::fd::AsFd) -> io::Result<()> {
    Ok(rustix::io::ioctl_fionbio(stream, true)?)
}
