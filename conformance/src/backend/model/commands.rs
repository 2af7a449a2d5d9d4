use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use leasehold::{BackendError, BackendErrorKind, Command, Execution, Exit, Output};
use tokio::sync::mpsc;

use super::ModelEngine;
use super::engine::{Instance, Running};
use super::script::Script;

/// How many pieces of output are kept until somebody reads them.
const KEPT: usize = 8;

/// A command in the model: a task that says its pieces, each once there is room.
struct ModelExecution {
    engine: ModelEngine,
    number: u32,
    said: mpsc::Receiver<Output>,
    end: Arc<Mutex<Option<Exit>>>,
}

/// Starts `command` in `instance`.
pub(super) fn start(
    engine: &ModelEngine,
    instance: &Instance,
    command: Command,
) -> Result<Box<dyn Execution>, BackendError> {
    let text = match (command.program.as_str(), &command.arguments[..]) {
        ("sh", [flag, script]) if flag == "-c" => script.clone(),
        ("true", []) => "exit 0".to_owned(),
        (other, _) => {
            let text = format!("there is no program {other}; the model has sh -c and true");
            return Err(BackendError::new(BackendErrorKind::Invalid, text).on(&instance.info.instance));
        }
    };
    let (say, said) = mpsc::channel(KEPT);
    let end = Arc::new(Mutex::new(None));
    let of = instance.info.instance.clone();
    let mut state = engine.lock();
    let number = u32::try_from(state.next()).unwrap_or(u32::MAX);
    let (timeout, played) = (command.timeout, engine.clone());
    let script = Script {
        engine: engine.clone(),
        instance: of.clone(),
        spec: instance.spec.clone(),
        number,
        command,
        say,
    };
    // It can't end before it is entered, since that takes the lock that is held here.
    let task = tokio::spawn(async move {
        let exit = tokio::time::timeout(timeout, script.play(&text)).await;
        played.end(number, exit.unwrap_or(Exit::TimedOut));
    });
    let running = Running { instance: of, task: Some(task.abort_handle()), end: Arc::clone(&end) };
    state.commands.insert(number, running);
    drop(state);
    Ok(Box::new(ModelExecution { engine: engine.clone(), number, said, end }))
}

#[async_trait]
impl Execution for ModelExecution {
    async fn next(&mut self) -> Result<Output, BackendError> {
        if let Some(output) = self.said.recv().await {
            return Ok(output);
        }
        let end = *self.end.lock().unwrap_or_else(PoisonError::into_inner);
        end.map(Output::Exited).ok_or_else(|| {
            BackendError::new(BackendErrorKind::Panicked, "the command's task ended without a word")
        })
    }

    async fn kill(&mut self) -> Result<(), BackendError> {
        self.engine.end(self.number, Exit::Killed);
        Ok(())
    }
}

impl Drop for ModelExecution {
    fn drop(&mut self) {
        self.engine.end(self.number, Exit::Killed);
    }
}
