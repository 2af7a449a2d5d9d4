//! The lines that an integrator copies: a provider over a store and an engine, one sandbox, one command, a clean end.
//!
//! `cargo run --example embed` runs them in a directory that goes away.

#![expect(clippy::print_stdout, reason = "this is what the example is for")]

use std::sync::Arc;
use std::time::Duration;

use leasehold::SandboxBackend as _;
use leasehold::{
    Acquire, Command, Exit, OffloadConfig, Offloaded, Output, OwnerId, Provider, ProviderConfig, SessionKey,
    ShutdownMode,
};
use leasehold_backends::process::{ProcessBackend, ProcessConfig};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dir = tempfile::tempdir()?; // in a gateway: /var/lib/gateway and /run/gateway
    let config = ProviderConfig::new("agents-dev".parse()?).with_home(dir.path().join("home"));

    // Where the leases are. Every gateway of the deployment opens the same.
    let url = format!("sqlite:{}", dir.path().join("leases.db").display());
    let leases = leasehold_stores::open(&url, OwnerId::generate(), config.ownership.ttl())?;
    let store = Offloaded::new(leases, OffloadConfig::default())?; // from here on nothing blocks

    // What a sandbox is: here, a process of this host.
    let sandbox = ProcessConfig::new(dir.path().join("run"), config.namespace.clone(), ["sleep", "infinity"]);
    let backend = Arc::new(ProcessBackend::new(sandbox)?);
    let provider = Provider::builder(config, Arc::new(store), backend.clone()).start().await?;

    // A turn of a conversation.
    let sandbox = provider.acquire(Acquire::session(SessionKey::new("ada", "thread-7")?)).await?;
    let mut running = sandbox.exec(Command::new("echo").arg("hello from the sandbox")).await?;
    loop {
        match running.next().await? {
            Output::Stdout(text) | Output::Stderr(text) => print!("{}", String::from_utf8_lossy(&text)),
            Output::Exited(Exit::Code(0)) => break,
            Output::Exited(exit) => return Err(format!("it ended with {exit:?}").into()),
        }
    }
    drop(running);
    let instance = sandbox.instance().clone();
    sandbox.release().await; // parked warm: the next turn finds it, here or on another gateway

    // The end. A rolling deploy says HandOver; StopMine takes along what this gateway alone can have used.
    let report = provider.shutdown(ShutdownMode::StopMine, Duration::from_secs(10)).await;
    println!("stopped {}, handed over {}, clean: {}", report.stopped, report.handed_over, report.is_clean());
    // Not for copying: a young sandbox is handed over rather than stopped, and nobody will come for this one.
    backend.destroy(&instance).await?;
    Ok(())
}
