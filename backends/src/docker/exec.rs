//! Commands in a sandbox.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bollard::container::LogOutput;
use bollard::exec::{CreateExecOptions, StartExecResults};
use futures_util::StreamExt;
use leasehold::{BackendError, BackendErrorKind, Command, Condition, Execution, Exit, InstanceId, Output};
use tokio::sync::{OwnedSemaphorePermit, mpsc, watch};

use super::engine::Engine;
use super::runner::{Attached, PIECE, Runner};
use crate::environment::check_environment;

/// Says the number that the command will have, as the first line of its output, and becomes the command.
const BECOME: &str =
    r#"if command -v "$1" >/dev/null 2>&1; then echo "$$"; exec "$@"; else echo none; exit 127; fi"#;
/// Kills the command and all it started: an engine starts it as the leader of a process group.
const KILL: &str = r#"kill -9 -- "-$1" 2>/dev/null || kill -9 "-$1" 2>/dev/null || kill -9 "$1""#;
/// The longest first line, in bytes; a number is shorter.
const FIRST_LINE: usize = 64;

/// A command that runs in a sandbox, looked after by a task of its own.
#[derive(Debug)]
pub(super) struct DockerExecution {
    said: mpsc::Receiver<Result<Output, BackendError>>,
    ask: watch::Sender<bool>,
    killed: watch::Receiver<Option<Result<(), BackendError>>>,
    end: Option<Result<Exit, BackendError>>,
}

#[async_trait]
impl Execution for DockerExecution {
    async fn next(&mut self) -> Result<Output, BackendError> {
        if let Some(end) = &self.end {
            return end.clone().map(Output::Exited);
        }
        let said = self.said.recv().await.unwrap_or_else(|| {
            let text = "the command is looked after no more; whether it runs is not known";
            Err(BackendError::new(BackendErrorKind::Unavailable, text))
        });
        match &said {
            Ok(Output::Exited(exit)) => self.end = Some(Ok(*exit)),
            Ok(_) => {}
            Err(error) => self.end = Some(Err(error.clone())),
        }
        said
    }

    async fn kill(&mut self) -> Result<(), BackendError> {
        if self.end.is_some() {
            return Ok(());
        }
        self.ask.send_replace(true);
        match self.killed.wait_for(Option::is_some).await {
            Ok(killed) => killed.clone().unwrap_or(Ok(())),
            // Its task has ended, and so has the command.
            Err(_) => Ok(()),
        }
    }
}

/// Starts a command and waits until the sandbox has begun with it.
pub(super) async fn start(
    engine: &Arc<Engine>,
    instance: &InstanceId,
    command: &Command,
) -> Result<DockerExecution, BackendError> {
    check_environment(&command.environment)
        .map_err(|why| BackendError::new(BackendErrorKind::Invalid, why))?;
    if command.program.is_empty() || words(command).any(|word| word.contains('\0')) {
        let text = "the program is empty, or a word of the command has a NUL byte";
        return Err(BackendError::new(BackendErrorKind::Invalid, text));
    }
    let permit = permit(engine)?;
    must_run(engine, instance).await?;
    let mut attached = attach(engine, instance, command).await?;
    let mut early = Vec::new();
    if engine.config.shell.is_some() {
        match first_line(engine, &mut attached, &mut early).await? {
            Some(pid) => attached.pid = Some(pid),
            None => return Err(not_begun(engine, instance, command, &early).await),
        }
    }
    let pieces = (engine.config.output_buffer / PIECE).max(1);
    let (tell, said) = mpsc::channel(pieces);
    let (ask, asked) = watch::channel(false);
    let (told, killed) = watch::channel(None);
    let runner = Runner {
        engine: Arc::clone(engine),
        instance: instance.clone(),
        attached,
        input: command.input.clone(),
        tell,
        asked,
        told,
        _permit: permit,
    };
    tokio::spawn(runner.run(command.timeout, early));
    Ok(DockerExecution { said, ask, killed, end: None })
}

fn words(command: &Command) -> impl Iterator<Item = &String> {
    std::iter::once(&command.program).chain(&command.arguments)
}

fn permit(engine: &Engine) -> Result<OwnedSemaphorePermit, BackendError> {
    Arc::clone(&engine.commands).try_acquire_owned().map_err(|_| {
        let running = engine.config.max_commands;
        let text = format!("{running} commands run already; wait for one, or raise `max_commands`");
        BackendError::new(BackendErrorKind::Full, text)
    })
}

/// Whether a command can be run in it: it is a sandbox of this namespace that runs.
async fn must_run(engine: &Engine, instance: &InstanceId) -> Result<(), BackendError> {
    let Some(info) = engine.sandbox(instance).await? else {
        return Err(BackendError::new(BackendErrorKind::Missing, "it was removed"));
    };
    match info.condition {
        Condition::Running => Ok(()),
        Condition::Stopped(state) => {
            let text = format!("it is {state}, and no command can be run in it");
            Err(BackendError::new(BackendErrorKind::Unavailable, text))
        }
        Condition::Ended(state) => {
            Err(BackendError::new(BackendErrorKind::Missing, format!("it is {state}")))
        }
    }
}

