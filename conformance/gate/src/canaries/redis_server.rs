//! A real redis-server for one canary.

use std::io;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::ground::Setback;

/// A server on a unix socket in a directory of its own; gone when this is dropped.
pub(super) struct RedisServer {
    process: Child,
    socket: PathBuf,
    _directory: tempfile::TempDir,
}

impl RedisServer {
    pub(super) fn start() -> Result<Self, Setback> {
        let directory = tempfile::tempdir()?;
        let socket = directory.path().join("redis.sock");
        let process = Command::new("redis-server")
            .args(["--port", "0", "--save", "", "--appendonly", "no", "--unixsocket"])
            .arg(&socket)
            .arg("--dir")
            .arg(directory.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| match error.kind() {
                io::ErrorKind::NotFound => {
                    Setback::Missing { need: "redis", why: "there is no redis-server on the path".to_owned() }
                }
                _ => Setback::Failed(error),
            })?;
        let server = Self { process, socket, _directory: directory };
        server.wait_until_it_answers()?;
        Ok(server)
    }

    pub(super) fn connect(&self) -> io::Result<redis::Connection> {
        let url = format!("redis+unix://{}", self.socket.display());
        redis::Client::open(url).and_then(|client| client.get_connection()).map_err(io::Error::other)
    }

    fn wait_until_it_answers(&self) -> io::Result<()> {
        const PAUSE: Duration = Duration::from_millis(10);
        const TRIES: u32 = 1000;
        let mut last = io::Error::other("redis-server was not asked");
        for _ in 0..TRIES {
            match self.connect() {
                Ok(_) => return Ok(()),
                Err(error) => last = error,
            }
            #[expect(
                clippy::disallowed_methods,
                reason = "a server of another process says no other way that it is up"
            )]
            std::thread::sleep(PAUSE);
        }
        Err(last)
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        // It may have ended by itself; either way it is gone afterwards.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
