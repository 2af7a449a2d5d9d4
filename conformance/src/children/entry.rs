use std::env;
use std::io::{self, BufRead, Write};
use std::sync::Arc;
use std::time::Duration;

use leasehold::{BootClock, OwnerId, Ttl};

use super::Again;
use crate::Harness;
use crate::history::{Event, Order, Recorder};
use crate::kit::Store;
use crate::race::Share;

/// What stands before each line that is meant for the parent.
pub(super) const MARK: &str = "leasehold child: ";

/// The name of the harness for whose store this process was started as a child; `None` when it is none.
#[must_use]
pub fn asked_for() -> Option<String> {
    env::var(Again::VARIABLE).ok()
}

/// Does what the parent says until it says no more, if this process was started as a child, and says whether it was.
pub fn serve_if_asked(harness: &dyn Harness) -> bool {
    let asked = asked_for().is_some();
    if asked {
        serve(harness);
    }
    asked
}

/// Does what the parent says on standard input until it says no more.
pub fn serve(harness: &dyn Harness) {
    let mut opened: Option<Opened> = None;
    for line in io::stdin().lock().lines().map_while(Result::ok) {
        let words: Vec<&str> = line.split('\t').collect();
        let answer = match (words.as_slice(), &opened) {
            (["open", address, owner, millis], _) => {
                Opened::new(harness, address, owner, millis).map(|new| {
                    let quantum = new.store.quantum().as_nanos();
                    opened = Some(new);
                    quantum.to_string()
                })
            }
            (["ask", id, asked @ ..], Some(opened)) => opened.ask(id, asked),
            ([word, share @ ..], Some(opened)) if *word == Share::WORD => match Share::parse(share) {
                Some(share) => share
                    .run(&opened.store, opened.clock)
                    .map(|calls| calls.to_string())
                    .map_err(|e| e.to_string()),
                None => Err(format!("no share: {line:?}")),
            },
            _ => Err(format!("no command: {line:?}")),
        };
        let answer = answer.unwrap_or_else(|why| format!("error\t{}", why.replace('\n', " ")));
        let mut out = io::stdout().lock();
        if writeln!(out, "{MARK}{answer}").and_then(|()| out.flush()).is_err() {
            return;
        }
    }
}

/// A store that a child has open.
struct Opened {
    store: Store,
    clock: BootClock,
}

impl Opened {
    fn new(harness: &dyn Harness, address: &str, owner: &str, millis: &str) -> Result<Self, String> {
        let owner = OwnerId::new(owner).map_err(|e| e.to_string())?;
        let millis = millis.parse().map_err(|_| format!("no TTL: {millis:?}"))?;
        let ttl = Ttl::new(Duration::from_millis(millis)).map_err(|e| e.to_string())?;
        let namespace = harness.at(address).map_err(|e| e.to_string())?;
        let clock = BootClock::new().map_err(|e| e.to_string())?;
        let store = namespace.open(owner, ttl, Arc::new(clock)).map_err(|e| format!("{e:?}"))?;
        Ok(Self { store, clock })
    }

    fn ask(&self, id: &str, asked: &[&str]) -> Result<String, String> {
        let id = id.parse().map_err(|e: leasehold::InvalidId| e.to_string())?;
        // The word for what is asked is read as a part of an event.
        let whole = format!("{id}\tnobody\t0\t0\t0\t{}", asked.join("\t"));
        let asked = whole.parse::<Event>().map_err(|e| e.to_string())?.asked;
        let mut recorded = None;
        let mut write = |event| recorded = Some(event);
        let _ = Recorder::new(&*self.store, &self.clock, Order::Timed, &mut write).ask(&id, asked);
        recorded.map(|event: Event| event.to_string()).ok_or_else(|| "nothing was recorded".to_owned())
    }
}
