use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};

/// A server's process. It ends with this value, and also with this process, however that ends: a shell that holds the
/// other end of a pipe notices, kills the server and removes its directory.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    watch: Child,
}

impl Process {
    /// Starts `command`, which keeps its files in `dir` and says nothing on the terminal.
    pub(super) fn start(command: &mut Command, dir: &Path) -> io::Result<Self> {
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        let watch = Command::new("sh")
            .args(["-c", "read -r _; kill -9 \"$1\"; rm -rf \"$2\"", "watch", &child.id().to_string()])
            .arg(dir)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        match watch {
            Ok(watch) => Ok(Self { child, watch }),
            Err(e) => {
                let mut child = child;
                let _ = child.kill().and_then(|()| child.wait());
                Err(e)
            }
        }
    }

    /// Whether it ended by itself.
    pub(super) fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Sends it `signal`, by its name without SIG.
    pub(super) fn signal(&self, signal: &str) -> io::Result<()> {
        let status = Command::new("kill").args(["-s", signal, &self.child.id().to_string()]).status()?;
        if status.success() { Ok(()) } else { Err(io::Error::other(format!("kill -s {signal}: {status}"))) }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // The shell first: it knows the server by a number that may be another's once the server is gone.
        let _ = self.watch.kill();
        let _ = self.watch.wait();
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A fresh directory for this user alone, removed with everything in it when this value goes.
#[derive(Debug)]
pub(super) struct FreshDir {
    path: PathBuf,
}

impl FreshDir {
    pub(super) fn new(name: &str) -> io::Result<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        loop {
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let path = std::env::temp_dir().join(format!("leasehold-{name}-{}-{count}", std::process::id()));
            match create_private(&path) {
                Ok(()) => return Ok(Self { path }),
                // Left over by an earlier process of the same number.
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(e),
            }
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

fn create_private(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

impl Drop for FreshDir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}
