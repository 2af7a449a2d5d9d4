use std::time::Duration;

use leasehold::{Command, Exit, InstanceId, Output, SandboxSpec};
use tokio::sync::mpsc;

use super::ModelEngine;

/// As much of a shell as the kit's cases need.
pub(super) struct Script {
    pub(super) engine: ModelEngine,
    pub(super) instance: InstanceId,
    pub(super) spec: SandboxSpec,
    /// The number of its process.
    pub(super) number: u32,
    pub(super) command: Command,
    pub(super) say: mpsc::Sender<Output>,
}

impl Script {
    /// The most that is said at once, in bytes.
    const PIECE: usize = 64 << 10;

    /// Plays the script to its end.
    pub(super) async fn play(&self, text: &str) -> Exit {
        let mut code = 0;
        for line in text.split("; ") {
            let words: Vec<&str> = line.split_whitespace().collect();
            code = match &words[..] {
                ["exit", code] => return Exit::Code(code.parse().unwrap_or(2)),
                ["kill", "-9", "$$"] => return Exit::Signal(9),
                ["kill", "-0", number] => i32::from(!self.runs(number)),
                ["sleep", seconds] | ["exec", "sleep", seconds] => {
                    tokio::time::sleep(Duration::from_secs_f64(seconds.parse().unwrap_or_default())).await;
                    0
                }
                ["test", "-e", file] => i32::from(self.read(file).is_none()),
                ["cat"] => self.say(&self.command.input, false).await,
                ["cat", file] => match self.read(file) {
                    Some(bytes) => self.say(&bytes, false).await,
                    None => 1,
                },
                ["head", "-c", much, "/dev/zero"] => self.zeros(much.parse().unwrap_or_default()).await,
                ["echo", said @ .., ">", file] => self.write(file, &self.line(said)),
                ["echo", said @ .., ">&2"] => self.say(&self.line(said), true).await,
                ["echo", said @ ..] => self.say(&self.line(said), false).await,
                _ => 127,
            };
        }
        Exit::Code(code)
    }

    fn line(&self, words: &[&str]) -> Vec<u8> {
        let words: Vec<String> = words.iter().map(|word| self.word(word)).collect();
        format!("{}\n", words.join(" ")).into_bytes()
    }

    fn word(&self, word: &str) -> String {
        match word.strip_prefix('$') {
            Some("$") => self.number.to_string(),
            Some(name) => {
                let own = self.command.environment.get(name);
                own.or_else(|| self.spec.environment.get(name)).cloned().unwrap_or_default()
            }
            None => word.to_owned(),
        }
    }

    async fn say(&self, bytes: &[u8], aside: bool) -> i32 {
        for piece in bytes.chunks(Self::PIECE) {
            let output = if aside { Output::Stderr(piece.to_vec()) } else { Output::Stdout(piece.to_vec()) };
            if self.say.send(output).await.is_err() {
                return 1;
            }
        }
        0
    }

    async fn zeros(&self, mut much: usize) -> i32 {
        while much > 0 {
            let piece = much.min(Self::PIECE);
            if self.say(&vec![0; piece], false).await != 0 {
                return 1;
            }
            much -= piece;
        }
        0
    }

    fn runs(&self, number: &str) -> bool {
        let state = self.engine.lock();
        let running = number.parse().ok().and_then(|number: u32| state.commands.get(&number));
        running.is_some_and(|running| running.instance == self.instance)
    }

    /// The file on this host that `name` is, where the command stands in a directory that is mounted.
    fn mounted(&self, name: &str) -> Option<std::path::PathBuf> {
        let stands = self.command.directory.as_ref()?;
        let mount = self.spec.mounts.iter().find(|mount| mount.target == *stands)?;
        Some(mount.source.join(name))
    }

    fn read(&self, name: &str) -> Option<Vec<u8>> {
        match self.mounted(name) {
            Some(path) => std::fs::read(path).ok(),
            None => self.engine.lock().instances.get(&self.instance)?.files.get(name).cloned(),
        }
    }

    fn write(&self, name: &str, bytes: &[u8]) -> i32 {
        if let Some(path) = self.mounted(name) {
            return i32::from(std::fs::write(path, bytes).is_err());
        }
        let mut state = self.engine.lock();
        let Some(instance) = state.instances.get_mut(&self.instance) else { return 1 };
        instance.files.insert(name.to_owned(), bytes.to_vec());
        0
    }
}
