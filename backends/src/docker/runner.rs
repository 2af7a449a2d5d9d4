//! The task that looks after one command: passes on what it says, and sees to its end.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bollard::container::LogOutput;
use bollard::errors::Error;
use futures_util::{Stream, StreamExt};
use leasehold::{BackendError, BackendErrorKind, Condition, Deadline, Exit, InstanceId, Output};
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::{OwnedSemaphorePermit, mpsc, watch};

use super::engine::Engine;
use super::error::failed;
use super::exec;

/// How long nothing has to be said before the engine is asked whether the command has ended: what it started may hold its
/// output open.
const SILENCE: Duration = Duration::from_millis(500);
/// The longest of those waits; they double.
const LONG_SILENCE: Duration = Duration::from_secs(8);
/// How long the rest of what it said has to arrive once it has ended.
const DRAIN: Duration = Duration::from_millis(250);
/// The pauses between two looks whether the engine has noticed its end.
const NOTICE: Duration = Duration::from_millis(20);
/// How long the engine has to notice that a sandbox has ended, whose commands end a moment before it.
const END: Duration = Duration::from_secs(1);
/// As much of what is said as is passed on at once, in bytes.
pub(super) const PIECE: usize = 32 << 10;

/// A command that the engine runs, and the way to it.
pub(super) struct Attached {
    pub(super) exec: String,
    pub(super) output: Pin<Box<dyn Stream<Item = Result<LogOutput, Error>> + Send>>,
    pub(super) input: Option<Pin<Box<dyn AsyncWrite + Send>>>,
    /// The number that it has in its sandbox.
    pub(super) pid: Option<u32>,
}

pub(super) struct Runner {
    pub(super) engine: Arc<Engine>,
    pub(super) instance: InstanceId,
    pub(super) attached: Attached,
    pub(super) input: Vec<u8>,
    pub(super) tell: mpsc::Sender<Result<Output, BackendError>>,
    /// Somebody asked for its end.
    pub(super) asked: watch::Receiver<bool>,
    /// How that went.
    pub(super) told: watch::Sender<Option<Result<(), BackendError>>>,
    pub(super) _permit: OwnedSemaphorePermit,
}

/// What became of passing on what it says.
enum Passed {
    /// It has ended.
    Ended,
    /// Its time is over.
    Late,
    /// Somebody asked for its end.
    Asked,
    /// Nobody listens any more.
    Left,
    /// The connection broke.
    Broken(BackendError),
}

impl Runner {
    pub(super) async fn run(mut self, time: Duration, early: Vec<Output>) {
        let end = match self.pass_on(time, early).await {
            Passed::Ended => self.exit(None).await,
            Passed::Late => self.finish(Exit::TimedOut).await,
            Passed::Asked => self.finish(Exit::Killed).await,
            Passed::Left => {
                if let Err(error) = self.kill().await {
                    tracing::warn!(instance = %self.instance, %error, "a command that nobody waits for runs on");
                }
                return;
            }
            Passed::Broken(error) => self.broken(error).await,
        };
        // Whoever asked for its end and came too late has what they wanted.
        self.told.send_if_modified(|told| told.is_none().then(|| *told = Some(Ok(()))).is_some());
        let _ = self.tell.send(end.map(Output::Exited)).await;
    }

    /// Passes on what it says until something else is to be done.
    async fn pass_on(&mut self, time: Duration, early: Vec<Output>) -> Passed {
        let Self { engine, attached, input, tell, asked, .. } = self;
        let over = tokio::time::sleep(time);
        let feed = feed(attached.input.take(), std::mem::take(input));
        tokio::pin!(over, feed);
        let (mut fed, mut silence) = (false, SILENCE);
        let mut waiting: std::collections::VecDeque<Output> = early.into();
        loop {
            if let Some(output) = waiting.pop_front() {
                let room = tokio::select! {
                    biased;
                    () = wanted(asked) => return Passed::Asked,
                    () = &mut over => return Passed::Late,
                    () = &mut feed, if !fed => { fed = true; waiting.push_front(output); continue }
                    room = tell.reserve() => room,
                };
                match room {
                    Ok(room) => room.send(Ok(output)),
                    Err(_) => return Passed::Left,
                }
                continue;
            }
            let piece = tokio::select! {
                biased;
                () = wanted(asked) => return Passed::Asked,
                () = tell.closed() => return Passed::Left,
                () = &mut over => return Passed::Late,
                () = &mut feed, if !fed => { fed = true; continue }
                piece = attached.output.next() => piece,
                () = tokio::time::sleep(silence) => {
                    silence = (silence * 2).min(LONG_SILENCE);
                    if !has_ended(engine, &attached.exec).await { continue }
                    // What is still on its way.
                    while let Ok(Some(Ok(piece))) = tokio::time::timeout(DRAIN, attached.output.next()).await {
                        for piece in pieces(piece) { if tell.send(Ok(piece)).await.is_err() { return Passed::Left } }
                    }
                    return Passed::Ended;
                }
            };
            match piece {
                Some(Ok(piece)) => {
                    silence = SILENCE;
                    waiting.extend(pieces(piece));
                }
                Some(Err(error)) => return Passed::Broken(failed(error)),
                None => return Passed::Ended,
            }
        }
    }

