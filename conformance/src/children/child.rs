use std::io::{BufRead, BufReader, Write};
use std::process::{ChildStdin, ChildStdout};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use leasehold::SandboxId;

use super::Again;
use super::entry::MARK;
use crate::Harness;
use crate::case::Stop;
use crate::history::{Asked, Event};

/// A child process, killed when this value goes.
pub struct Child {
    process: std::process::Child,
    input: ChildStdin,
    /// What it says to its parent, line by line, until it is gone.
    said: Receiver<String>,
    quantum: Duration,
}

impl Child {
    /// How long a child may take to answer.
    const PATIENCE: Duration = Duration::from_secs(30);

    /// Runs this program again, for the stores of `harness`.
    ///
    /// # Errors
    /// [`Stop::Harness`] when that fails.
    pub fn start(again: &Again, harness: &dyn Harness) -> Result<Self, Stop> {
        let started = again.command(&harness.name()).and_then(|mut command| command.spawn());
        let mut process = started.map_err(|e| Stop::Harness(format!("no child process: {e}")))?;
        let (input, output) = (process.stdin.take(), process.stdout.take());
        let (input, output) = input.zip(output).expect("both were asked for");
        let said = listen(output)?;
        Ok(Self { process, input, said, quantum: Duration::ZERO })
    }

    /// Makes it open the store at `address` for `owner`.
    ///
    /// # Errors
    /// [`Stop::Harness`] when it can't.
    pub fn open(&mut self, address: &str, owner: &str, ttl: Duration) -> Result<(), Stop> {
        self.tell(&format!("open\t{address}\t{owner}\t{}", ttl.as_millis()))?;
        let nanos = self.hear()?;
        let unheard = |_| Stop::Harness(format!("the child opened its store with {nanos:?}"));
        self.quantum = Duration::from_nanos(nanos.parse().map_err(unheard)?);
        Ok(())
    }

    /// The quantum of the store that it opened.
    #[must_use]
    pub fn quantum(&self) -> Duration {
        self.quantum
    }

    /// Makes it ask its store, and says what it asked when and was told.
    ///
    /// # Errors
    /// [`Stop::Harness`] when it is gone or talks nonsense.
    pub fn ask(&mut self, id: &SandboxId, asked: Asked) -> Result<Event, Stop> {
        self.tell(&format!("ask\t{id}\t{asked}"))?;
        let line = self.hear()?;
        line.parse().map_err(|e: crate::history::Unreadable| Stop::Harness(e.to_string()))
    }

    /// Kills it (SIGKILL) at whatever point it is.
    ///
    /// # Errors
    /// [`Stop::Harness`] when it can't be killed.
    pub fn kill(mut self) -> Result<(), Stop> {
        let killed = self.process.kill().and_then(|()| self.process.wait());
        killed.map(drop).map_err(|e| Stop::Harness(format!("the child can't be killed: {e}")))
    }

    pub(crate) fn tell(&mut self, line: &str) -> Result<(), Stop> {
        let told = writeln!(self.input, "{line}").and_then(|()| self.input.flush());
        told.map_err(|e| Stop::Harness(format!("the child doesn't listen: {e}")))
    }

    fn hear(&mut self) -> Result<String, Stop> {
        self.hear_within(Self::PATIENCE)
    }

    pub(crate) fn hear_within(&mut self, patience: Duration) -> Result<String, Stop> {
        let line = self.said.recv_timeout(patience);
        let line = line.map_err(|e| Stop::Harness(format!("the child says nothing: {e}")))?;
        match line.strip_prefix("error\t") {
            Some(why) => Err(Stop::Harness(format!("the child can't: {why}"))),
            None => Ok(line),
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Hands on the lines that are meant for the parent; the test harness of the child writes lines too.
fn listen(output: ChildStdout) -> Result<Receiver<String>, Stop> {
    let (tell, said) = mpsc::channel();
    let read = move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            // The first line of ours may stand behind something that the test harness began to write.
            if let Some((_, line)) = line.split_once(MARK)
                && tell.send(line.to_owned()).is_err()
            {
                return;
            }
        }
    };
    let thread = thread::Builder::new().name("child's voice".to_owned()).spawn(read);
    thread.map_err(|e| Stop::Harness(format!("no thread for a child: {e}")))?;
    Ok(said)
}
