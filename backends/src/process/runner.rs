use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, ExitStatus};
use std::sync::Arc;
use std::time::Duration;

use leasehold::{BackendError, BackendErrorKind, BackendOperation, Command, Deadline, Exit, Output};
use rustix::event::{PollFd, PollFlags};

use super::engine::Engine;
use super::exec::{self, Shared, Slot};
use super::files;
use super::name::InstanceName;
use super::reaper;
use super::spawn;

/// The thread of one command: carries its input and output, and sees to its end.
pub(super) struct Runner {
    engine: Arc<Engine>,
    instance: InstanceName,
    child: Child,
    /// Readable once the child has ended, where the kernel can tell.
    ended: Option<OwnedFd>,
    stdin: Option<ChildStdin>,
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
    input: Vec<u8>,
    written: usize,
    timeout: Deadline,
    /// Why it was killed, if it was.
    cut: Option<Exit>,
    status: Option<io::Result<ExitStatus>>,
    /// How much was read since it ended, in bytes.
    late: usize,
    /// Where it is written down that its group is the sandbox's.
    path: PathBuf,
    shared: Arc<Shared>,
    _slot: Slot,
}

impl Runner {
    /// How much is read at once, in bytes.
    const CHUNK: usize = 16 << 10;
    /// More than a pipe holds, in bytes. What comes after that was written by something that outlived the command.
    const PIPE: usize = 1 << 20;
    /// How often a child is looked at on kernels that can't tell when one ends.
    const ROUND: Duration = Duration::from_millis(20);
    /// How often the thread looks around although nothing happened.
    const IDLE: Duration = Duration::from_secs(60);

    pub(super) fn new(
        engine: &Arc<Engine>,
        instance: &InstanceName,
        command: &Command,
        mut child: Child,
        path: PathBuf,
        shared: Arc<Shared>,
        slot: Slot,
    ) -> Self {
        Self {
            engine: Arc::clone(engine),
            instance: instance.clone(),
            ended: reaper::descriptor(&child),
            stdin: child.stdin.take(),
            stdout: child.stdout.take(),
            stderr: child.stderr.take(),
            child,
            input: command.input.clone(),
            written: 0,
            timeout: Deadline::after(command.timeout),
            cut: None,
            status: None,
            late: 0,
            path,
            shared,
            _slot: slot,
        }
    }

    pub(super) fn run(mut self) {
        let end = match self.never_wait() {
            Ok(()) => {
                while !self.turn() {}
                self.end()
            }
            Err(e) => {
                let text = "cannot carry its input and output, so it was killed";
                Err(BackendError::new(BackendErrorKind::Unavailable, text).with_source(e))
            }
        };
        let shared = Arc::clone(&self.shared);
        // Whoever is told of its end finds nothing of it any more.
        drop(self);
        shared.tell(|state| state.end = Some(end));
    }

    fn never_wait(&self) -> io::Result<()> {
        self.stdin.as_ref().map_or(Ok(()), exec::never_wait)?;
        self.stdout.as_ref().map_or(Ok(()), exec::never_wait)?;
        self.stderr.as_ref().map_or(Ok(()), exec::never_wait)
    }

    /// Does what can be done now and waits for more; yes when all is done.
    fn turn(&mut self) -> bool {
        let (kill, left, room) = {
            let state = self.shared.lock();
            (state.kill, state.left, self.shared.has_room(&state))
        };
        if self.status.is_none() {
            if kill || left {
                self.cut(Exit::Killed);
                self.shared.tell(|state| state.killed = true);
            } else if self.timeout.passed() {
                self.cut(Exit::TimedOut);
            }
            self.status = match self.child.try_wait() {
                Ok(None) => None,
                Ok(Some(status)) => Some(Ok(status)),
                Err(e) => Some(Err(e)),
            };
        }
        let has_ended = self.status.is_some();
        if has_ended {
            self.stdin = None;
            if left {
                return true;
            }
        }
        let moved = room && self.carry_output(has_ended);
        let drained = self.stdout.is_none() && self.stderr.is_none();
        // Whatever the command itself wrote is in the pipes by the time it has ended.
        if has_ended && (drained || self.late > Self::PIPE || (room && !moved)) {
            return true;
        }
        if !moved {
            self.wait(room);
            self.carry_input();
            reaper::silence(&self.shared.bell);
        }
        false
    }