    /// Kills it and waits for its end, which is then `exit`.
    async fn finish(&mut self, exit: Exit) -> Result<Exit, BackendError> {
        let killed = self.kill().await;
        self.told.send_replace(Some(killed.clone()));
        killed?;
        self.exit(Some(exit)).await
    }

    async fn kill(&mut self) -> Result<(), BackendError> {
        // An engine waits with a command's end, and with all questions about its sandbox, until its output was read.
        self.attached.output = Box::pin(futures_util::stream::empty());
        match self.attached.pid {
            Some(pid) => exec::kill(&self.engine, &self.instance, pid).await,
            None => Err(exec::no_shell()),
        }
    }

    /// How it ended; `killed` is what that is called if it was our doing.
    async fn exit(&mut self, killed: Option<Exit>) -> Result<Exit, BackendError> {
        let deadline = Deadline::after(self.engine.config.deadline);
        loop {
            let question = self.engine.docker.inspect_exec(&self.attached.exec);
            match self.engine.ask(Duration::ZERO, question).await {
                Ok(answer) if answer.running == Some(false) => {
                    if let Some(exit) = killed {
                        return Ok(exit);
                    }
                    let code = answer.exit_code.and_then(|code| i32::try_from(code).ok());
                    return match code {
                        // It may be that its sandbox was stopped, and it with it.
                        Some(137) | None if self.sandbox_ends().await? => Ok(Exit::Killed),
                        Some(code) => Ok(Exit::Code(code)),
                        None => Err(super::error::unclear("exit code")),
                    };
                }
                Ok(_) => {}
                // The engine forgets commands together with their containers.
                Err(_) if self.sandbox_has_ended().await? => return Ok(killed.unwrap_or(Exit::Killed)),
                Err(refusal) => return Err(refusal.into()),
            }
            if deadline.passed() {
                let text =
                    format!("the engine says after {:?} that the command runs still", deadline.allowed());
                return Err(BackendError::new(BackendErrorKind::Timeout, text));
            }
            tokio::time::sleep(NOTICE).await;
        }
    }

    /// What became of it when the connection broke: that may have been its sandbox's end.
    async fn broken(&mut self, error: BackendError) -> Result<Exit, BackendError> {
        match self.sandbox_has_ended().await {
            Ok(true) => Ok(Exit::Killed),
            _ => Err(error),
        }
    }

    /// Whether its sandbox ends within a moment.
    async fn sandbox_ends(&mut self) -> Result<bool, BackendError> {
        let deadline = Deadline::after(END);
        while !self.sandbox_has_ended().await? {
            if deadline.passed() {
                return Ok(false);
            }
            tokio::time::sleep(NOTICE).await;
        }
        Ok(true)
    }

    async fn sandbox_has_ended(&mut self) -> Result<bool, BackendError> {
        let seen = self.engine.sandbox(&self.instance).await?;
        Ok(seen.is_none_or(|info| matches!(info.condition, Condition::Ended(_))))
    }
}

/// Until somebody asks for the command's end; for ever where nobody is left to.
async fn wanted(asked: &mut watch::Receiver<bool>) {
    if asked.wait_for(|asked| *asked).await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// Writes what the command reads, and says that there is no more. One that does not read it all is none the worse.
async fn feed(input: Option<Pin<Box<dyn AsyncWrite + Send>>>, bytes: Vec<u8>) {
    if let Some(mut input) = input
        && input.write_all(&bytes).await.is_ok()
    {
        let _ = input.shutdown().await;
    }
}

async fn has_ended(engine: &Engine, exec: &str) -> bool {
    let answer = engine.ask(Duration::ZERO, engine.docker.inspect_exec(exec)).await;
    // What can't be told is asked again.
    answer.is_ok_and(|answer| answer.running == Some(false))
}

/// What was said, in pieces of which a bounded number waits.
fn pieces(said: LogOutput) -> impl Iterator<Item = Output> {
    let is_error = matches!(said, LogOutput::StdErr { .. });
    let bytes = said.into_bytes();
    let cut: Vec<_> = bytes.chunks(PIECE).map(<[u8]>::to_vec).collect();
    cut.into_iter().map(move |piece| if is_error { Output::Stderr(piece) } else { Output::Stdout(piece) })
}
