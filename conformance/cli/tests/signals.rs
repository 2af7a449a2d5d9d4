//! `shutdown_on_signals` in real processes: this program is run again as a gateway over a file store and sandboxes that are
//! processes, and told to end (Z2).

#![cfg(target_os = "linux")]

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use leasehold::{
    Acquire, Condition, Namespace, OffloadConfig, Offloaded, OwnerId, OwnershipStore as _, Provider,
    ProviderConfig, SandboxBackend as _, SessionKey, ShutdownMode, shutdown_on_signals,
};
use leasehold_backends::process::{ProcessBackend, ProcessConfig, ReadyCheck};

/// Makes a gateway of the test `gateway`; its value is the directory of the deployment.
const DIRECTORY: &str = "LEASEHOLD_SIGNALS_DIRECTORY";
/// Makes a gateway with an acquire that doesn't end.
const HANGS: &str = "LEASEHOLD_SIGNALS_HANGS";
/// More than anything here may take.
const PATIENCE: Duration = Duration::from_secs(60);

fn config(directory: &Path) -> ProviderConfig {
    ProviderConfig::new(Namespace::new("signals").unwrap()).with_home(directory.join("home"))
}

/// Sandboxes that are ready at once, but for those that are told to hang.
fn backend(directory: &Path) -> ProcessBackend {
    let script = "test -n \"$HANGS\" || touch ready; exec sleep 600";
    let namespace = config(directory).namespace;
    let config = ProcessConfig::new(directory.join("run"), namespace, ["sh", "-c", script]);
    let config = config.ready(ReadyCheck::File("ready".into())).stop_patience(Duration::ZERO);
    ProcessBackend::new(config).unwrap()
}

fn leases(directory: &Path) -> Box<dyn leasehold::OwnershipStore> {
    let url = format!("file:{}", directory.join("leases").display());
    leasehold_stores::open(&url, OwnerId::generate(), config(directory).ownership.ttl()).unwrap()
}

fn session(thread: &str) -> Acquire {
    Acquire::session(SessionKey::new("ada", thread).unwrap())
}

/// A gateway as an integrator writes it. It says on its standard output how far it is.
#[expect(clippy::print_stdout, reason = "it is how the test hears of it")]
async fn serve(directory: &Path) -> bool {
    let store = Offloaded::new(leases(directory), OffloadConfig::default()).unwrap();
    let backend = std::sync::Arc::new(backend(directory));
    let builder = Provider::builder(config(directory), std::sync::Arc::new(store), backend);
    let provider = builder.start().await.unwrap();
    let _held = provider.acquire(session("held")).await.unwrap();
    drop(provider.acquire(session("warm")).await.unwrap());
    let mut deadline = PATIENCE / 2;
    if std::env::var_os(HANGS).is_some() {
        deadline = Duration::from_secs(3);
        let other = provider.clone();
        tokio::spawn(async move { other.acquire(session("hangs").env("HANGS", "1")).await.map(drop) });
        said_when(|| provider.status().sandboxes.iter().filter(|row| row.instance.is_some()).count() == 3)
            .await;
    }
    let closing = async {
        said_when(|| provider.status().closing).await;
        println!("\nclosing");
    };
    let ended = async {
        // Polled once by now, so that the signals are caught.
        println!("\nserving");
    };
    let end = shutdown_on_signals(&provider, ShutdownMode::HandOver, deadline);
    let (report, (), ()) = tokio::join!(end, ended, closing);
    let report = report.unwrap();
    println!("\n{report:?}");
    report.is_clean()
}

async fn said_when(so: impl Fn() -> bool) {
    while !so() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Not a test of its own: what the children run.
#[test]
fn gateway() {
    let Some(directory) = std::env::var_os(DIRECTORY) else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let clean = runtime.block_on(serve(Path::new(&directory)));
    std::process::exit(if clean { 0 } else { 1 });
}

/// A gateway in a process of its own, killed when dropped.
struct Gateway {
    child: Child,
    lines: Receiver<String>,
}

impl Gateway {
    fn start(directory: &Path, hangs: bool) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["gateway", "--exact", "--nocapture"])
            .env(DIRECTORY, directory)
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        if hangs {
            command.env(HANGS, "1");
        }
        let mut child = command.spawn().unwrap();
        let (sender, lines) = channel();
        let said = BufReader::new(child.stdout.take().unwrap());
        // Ends with the child.
        let reader =
            move || said.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)).is_ok();
        std::thread::Builder::new().name("reader".to_owned()).spawn(reader).unwrap();
        Self { child, lines }
    }

    /// The next line that has `word` in it.
    fn says(&self, word: &str) -> String {
        loop {
            let line = self.lines.recv_timeout(PATIENCE).unwrap_or_else(|end| panic!("no {word:?}: {end}"));
            if line.contains(word) {
                return line;
            }
        }
    }

    fn terminate(&self) {
        let pid = self.child.id().to_string();
        assert!(Command::new("sh").args(["-c", "kill -TERM \"$0\"", &pid]).status().unwrap().success());
    }

    /// Waits until it has ended by itself. Says with which status.
    fn ended(mut self) -> Option<i32> {
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(_) => {}
                Err(RecvTimeoutError::Disconnected) => return self.child.wait().unwrap().code(),
                Err(RecvTimeoutError::Timeout) => panic!("it goes on for more than {PATIENCE:?}"),
            }
        }
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        // One that has ended by itself is fine.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// How many sandboxes run, and how many leases are held. Removes the sandboxes.
fn left(directory: &Path) -> (usize, usize) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let backend = backend(directory);
        let found = backend.list().await.unwrap().found;
        let running =
            found.iter().filter(|info| !info.condemned && info.condition == Condition::Running).count();
        for info in &found {
            let _ = backend.destroy(&info.instance).await.unwrap();
        }
        (running, leases(directory).list().unwrap().leases.len())
    })
}

#[test]
fn z2_a_gateway_that_is_told_to_end_hands_over_within_its_deadline_and_stops_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(directory.path(), false);
    gateway.says("serving");
    gateway.terminate();
    let report = gateway.says("ShutdownReport");
    let status = gateway.ended();
    let left = left(directory.path());
    assert!(report.contains("handed_over: 2, stopped: 0, stopping: 0, acquiring: 0"), "{report}");
    assert_eq!((status, left), (Some(0), (2, 0)), "{report}");
}

#[test]
fn z2_a_second_signal_changes_nothing_and_a_shutdown_that_hangs_ends_at_its_deadline() {
    let directory = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(directory.path(), true);
    gateway.says("serving");
    gateway.terminate();
    gateway.says("closing");
    gateway.terminate();
    let report = gateway.says("ShutdownReport");
    let status = gateway.ended();
    let (running, _) = left(directory.path());
    assert!(report.contains("stopped: 0, stopping: 0, acquiring: 1"), "{report}");
    assert_eq!((status, running), (Some(1), 3), "{report}");
}