    fn wait(&self, room: bool) {
        let mut watched = vec![PollFd::new(&self.shared.bell, PollFlags::IN)];
        let mut limit = Self::IDLE;
        if self.status.is_none() {
            match &self.ended {
                Some(ended) => watched.push(PollFd::new(ended, PollFlags::IN)),
                None => limit = Self::ROUND,
            }
            if self.cut.is_none() {
                limit = limit.min(self.timeout.left().unwrap_or_default());
            }
        }
        if let Some(stdin) = &self.stdin {
            watched.push(PollFd::new(stdin, PollFlags::OUT));
        }
        if room {
            watched.extend(self.stdout.as_ref().map(|stream| PollFd::new(stream, PollFlags::IN)));
            watched.extend(self.stderr.as_ref().map(|stream| PollFd::new(stream, PollFlags::IN)));
        }
        reaper::wait(&mut watched, limit);
    }

    fn carry_input(&mut self) {
        let Some(stdin) = &mut self.stdin else { return };
        match stdin.write(&self.input[self.written..]) {
            Ok(written) => self.written += written,
            Err(e) if is_passing(&e) => {}
            // It reads no more, which is its own affair.
            Err(_) => self.written = self.input.len(),
        }
        if self.written == self.input.len() {
            self.stdin = None;
            self.input = Vec::new();
        }
    }

    /// Reads once from each stream; yes when there was anything.
    fn carry_output(&mut self, late: bool) -> bool {
        let out = read_once(&mut self.stdout).map(|bytes| (bytes.len(), Output::Stdout(bytes)));
        let err = read_once(&mut self.stderr).map(|bytes| (bytes.len(), Output::Stderr(bytes)));
        let mut moved = false;
        for (bytes, output) in out.into_iter().chain(err) {
            moved = true;
            if late {
                self.late += bytes;
            }
            self.shared.say(output, bytes);
        }
        moved
    }

    /// Kills it with all that it started in its group. Until its status is taken, its number is its own.
    fn cut(&mut self, why: Exit) {
        if self.cut.is_none() && self.status.is_none() {
            self.cut = Some(why);
            spawn::kill_group(&self.child);
        }
    }

    fn end(&self) -> Result<Exit, BackendError> {
        let status = match &self.status {
            Some(Ok(status)) => status,
            Some(Err(_)) | None => {
                let text =
                    "how it ended can't be told, since another part of this process took its exit status";
                let error = BackendError::new(BackendErrorKind::Unavailable, text);
                return Err(error.during(BackendOperation::Exec).on(&self.instance.id()));
            }
        };
        Ok(match (status.code(), status.signal(), self.cut) {
            (Some(code), _, _) => Exit::Code(code),
            (None, _, Some(cut)) => cut,
            (None, _, None) if self.was_stopped() => Exit::Killed,
            (None, signal, None) => Exit::Signal(signal.unwrap_or_default()),
        })
    }

    /// Whether its sandbox was stopped, so that its end is no doing of its own.
    fn was_stopped(&self) -> bool {
        match self.engine.place.find(&self.instance) {
            Ok(found) => found.is_none_or(|kept| kept.record.stopping),
            Err(_) => false,
        }
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        if self.status.is_none() {
            spawn::kill_group(&self.child);
            // It was killed, so this ends at once.
            let _ = self.child.wait();
        }
        // What it left running in its group is still the sandbox's, and stays written down as such.
        if i32::try_from(self.child.id()).is_ok_and(exec::group_has_ended) {
            let _ = files::remove(&self.path);
        }
    }
}

/// What can be read now; the stream is closed at its end.
fn read_once(stream: &mut Option<impl Read>) -> Option<Vec<u8>> {
    let mut chunk = vec![0; Runner::CHUNK];
    match stream.as_mut()?.read(&mut chunk) {
        Ok(0) => *stream = None,
        Ok(read) => {
            chunk.truncate(read);
            return Some(chunk);
        }
        Err(e) if is_passing(&e) => {}
        Err(_) => *stream = None,
    }
    None
}

fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}