async fn attach(engine: &Engine, instance: &InstanceId, command: &Command) -> Result<Attached, BackendError> {
    let mut line: Vec<String> = match &engine.config.shell {
        Some(shell) => [shell, "-c", BECOME, "leasehold"].map(str::to_owned).to_vec(),
        None => Vec::new(),
    };
    line.extend(words(command).cloned());
    let options = CreateExecOptions {
        attach_stdin: Some(!command.input.is_empty()),
        attach_stdout: Some(true),
        attach_stderr: Some(true),
        env: Some(command.environment.iter().map(|(name, value)| format!("{name}={value}")).collect()),
        cmd: Some(line),
        working_dir: command.directory.as_ref().map(|path| path.display().to_string()),
        ..CreateExecOptions::default()
    };
    let made = engine.ask(Duration::ZERO, engine.docker.create_exec(instance.as_str(), options)).await;
    let made = made.map_err(|refusal| {
        // It ran a moment ago.
        let gone = refusal.is_missing_container() || refusal.is_conflict();
        let error = BackendError::from(refusal);
        if gone { BackendError::new(BackendErrorKind::Missing, error.to_string()) } else { error }
    })?;
    match engine.ask(Duration::ZERO, engine.docker.start_exec(&made.id, None)).await? {
        StartExecResults::Attached { output, input } => {
            let input = (!command.input.is_empty()).then_some(input);
            Ok(Attached { exec: made.id, output, input, pid: None })
        }
        StartExecResults::Detached => {
            let text = "the engine runs the command and does not connect us with it";
            Err(BackendError::new(BackendErrorKind::Unsupported, text))
        }
    }
}

/// Reads the number that the command has said it will have; what was said behind it goes to `early`. Nothing where it ended
/// without, and then `early` is what was said instead.
async fn first_line(
    engine: &Engine,
    attached: &mut Attached,
    early: &mut Vec<Output>,
) -> Result<Option<u32>, BackendError> {
    let mut line = Vec::new();
    let read = async {
        while let Some(piece) = attached.output.next().await {
            match piece.map_err(super::error::failed)? {
                LogOutput::StdErr { message } => early.push(Output::Stderr(message.to_vec())),
                piece => line.extend_from_slice(piece.as_ref()),
            }
            if line.contains(&b'\n') || line.len() > FIRST_LINE {
                break;
            }
        }
        Ok::<_, BackendError>(())
    };
    let bound = engine.config.deadline;
    tokio::time::timeout(bound, read).await.map_err(|_| {
        let text = format!("the sandbox did not begin with the command within {bound:?}");
        BackendError::new(BackendErrorKind::Timeout, text)
    })??;
    let (first, rest) = match line.iter().position(|b| *b == b'\n') {
        Some(at) => (&line[..at], &line[at + 1..]),
        None => (&line[..], &[][..]),
    };
    let pid = std::str::from_utf8(first).ok().and_then(|text| text.trim().parse().ok());
    if !rest.is_empty() {
        early.push(Output::Stdout(rest.to_vec()));
    }
    if pid.is_none() && first != b"none" {
        early.push(Output::Stdout(first.to_vec()));
    }
    Ok(pid)
}

/// Why a command did not begin.
async fn not_begun(
    engine: &Engine,
    instance: &InstanceId,
    command: &Command,
    said: &[Output],
) -> BackendError {
    if let Err(error) = must_run(engine, instance).await {
        return error;
    }
    let said: String = said
        .iter()
        .filter_map(|output| match output {
            Output::Stdout(bytes) | Output::Stderr(bytes) => Some(String::from_utf8_lossy(bytes)),
            Output::Exited(_) => None,
        })
        .collect();
    let program = &command.program;
    let text = match said.trim() {
        "" => format!("there is no program {program} in the sandbox"),
        said => format!(
            "{program} can't be started: {said}; without {} in the image, set `shell` to what it has, or to none",
            engine.config.shell.as_deref().unwrap_or("a shell")
        ),
    };
    BackendError::new(BackendErrorKind::Invalid, text)
}

/// Kills a command by the number that it has in its sandbox.
pub(super) async fn kill(engine: &Engine, instance: &InstanceId, pid: u32) -> Result<(), BackendError> {
    let Some(shell) = &engine.config.shell else { return Err(no_shell()) };
    let options = CreateExecOptions {
        attach_stdout: Some(true),
        attach_stderr: Some(true),
        cmd: Some([shell, "-c", KILL, "leasehold", &pid.to_string()].map(str::to_owned).to_vec()),
        ..CreateExecOptions::default()
    };
    let ran = async {
        let made = engine.docker.create_exec(instance.as_str(), options).await?;
        if let StartExecResults::Attached { mut output, .. } =
            engine.docker.start_exec(&made.id, None).await?
        {
            while output.next().await.is_some() {}
        }
        Ok(())
    };
    match engine.ask(Duration::ZERO, ran).await {
        // The sandbox has ended, and the command with it.
        Err(refusal) if refusal.is_missing_container() || refusal.is_conflict() => Ok(()),
        answer => Ok(answer?),
    }
}

pub(super) fn no_shell() -> BackendError {
    let text = "a command can be killed only by a shell in the sandbox, and `shell` is none";
    BackendError::new(BackendErrorKind::Unsupported, text)
}
