//! A rolling deploy: three gateways with sandboxes in use are replaced one after the other, each handing over what it has;
//! none of the sandboxes is stopped, and every session finds its own again.
//!
//! `cargo run --release --example rolling [SESSIONS]` tells what happens and ends with 0 if all was as promised.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use leasehold_cli::fleet::{Handed, Place, Remote, Timing, serve_if_asked};

const GATEWAYS: [&str; 3] = ["A", "B", "C"];

fn main() -> ExitCode {
    if serve_if_asked() {
        return ExitCode::SUCCESS;
    }
    let sessions = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(12);
    match story(sessions) {
        Ok(()) => {
            say("\nAll as promised: no sandbox was stopped, and every session found its own.");
            ExitCode::SUCCESS
        }
        Err(why) => {
            say(&format!("\nNOT as promised: {why}"));
            ExitCode::FAILURE
        }
    }
}

fn story(sessions: usize) -> Result<(), Box<dyn Error>> {
    let dir = tempfile::tempdir()?;
    // Nothing is reaped for being warm here: what is stopped, a deploy has stopped.
    let timing = Timing { warm: Duration::ZERO, ..Timing::default() };
    let url = format!("sqlite:{}", dir.path().join("leases.db").display());
    let place = Place::new(dir.path(), url).at_pace(timing);
    let mut fleet: BTreeMap<&str, Remote> = BTreeMap::new();
    for name in GATEWAYS {
        fleet.insert(name, start(name, &place)?);
    }
    let mut instances = BTreeMap::new();
    for n in 0..sessions {
        let held = acquire(&fleet[GATEWAYS[n % 3]], n)?;
        instances.insert(n, held.instance);
    }
    say(&format!("{sessions} sessions are served by {}", GATEWAYS.join(", ")));

    for (round, name) in GATEWAYS.into_iter().enumerate() {
        let old = fleet.remove(name).ok_or("no such gateway")?;
        old.shut_down(false, Duration::from_secs(10))?;
        say(&format!("{name} has shut down and handed over; its sandboxes run on"));
        // Its sessions' next turns land on the others, while it is replaced.
        for n in (0..sessions).filter(|n| n % 3 == round) {
            let other = GATEWAYS[(round + 1) % 3];
            let held = acquire(&fleet[other], n)?;
            if held.instance != instances[&n] {
                return Err(format!("session {n} got {} and had {}", held.instance, instances[&n]).into());
            }
        }
        fleet.insert(name, start(name, &place)?);
        say(&format!("  {name} was replaced; its sessions found their own sandboxes meanwhile"));
    }

    for n in 0..sessions {
        let held = acquire(&fleet[GATEWAYS[n % 3]], n)?;
        if held.instance != instances[&n] {
            return Err(format!("session {n} got {} and had {}", held.instance, instances[&n]).into());
        }
    }
    for gateway in fleet.values() {
        if let Some(stopped) = gateway.told().into_iter().find(|seen| seen.what == "stopped") {
            return Err(format!("{} stopped {}: {}", gateway.name(), stopped.id, stopped.more).into());
        }
    }
    drop(fleet);
    sweep(&place)
}

fn start(name: &str, place: &Place) -> Result<Remote, Box<dyn Error>> {
    let gateway = Remote::start(name, place, &[])?;
    gateway.wait_for("started", Duration::from_secs(20), &mut |_| {}).ok_or("a gateway did not start")?;
    Ok(gateway)
}

fn acquire(gateway: &Remote, session: usize) -> Result<Handed, Box<dyn Error>> {
    Ok(gateway.acquire("ada", &format!("thread-{session}"), Duration::from_secs(20))?)
}

/// Ends the sandboxes of the story, which nobody else will.
fn sweep(place: &Place) -> Result<(), Box<dyn Error>> {
    let backend = place.backend()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        for info in backend.list().await?.found {
            backend.destroy(&info.instance).await?;
        }
        Ok(())
    })
}

fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}
