use std::io;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use leasehold::Deadline;

use super::process::{FreshDir, Process};
use crate::Unready;

/// A PostgreSQL server of one's own, on a unix socket in a fresh directory, keeping nothing that matters.
///
/// `LEASEHOLD_POSTGRES_BIN` names the directory of its programs when they are neither on the path nor where Debian puts
/// them. PostgreSQL refuses to run as root; there it runs as nobody.
#[derive(Debug)]
pub struct PostgresServer {
    _process: Process,
    dir: FreshDir,
}

impl PostgresServer {
    /// How long it may take until it answers.
    const PATIENCE: Duration = Duration::from_secs(30);
    /// The superuser that its clients are.
    const USER: &str = "lease";
    /// The id of the user and group `nobody`, on every Linux.
    const NOBODY: u32 = 65_534;

    /// Makes a cluster of databases and starts a server on it.
    ///
    /// # Errors
    /// [`Unready::NotRun`] where PostgreSQL is not installed, [`Unready::Broken`] where it doesn't start.
    pub fn start() -> Result<Self, Unready> {
        let bin = programs().ok_or_else(|| {
            Unready::not_run(
                "postgres is not installed (Debian: postgresql); LEASEHOLD_POSTGRES_BIN may say where it is",
            )
        })?;
        let dir = FreshDir::new("postgres")?;
        let data = dir.path().join("data");
        if is_root()? {
            chown(dir.path(), Some(Self::NOBODY), Some(Self::NOBODY))?;
        }
        let mut initdb = command(&bin.join("initdb"), dir.path())?;
        initdb.arg("-D").arg(&data).args([
            "-U",
            Self::USER,
            "--auth=trust",
            "--no-sync",
            "-E",
            "UTF8",
            "--locale=C",
        ]);
        let made = initdb.stdin(Stdio::null()).output()?;
        if !made.status.success() {
            let why = String::from_utf8_lossy(&made.stderr);
            return Err(Unready::broken(format!("initdb: {}: {}", made.status, why.trim())));
        }
        let mut postgres = command(&bin.join("postgres"), dir.path())?;
        postgres.arg("-D").arg(&data).arg("-k").arg(dir.path());
        for option in ["listen_addresses=", "fsync=off", "max_connections=400", "logging_collector=off"] {
            postgres.args(["-c", option]);
        }
        let mut process = Process::start(&mut postgres, dir.path())?;
        let patience = Deadline::after(Self::PATIENCE);
        loop {
            if process.has_ended() {
                return Err(Unready::broken("postgres ends as soon as it is started"));
            }
            let mut ask = command(&bin.join("pg_isready"), dir.path())?;
            ask.arg("-h").arg(dir.path()).arg("-q").args(["-t", "1"]);
            if ask.status()?.success() {
                return Ok(Self { _process: process, dir });
            }
            if patience.passed() {
                return Err(Unready::broken(format!("postgres does not answer within {:?}", Self::PATIENCE)));
            }
            pause();
        }
    }

    /// The settings that a client connects with.
    #[must_use]
    pub fn settings(&self) -> String {
        format!("host={} user={} dbname=postgres", self.dir.path().display(), Self::USER)
    }
}

#[expect(clippy::disallowed_methods, reason = "a server that starts is asked again after a while")]
fn pause() {
    std::thread::sleep(Duration::from_millis(20));
}

fn is_root() -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    // A file that this process has made is its user's.
    Ok(std::fs::metadata("/proc/self")?.uid() == 0)
}

fn command(program: &Path, dir: &Path) -> io::Result<Command> {
    let mut command = Command::new(program);
    command.current_dir(dir);
    if is_root()? {
        command.uid(PostgresServer::NOBODY).gid(PostgresServer::NOBODY);
    }
    Ok(command)
}

/// The directory of PostgreSQL's programs: as told, on the path, or the newest that Debian installed.
fn programs() -> Option<PathBuf> {
    let has_all =
        |bin: &PathBuf| ["postgres", "initdb", "pg_isready"].iter().all(|name| bin.join(name).is_file());
    if let Some(told) = std::env::var_os("LEASEHOLD_POSTGRES_BIN") {
        return Some(PathBuf::from(told)).filter(has_all);
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    if let Some(bin) = std::env::split_paths(&path).find(has_all) {
        return Some(bin);
    }
    let mut debian: Vec<_> =
        std::fs::read_dir("/usr/lib/postgresql").ok()?.flatten().map(|e| e.path().join("bin")).collect();
    debian.sort();
    debian.into_iter().rfind(has_all)
}
