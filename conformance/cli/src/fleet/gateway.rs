use std::collections::HashMap;
use std::env;
use std::io::{self, BufRead, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use leasehold::{
    Acquire, Command, Event, Exit, OffloadConfig, Offloaded, Output, OwnerId, Provider, Sandbox, SessionKey,
    ShutdownMode,
};
use tokio::sync::mpsc;

use super::{Place, Timing};

/// The variable that makes a gateway of this program; its value says where and how.
pub(super) const VARIABLE: &str = "LEASEHOLD_GATEWAY";

/// Is a gateway until its parent says no more, if this process was started as one, and says whether it was.
///
/// # Panics
/// When the parent's words make no sense, or the provider can't be started.
pub fn serve_if_asked() -> bool {
    let Ok(told) = env::var(VARIABLE) else { return false };
    let words: Vec<&str> = told.split('\t').collect();
    let [name, store, dir, renewal, warm, idle] = words[..] else { panic!("{VARIABLE} is {told:?}") };
    let millis = |text: &str| Duration::from_millis(text.parse().expect("milliseconds"));
    let timing = Timing { renewal: millis(renewal), warm: millis(warm), idle: millis(idle) };
    let place = Place { store: store.to_owned(), dir: dir.into(), timing };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(serve(name, &place));
    true
}

/// What every gateway writes: this is the whole of embedding a provider.
async fn start(name: &str, place: &Place) -> Provider {
    let config = place.config();
    let owner = OwnerId::new(&format!("{name}:{:016x}", rand())).expect("a valid owner");
    let leases = leasehold_stores::open(&place.store, owner, config.ownership.ttl()).expect("a store");
    let offload = OffloadConfig { deadline: Place::STORE_DEADLINE, ..OffloadConfig::default() };
    let store = Offloaded::new(leases, offload).expect("a facade");
    let backend = place.backend().expect("a backend");
    Provider::builder(config, Arc::new(store), backend).start().await.expect("a provider")
}

/// So that an owner is never the one before it, though their names are the same.
fn rand() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    std::collections::hash_map::RandomState::new().build_hasher().finish()
}

struct Gateway {
    provider: Provider,
    held: Mutex<HashMap<String, Arc<Sandbox>>>,
}

async fn serve(name: &str, place: &Place) {
    let gateway = Arc::new(Gateway { provider: start(name, place).await, held: Mutex::default() });
    let mut events = gateway.provider.events();
    tokio::spawn(async move {
        while let Ok(Some(event)) = events.next().await {
            say(&format!("!\t{}", told(&event)));
        }
    });
    let (line, mut lines) = mpsc::unbounded_channel();
    let ears = std::thread::Builder::new().name("ears".to_owned()).spawn(move || {
        for said in io::stdin().lock().lines().map_while(Result::ok) {
            if line.send(said).is_err() {
                return;
            }
        }
    });
    ears.expect("a thread");
    say(&format!("!\tstarted\t{}", gateway.provider.owner()));
    while let Some(line) = lines.recv().await {
        let gateway = Arc::clone(&gateway);
        tokio::spawn(async move {
            let (number, order) = line.split_once('\t').unwrap_or((&line, ""));
            let words: Vec<&str> = order.split('\t').collect();
            let (verdict, text) = match gateway.obey(&words).await {
                Ok(text) => ("ok", text),
                Err(text) => ("err", text),
            };
            say(&format!("=\t{number}\t{verdict}\t{}", one_line(&text)));
        });
    }
}

