use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use leasehold::Deadline;

use super::process::{FreshDir, Process};
use super::{RawRedis, RawReply};
use crate::Unready;

/// A redis-server of one's own, on a free port of this host and on a unix socket, keeping nothing on disk unless told to.
///
/// `LEASEHOLD_REDIS_SERVER` names another program than the `redis-server` of the path.
#[derive(Debug)]
pub struct RedisServer {
    program: String,
    options: Vec<String>,
    port: u16,
    process: Option<Process>,
    dir: FreshDir,
}

impl RedisServer {
    /// How long a server may take to start.
    const PATIENCE: Duration = Duration::from_secs(20);

    /// Starts a server with `options`, as they stand on its command line: `&["--requirepass", "secret"]`.
    ///
    /// # Errors
    /// [`Unready::NotRun`] where no redis-server is installed, [`Unready::Broken`] where it doesn't start.
    pub fn start(options: &[&str]) -> Result<Self, Unready> {
        let program = std::env::var("LEASEHOLD_REDIS_SERVER").unwrap_or_else(|_| "redis-server".to_owned());
        let options = options.iter().map(|&option| option.to_owned()).collect();
        let dir = FreshDir::new("redis")?;
        let mut server = Self { program, options, port: 0, process: None, dir };
        // The port is free when it is looked up and may not be any more when the server wants it: then another.
        for _ in 0..8 {
            server.port = free_port()?;
            if server.run()? {
                return Ok(server);
            }
        }
        Err(Unready::broken(format!("{} ends as soon as it is started", server.program)))
    }

    /// Its address, written `host:port`.
    #[must_use]
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// The URL of its database 0, without a password.
    #[must_use]
    pub fn url(&self) -> String {
        format!("redis://{}/0", self.address())
    }

    /// Its port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The path of its unix socket.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.dir.path().join("s")
    }

    /// A bare client of it.
    ///
    /// # Errors
    /// [`Unready::Broken`] when it can't be reached.
    pub fn connect(&self) -> Result<RawRedis, Unready> {
        Ok(RawRedis::connect(&self.address())?)
    }

    /// Whether it was started and not ended since.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.process.is_some()
    }

    /// Stops it in mid-work, as a machine that is suspended: it takes connections and answers nothing.
    ///
    /// # Errors
    /// [`Unready::Broken`] when it is not running.
    pub fn pause(&self) -> Result<(), Unready> {
        self.signal("STOP")
    }

    /// Lets it go on after a [`pause`](Self::pause).
    ///
    /// # Errors
    /// [`Unready::Broken`] when it is not running.
    pub fn resume(&self) -> Result<(), Unready> {
        self.signal("CONT")
    }

    /// Kills it. Connections to its port are then refused.
    pub fn kill(&mut self) {
        self.process = None;
    }

    /// Ends it in good order, so that it writes down what it has, for [`restart`](Self::restart).
    ///
    /// # Errors
    /// [`Unready::Broken`] when it can't be told to, or doesn't end.
    pub fn save_and_stop(&mut self) -> Result<(), Unready> {
        let mut client = self.connect()?;
        // It ends instead of answering.
        if let Ok(RawReply::Error(error)) = client.ask(&["SHUTDOWN", "SAVE"]) {
            return Err(Unready::broken(error));
        }
        let deadline = Deadline::after(Self::PATIENCE);
        while self.process.as_mut().is_some_and(|process| !process.has_ended()) {
            if deadline.passed() {
                return Err(Unready::broken("redis-server does not end"));
            }
            nap();
        }
        self.process = None;
        Ok(())
    }

    /// Starts it again on the same port, with what it wrote down.
    ///
    /// # Errors
    /// [`Unready::Broken`] when it doesn't start.
    pub fn restart(&mut self) -> Result<(), Unready> {
        self.kill();
        let _ = std::fs::remove_file(self.socket());
        if self.run()? {
            Ok(())
        } else {
            Err(Unready::broken("redis-server did not start again on its port"))
        }
    }

    /// Kills it and starts it on the same port with nothing in it.
    ///
    /// # Errors
    /// As [`restart`](Self::restart).
    pub fn restart_empty(&mut self) -> Result<(), Unready> {
        self.kill();
        let _ = std::fs::remove_file(self.dir.path().join("dump.rdb"));
        self.restart()
    }

    fn signal(&self, signal: &str) -> Result<(), Unready> {
        match &self.process {
            Some(process) => Ok(process.signal(signal)?),
            None => Err(Unready::broken("redis-server is not running")),
        }
    }

    /// Runs the server and waits until it answers; `false` when it ended before it did.
    fn run(&mut self) -> Result<bool, Unready> {
        let mut command = Command::new(&self.program);
        let (port, socket) = (self.port.to_string(), self.socket());
        command
            .args(["--port", &port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"])
            .args(["--daemonize", "no", "--loglevel", "warning", "--maxclients", "1000"])
            .arg("--dir")
            .arg(self.dir.path())
            .arg("--unixsocket")
            .arg(&socket)
            .args(&self.options);
        let process = Process::start(&mut command, self.dir.path()).map_err(|e| match e.kind() {
            io::ErrorKind::NotFound => {
                Unready::not_run(format!("{} is not installed: apt-get install redis-server", self.program))
            }
            _ => Unready::broken(format!("{}: {e}", self.program)),
        })?;
        let process = self.process.insert(process);
        let deadline = Deadline::after(Self::PATIENCE);
        loop {
            if process.has_ended() {
                self.process = None;
                return Ok(false);
            }
            // By its socket, which is in our directory: what answers on the port may be somebody else. The server opens
            // the port first.
            match RawRedis::connect_unix(&socket).and_then(|mut client| client.ask(&["PING"])) {
                // A password or a load in progress is an answer too; who must wait for a load says so.
                Ok(RawReply::Error(error)) if error.starts_with("LOADING") => {}
                Ok(_) => return Ok(true),
                Err(_) => {}
            }
            if deadline.passed() {
                return Err(Unready::broken(format!("{} does not answer", self.program)));
            }
            nap();
        }
    }
}

fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

/// Between two looks at a process that starts or ends.
#[expect(clippy::disallowed_methods, reason = "a process of another program can only be looked at again")]
fn nap() {
    std::thread::sleep(Duration::from_millis(2));
}
