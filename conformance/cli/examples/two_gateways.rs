//! Two gateways, two real processes, share sandboxes: a conversation moves between them, one of them is killed in the middle
//! of its work, and the other tidies up after it, not a moment too early.
//!
//! `cargo run --release --example two_gateways` tells the story as it happens and ends with 0 if all was as promised.

use std::error::Error;
use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use leasehold::{Deadline, OwnerId};
use leasehold_cli::fleet::{Place, Remote, Seen, serve_if_asked};

fn main() -> ExitCode {
    if serve_if_asked() {
        return ExitCode::SUCCESS;
    }
    match story() {
        Ok(()) => {
            say(
                "\nAll as promised: the sandbox was never stopped while anybody used it, and nothing was left over.",
            );
            ExitCode::SUCCESS
        }
        Err(why) => {
            say(&format!("\nNOT as promised: {why}"));
            ExitCode::FAILURE
        }
    }
}

/// Says what happens, with the time since the beginning.
struct Timeline(Deadline);

impl Timeline {
    fn note(&self, who: &str, what: &str) {
        say(&format!("{:6.1} s  {who:<3} {what}", self.0.elapsed().as_secs_f64()));
    }

    fn seen(&self, who: &str, seen: &Seen) {
        if !matches!(seen.what.as_str(), "note" | "parked" | "started") {
            self.note(who, &format!("{}: {}", seen.what, seen.more));
        }
    }
}

fn story() -> Result<(), Box<dyn Error>> {
    let dir = tempfile::tempdir()?;
    let place = Place::new(dir.path(), format!("sqlite:{}", dir.path().join("leases.db").display()));
    let config = place.config();
    let (ttl, grace, warm) = (config.ownership.ttl().as_duration(), config.grace(), config.warm_timeout);
    say(&format!(
        "Leases last {ttl:?} and are renewed every {:?}; a sandbox that nobody owns is watched for {grace:?} before it is \
         adopted; one that nobody holds is kept warm for {warm:?}. (In production: minutes.)\n",
        config.ownership.renewal_interval()
    ));
    let timeline = Timeline(Deadline::after(Duration::ZERO));
    let (patience, turn) = (Duration::from_secs(20), Duration::from_secs(10));

    let mut a = Remote::start("A", &place, &[])?;
    let b = Remote::start("B", &place, &[])?;
    for gateway in [&a, &b] {
        gateway.wait_for("started", patience, &mut |_| {}).ok_or("a gateway did not start")?;
    }
    timeline.note("", "gateways A and B are up, over one SQLite file and the processes of this host");

    let acquire = |who: &str, gateway: &Remote| -> Result<_, Box<dyn Error>> {
        let handed = gateway.acquire("ada", "thread-7", turn)?;
        gateway
            .wait_for("acquired", patience, &mut |seen| timeline.seen(who, seen))
            .ok_or("nothing was told")?;
        Ok(handed)
    };

    let first = acquire("A", &a)?;
    timeline.note("A", &format!("ada's conversation begins in sandbox {}", short(&first.id)));
    a.exec(&first, "echo 'the answer is 42' > note.txt")?;
    timeline.note("A", "a tool writes a note in the sandbox");

    let second = acquire("B", &b)?;
    same("the sandbox that B was handed", &second.instance, &first.instance)?;
    let note = b.exec(&second, "cat note.txt")?;
    same("the note", &note, "the answer is 42")?;
    timeline
        .note("B", "her next turn lands on B, which takes the very same sandbox and reads the note in it");
    a.wait_for("lost", patience, &mut |seen| timeline.seen("A", seen))
        .ok_or("A was not told that it lost it")?;

    let third = acquire("A", &a)?;
    same("the sandbox that A was handed again", &third.instance, &first.instance)?;
    timeline.note("A", "the turn after that is A's again, and so is the sandbox");
    b.release(&second)?;
    a.exec(&third, "echo 'and the question is long' >> note.txt")?;
    b.wait_for("lost", patience, &mut |seen| timeline.seen("B", seen))
        .ok_or("B was not told that it lost it")?;

    a.kill();
    let killed = Deadline::after(Duration::ZERO);
    timeline.note("A", "is killed with -9 in the middle of its work; its sandbox runs on");

    let adopted =
        b.wait_for("adopted", patience, &mut |seen| timeline.seen("B", seen)).ok_or("B did not adopt it")?;
    same("what B adopted", &adopted.id, &first.id)?;
    let waited = killed.elapsed();
    if waited < grace {
        return Err(format!("it was adopted after {waited:?}, before the grace of {grace:?} was over").into());
    }
    timeline.note(
        "B",
        &format!("that was {:.1} s after the crash, and not before the grace was over", waited.as_secs_f64()),
    );

    let stopped =
        b.wait_for("stopped", patience, &mut |seen| timeline.seen("B", seen)).ok_or("B did not reap it")?;
    same("what B reaped", &stopped.id, &first.id)?;
    b.shut_down(false, turn)?;
    timeline.note("B", "shuts down");

    nothing_is_left(&place)
}

/// No sandbox, no lease.
fn nothing_is_left(place: &Place) -> Result<(), Box<dyn Error>> {
    let ttl = place.config().ownership.ttl();
    let leases = leasehold_stores::open(&place.store, OwnerId::generate(), ttl)?.list()?;
    let backend = place.backend()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let listing = runtime.block_on(backend.list())?;
    if leases.leases.is_empty() && listing.found.is_empty() {
        return Ok(());
    }
    Err(format!("left over: {leases:?}, {listing:?}").into())
}

fn same(what: &str, is: &str, should_be: &str) -> Result<(), Box<dyn Error>> {
    if is == should_be { Ok(()) } else { Err(format!("{what} is {is:?} and should be {should_be:?}").into()) }
}

fn short(id: &str) -> &str {
    id.get(..12).unwrap_or(id)
}

fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}