impl Gateway {
    async fn obey(&self, words: &[&str]) -> Result<String, String> {
        match *words {
            ["acquire", user, thread, millis] => {
                let session = SessionKey::new(user, thread).map_err(|e| e.to_string())?;
                let deadline = Duration::from_millis(millis.parse().map_err(|_| "no deadline".to_owned())?);
                let request = Acquire::session(session).within(deadline);
                let sandbox = self.provider.acquire(request).await.map_err(|e| e.to_string())?;
                let handle = format!("{:016x}", rand());
                let answer = format!("{handle}\t{}\t{}", sandbox.id(), sandbox.instance());
                self.held().insert(handle, Arc::new(sandbox));
                Ok(answer)
            }
            ["exec", handle, script] => {
                let sandbox = self.sandbox(handle)?;
                let command = Command::new("sh").arg("-c").arg(script).timeout(Duration::from_secs(20));
                let mut running = sandbox.exec(command).await.map_err(|e| e.to_string())?;
                let mut output = Vec::new();
                loop {
                    match running.next().await.map_err(|e| e.to_string())? {
                        Output::Stdout(bytes) | Output::Stderr(bytes) => output.extend(bytes),
                        Output::Exited(Exit::Code(0)) => {
                            return Ok(String::from_utf8_lossy(&output).into_owned());
                        }
                        Output::Exited(exit) => {
                            return Err(format!("{exit:?}: {}", String::from_utf8_lossy(&output)));
                        }
                    }
                }
            }
            ["release", handle] => match self.held().remove(handle) {
                Some(sandbox) => {
                    drop(sandbox);
                    Ok(String::new())
                }
                None => Err("no such handle".to_owned()),
            },
            ["lost", handle] => Ok(self
                .sandbox(handle)?
                .is_lost()
                .map_or_else(|| "no".to_owned(), |reason| reason.to_string())),
            ["status"] => {
                let rows = self.provider.status().sandboxes;
                Ok(rows
                    .iter()
                    .map(|row| format!("{} {:?}", row.id, row.state))
                    .collect::<Vec<_>>()
                    .join(", "))
            }
            ["shutdown", mode, millis] => {
                let mode = if mode == "stop" { ShutdownMode::StopMine } else { ShutdownMode::HandOver };
                let deadline = Duration::from_millis(millis.parse().map_err(|_| "no deadline".to_owned())?);
                let report = self.provider.shutdown(mode, deadline).await;
                if report.is_clean() { Ok(format!("{report:?}")) } else { Err(format!("{report:?}")) }
            }
            _ => Err(format!("no such order: {words:?}")),
        }
    }

    fn held(&self) -> std::sync::MutexGuard<'_, HashMap<String, Arc<Sandbox>>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sandbox(&self, handle: &str) -> Result<Arc<Sandbox>, String> {
        self.held().get(handle).cloned().ok_or_else(|| "no such handle".to_owned())
    }
}

/// An event in a line: a word, the id, and the rest.
fn told(event: &Event) -> String {
    match event {
        Event::Acquired { id, path, session, .. } => {
            let whose = session.as_ref().map_or_else(|| "nobody".to_owned(), ToString::to_string);
            format!("acquired\t{id}\t{path} for {whose}")
        }
        Event::NotAcquired { id, why } => {
            format!("not acquired\t{}\t{why}", id.as_ref().map_or("-", |id| id.as_str()))
        }
        Event::Parked { id } => format!("parked\t{id}\twarm for the next"),
        Event::Lost { id } => format!("lost\t{id}\tanother gateway has it; holders were told"),
        Event::Unowned { id } => format!("unowned\t{id}\tits lease ran out while it was warm"),
        Event::Reclaimed { id } => format!("reclaimed\t{id}\tits lease had run out while it was in use"),
        Event::Adopted { id, .. } => format!("adopted\t{id}\tnobody had owned it for the whole grace"),
        Event::Stopped { id, why, .. } => format!("stopped\t{id}\t{why}"),
        Event::NotStopped { id, why, because } => format!("not stopped\t{id}\t{why}: {because}"),
        Event::Finished { id, .. } => format!("finished\t{id}\tan earlier stop had condemned it"),
        other => format!("note\t-\t{}", one_line(&format!("{other:?}"))),
    }
}

fn one_line(text: &str) -> String {
    text.trim_end().replace('\n', "⏎")
}

fn say(line: &str) {
    let mut out = io::stdout().lock();
    // A parent that is gone hears nothing.
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}
