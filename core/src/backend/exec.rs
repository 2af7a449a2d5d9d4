use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use async_trait::async_trait;

use super::BackendError;

/// A command to run in a sandbox. No shell is involved unless it is the program.
///
/// ```
/// use leasehold::Command;
/// use std::time::Duration;
///
/// let command = Command::new("sh").arg("-c").arg("echo hello").timeout(Duration::from_secs(5));
/// assert_eq!(command.arguments, ["-c", "echo hello"]);
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Command {
    /// The program.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Variables beside those of the sandbox. Their values are never logged.
    pub environment: BTreeMap<String, String>,
    /// Where it starts; the sandbox's own work directory unless said otherwise.
    pub directory: Option<PathBuf>,
    /// What it reads; nothing unless said otherwise.
    pub input: Vec<u8>,
    /// After how long it is killed; 60 s unless said otherwise.
    pub timeout: Duration,
}

impl Command {
    /// How long a command may run when nothing is said: 60 s.
    pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

    /// A command that runs `program`.
    pub fn new(program: impl Into<String>) -> Self {
        Self {
            program: program.into(),
            arguments: Vec::new(),
            environment: BTreeMap::new(),
            directory: None,
            input: Vec::new(),
            timeout: Self::DEFAULT_TIMEOUT,
        }
    }

    /// With one more argument.
    #[must_use]
    pub fn arg(mut self, argument: impl Into<String>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// With a variable.
    #[must_use]
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.environment.insert(name.into(), value.into());
        self
    }

    /// Starting in `directory`.
    #[must_use]
    pub fn directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directory = Some(directory.into());
        self
    }

    /// Reading `input`.
    #[must_use]
    pub fn input(mut self, input: impl Into<Vec<u8>>) -> Self {
        self.input = input.into();
        self
    }

    /// Killed after `timeout`.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }
}

impl fmt::Debug for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Command")
            .field("program", &self.program)
            .field("arguments", &self.arguments)
            .field("environment", &self.environment.keys().collect::<Vec<_>>())
            .field("directory", &self.directory)
            .field("input", &format_args!("{} bytes", self.input.len()))
            .field("timeout", &self.timeout)
            .finish()
    }
}

/// What a running command says next.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "the last one says how it ended"]
pub enum Output {
    /// It wrote this to its standard output.
    Stdout(Vec<u8>),
    /// It wrote this to its standard error.
    Stderr(Vec<u8>),
    /// It ended; nothing follows.
    Exited(Exit),
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// By itself, with this code; 0 means success.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// It was killed, since its time was over.
    TimedOut,
    /// It was killed, since it was asked for or its sandbox was stopped.
    Killed,
}

/// A command that runs in a sandbox. Its output is buffered within a bound, so one that nobody reads waits.
///
/// Dropping it kills the command; nothing is left running that nobody looks after.
#[async_trait]
pub trait Execution: Send {
    /// What it says next; after [`Output::Exited`] the same again.
    ///
    /// # Errors
    /// [`BackendError`] when the engine can't say how it goes on; whether the command still runs is unknown then.
    ///
    /// # Cancel safety
    /// Nothing that was said is lost when the future is dropped.
    async fn next(&mut self) -> Result<Output, BackendError>;

    /// Kills it. Its end is told by [`next`](Self::next). One that has ended already is a success.
    ///
    /// # Errors
    /// [`BackendError`] when it could not be killed or that can't be told.
    ///
    /// # Cancel safety
    /// It may or may not have been killed; asking again is harmless.
    async fn kill(&mut self) -> Result<(), BackendError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_values_nor_input_are_shown() {
        let shown = format!("{:?}", Command::new("p").env("KEY", "hunter2").input("secret"));
        assert!(shown.contains("KEY") && shown.contains("6 bytes"), "{shown}");
        assert!(!shown.contains("hunter2") && !shown.contains("secret"), "{shown}");
    }
}
