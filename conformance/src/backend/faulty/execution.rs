use std::collections::VecDeque;
use std::time::Duration;

use async_trait::async_trait;
use leasehold::{BackendError, BackendErrorKind, Execution, Exit, Output};
use tokio::sync::mpsc;

use super::Fault;

/// A command that is told of wrongly.
pub(super) struct FaultyExecution {
    fault: Fault,
    /// Gone once somebody else has it.
    inner: Option<Box<dyn Execution>>,
    /// What was kept without bound.
    hoard: Option<mpsc::UnboundedReceiver<Output>>,
    held: VecDeque<Output>,
    told: usize,
    ended: bool,
}

impl FaultyExecution {
    /// From where on output is dropped, in bytes.
    const CUT: usize = 1_000_000;

    pub(super) fn new(fault: Fault, mut inner: Box<dyn Execution>) -> Self {
        let fresh = |inner, hoard| Self { fault, inner, hoard, held: VecDeque::new(), told: 0, ended: false };
        if fault != Fault::OutputIsHoarded {
            return fresh(Some(inner), None);
        }
        let (say, hoard) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Ok(output) = inner.next().await {
                let over = matches!(output, Output::Exited(_));
                if say.send(output).is_err() || over {
                    return;
                }
            }
        });
        fresh(None, Some(hoard))
    }

    async fn read(&mut self) -> Result<Output, BackendError> {
        let lost = || BackendError::new(BackendErrorKind::Unavailable, "nobody has the command any more");
        match (&mut self.inner, &mut self.hoard) {
            (Some(inner), _) => inner.next().await,
            (None, Some(hoard)) => hoard.recv().await.ok_or_else(lost),
            (None, None) => Err(lost()),
        }
    }

    fn exit(&self, exit: Exit) -> Exit {
        match (self.fault, exit) {
            (Fault::CodeIsLost, Exit::Code(code)) => Exit::Code(code.min(1)),
            (Fault::SignalIsSuccess, Exit::Signal(_)) | (Fault::StoppedIsSuccess, Exit::Killed) => {
                Exit::Code(0)
            }
            (Fault::TimedOutIsKilled, Exit::TimedOut) => Exit::Killed,
            (Fault::KillIsASignal, Exit::Killed) => Exit::Signal(9),
            (_, exit) => exit,
        }
    }
}

#[async_trait]
impl Execution for FaultyExecution {
    async fn next(&mut self) -> Result<Output, BackendError> {
        if self.ended && self.fault == Fault::EndIsToldOnce {
            return Err(BackendError::new(BackendErrorKind::Missing, "it has ended"));
        }
        if self.fault == Fault::OutputComesAtTheEnd {
            while !matches!(self.held.back(), Some(Output::Exited(_))) {
                let output = self.read().await?;
                self.held.push_back(output);
            }
            return self
                .held
                .pop_front()
                .ok_or_else(|| BackendError::new(BackendErrorKind::Missing, "nothing is held"));
        }
        loop {
            let output = self.read().await?;
            if self.fault == Fault::DroppedWaitLoses {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            return Ok(match output {
                Output::Stderr(bytes) if self.fault == Fault::StreamsAreOne => Output::Stdout(bytes),
                Output::Stdout(bytes) if self.fault == Fault::OutputIsCut => {
                    self.told += bytes.len();
                    if self.told > Self::CUT {
                        continue;
                    }
                    Output::Stdout(bytes)
                }
                Output::Exited(exit) => {
                    self.ended = true;
                    Output::Exited(self.exit(exit))
                }
                output => output,
            });
        }
    }

    async fn kill(&mut self) -> Result<(), BackendError> {
        if self.ended && self.fault == Fault::KillAgainFails {
            return Err(BackendError::new(BackendErrorKind::Missing, "it has ended"));
        }
        match &mut self.inner {
            Some(inner) => inner.kill().await,
            None => Ok(()),
        }
    }
}

impl Drop for FaultyExecution {
    fn drop(&mut self) {
        if self.fault == Fault::DroppedRunsOn {
            std::mem::forget(self.inner.take());
        }
    }
}
