//! Three gateways in real processes, users who hop between them, and somebody who kills them with -9 and stops them in
//! their tracks, round after round: no sandbox is stopped while a gateway in good standing uses it, no acquire is stuck, and
//! nothing is left over.
//!
//! `cargo run --release --example chaos [--rounds N] [--seed S] [--sessions N] [file|sqlite|redis…]` ends with 0 if so.

use std::error::Error;
use std::io::Write;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use leasehold::{Deadline, OwnerId};
use leasehold_cli::fleet::{Failed, Handed, Place, Remote, serve_if_asked};
use leasehold_conformance::servers::RedisServer;
use leasehold_conformance::{Unready, is_required};

/// How many users there are, each with one turn at a time.
const USERS: usize = 4;
const GATEWAYS: usize = 3;
/// How long an acquire may take.
const TURN: Duration = Duration::from_secs(8);
/// How much longer its answer may be on its way on a busy machine.
const SLACK: Duration = Duration::from_secs(4);

struct Asked {
    rounds: u64,
    seed: u64,
    sessions: u64,
    stores: Vec<String>,
}

fn main() -> ExitCode {
    if serve_if_asked() {
        return ExitCode::SUCCESS;
    }
    let asked = match parse(std::env::args().skip(1)) {
        Ok(asked) => asked,
        Err(why) => {
            say(&format!("chaos: {why}"));
            return ExitCode::from(2);
        }
    };
    let mut good = true;
    for store in &asked.stores {
        match run(store, &asked) {
            Ok(Some(line)) => say(&line),
            Ok(None) => {}
            Err(why) => {
                say(&format!("{store}: NOT as promised: {why}; again with --seed {}", asked.seed));
                good = false;
            }
        }
    }
    if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn parse(mut args: impl Iterator<Item = String>) -> Result<Asked, String> {
    let mut asked = Asked { rounds: 8, seed: 1, sessions: 6, stores: Vec::new() };
    while let Some(arg) = args.next() {
        let mut number =
            || args.next().and_then(|n| n.parse().ok()).ok_or(format!("{arg} takes a whole number"));
        match arg.as_str() {
            "--rounds" => asked.rounds = number()?,
            "--seed" => asked.seed = number()?,
            "--sessions" => asked.sessions = number()?.max(1),
            "file" | "sqlite" | "redis" => asked.stores.push(arg),
            other => return Err(format!("{other:?} is neither an option nor a store (file, sqlite, redis)")),
        }
    }
    if asked.stores.is_empty() {
        asked.stores = ["file", "sqlite", "redis"].map(str::to_owned).to_vec();
    }
    Ok(asked)
}

/// One seat of the fleet: whoever sits there now, and since when it has been in good standing.
struct Seat {
    gateway: Option<Arc<Remote>>,
    /// Counts kills and pauses: whoever sees the same number before and after has had a gateway that was well all along.
    disturbed: u64,
    /// Whether it is stopped in its tracks just now.
    paused: bool,
}

struct Town {
    place: Place,
    seats: Vec<RwLock<Seat>>,
    over: AtomicBool,
    turns: AtomicU64,
    taken: AtomicU64,
    refused: AtomicU64,
    wrong: Mutex<Vec<String>>,
    slowest: Mutex<Duration>,
}

fn run(store: &str, asked: &Asked) -> Result<Option<String>, Box<dyn Error>> {
    let dir = tempfile::tempdir()?;
    let at = |name: &str| dir.path().join(name).display().to_string();
    let mut server = None;
    let url = match store {
        "file" => format!("file:{}", at("leases")),
        "sqlite" => format!("sqlite:{}", at("leases.db")),
        _ => match RedisServer::start(&[]) {
            Ok(started) => server.insert(started).url(),
            Err(Unready::NotRun(why)) if !is_required("redis") => {
                say(&format!("redis: not run: {why}"));
                return Ok(None);
            }
            Err(why) => return Err(why.to_string().into()),
        },
    };
    let place = Place::new(dir.path(), url);
    let seats =
        (0..GATEWAYS).map(|_| RwLock::new(Seat { gateway: None, disturbed: 0, paused: false })).collect();
    let town = Town {
        place,
        seats,
        over: false.into(),
        turns: 0.into(),
        taken: 0.into(),
        refused: 0.into(),
        wrong: Mutex::default(),
        slowest: Mutex::default(),
    };
    for seat in 0..GATEWAYS {
        town.seat_a_gateway(seat)?;
    }
    let mut chance = Chance(asked.seed);
    let (mut kills, mut pauses) = (0, 0);
    std::thread::scope(|threads| -> Result<(), Box<dyn Error>> {
        for user in 0..USERS {
            let (town, mut chance) = (&town, Chance(chance.next() ^ user as u64));
            std::thread::Builder::new()
                .name(format!("user {user}"))
                .spawn_scoped(threads, move || town.be_a_user(user, asked.sessions, &mut chance))?;
        }
        let mut disturb = || -> Result<(), Box<dyn Error>> {
            for _ in 0..asked.rounds {
                rest(Duration::from_millis(200 + chance.below(600)));
                let seat = chance.below(GATEWAYS as u64) as usize;
                if chance.below(3) == 0 {
                    kills += 1;
                    town.kill(seat)?;
                } else {
                    pauses += 1;
                    // Some are over before anybody notices, some last longer than a lease.
                    let long = [100, 700, 3_000][chance.below(3) as usize];
                    town.pause(seat, Duration::from_millis(long))?;
                }
            }
            Ok(())
        };
        let disturbed = disturb();
        town.over.store(true, Ordering::SeqCst);
        disturbed
    })?;
    let wrong = std::mem::take(&mut *lock(&town.wrong));
    if !wrong.is_empty() {
        return Err(wrong.join("; ").into());
    }
    let left = town.ends_with_nothing_left()?;
    Ok(Some(format!(
        "{store}: {} rounds, {kills} kills, {pauses} pauses, {} turns, {} of them taken over by another gateway, {} refused; \
         no sandbox stopped in use, slowest acquire {:.1} s, nothing left {:.1} s after the end",
        asked.rounds,
        town.turns.load(Ordering::SeqCst),
        town.taken.load(Ordering::SeqCst),
        town.refused.load(Ordering::SeqCst),
        lock(&town.slowest).as_secs_f64(),
        left.as_secs_f64(),
    )))
}

impl Town {
    fn seat_a_gateway(&self, seat: usize) -> Result<(), Box<dyn Error>> {
        let name = ["A", "B", "C"][seat];
        let gateway = Remote::start(name, &self.place, &[])?;
        gateway.wait_for("started", Duration::from_secs(30), &mut |_| {}).ok_or("a gateway did not start")?;
        self.seats[seat].write().unwrap_or_else(PoisonError::into_inner).gateway = Some(Arc::new(gateway));
        Ok(())
    }

    fn kill(&self, seat: usize) -> Result<(), Box<dyn Error>> {
        {
            let mut seat = self.seats[seat].write().unwrap_or_else(PoisonError::into_inner);
            seat.disturbed += 1;
            if let Some(gateway) = seat.gateway.take() {
                gateway.kill_now()?;
            }
        }
        self.seat_a_gateway(seat)
    }

    fn pause(&self, seat: usize, long: Duration) -> Result<(), Box<dyn Error>> {
        let change = |paused: bool| -> Result<(), Box<dyn Error>> {
            let mut seat = self.seats[seat].write().unwrap_or_else(PoisonError::into_inner);
            seat.disturbed += 1;
            seat.paused = paused;
            if let Some(gateway) = &seat.gateway {
                gateway.pause(paused)?;
            }
            Ok(())
        };
        change(true)?;
        rest(long);
        change(false)
    }

    /// The gateway of a seat, and how often it had been disturbed.
    fn at(&self, seat: usize) -> (Option<Arc<Remote>>, u64, bool) {
        let seat = self.seats[seat].read().unwrap_or_else(PoisonError::into_inner);
        (seat.gateway.clone(), seat.disturbed, seat.paused)
    }

    /// Whether the gateway of a seat has been in good standing since it had been disturbed `then` times.
    fn was_well(&self, seat: usize, then: u64) -> bool {
        let (_, now, paused) = self.at(seat);
        now == then && !paused
    }

    fn be_a_user(&self, user: usize, sessions: u64, chance: &mut Chance) {
        while !self.over.load(Ordering::SeqCst) {
            let seat = chance.below(GATEWAYS as u64) as usize;
            let session = format!("thread-{}", chance.below(sessions));
            let (Some(gateway), disturbed, paused) = self.at(seat) else { continue };
            if paused {
                rest(Duration::from_millis(50));
                continue;
            }
            let asked = Deadline::after(Duration::ZERO);
            let answer = gateway.acquire("ada", &session, TURN);
            let took = asked.elapsed();
            let well = self.was_well(seat, disturbed);
            if well {
                let mut slowest = lock(&self.slowest);
                *slowest = (*slowest).max(took);
                if took > TURN + SLACK {
                    self.is_wrong(format!(
                        "user {user}: an acquire of {session} on {} took {took:?}",
                        gateway.name()
                    ));
                }
            }
            match answer {
                Ok(handed) => {
                    self.turns.fetch_add(1, Ordering::SeqCst);
                    self.take_a_turn(&gateway, seat, disturbed, &session, &handed, chance);
                }
                Err(Failed::Refused(_)) => drop(self.refused.fetch_add(1, Ordering::SeqCst)),
                Err(Failed::Silent) if well => {
                    self.is_wrong(format!(
                        "user {user}: {} is well and did not answer an acquire",
                        gateway.name()
                    ));
                }
                Err(Failed::Silent) => {}
            }
        }
    }

    /// Uses a sandbox for a while. As long as its gateway is well, it works, or the gateway says that another has it.
    fn take_a_turn(
        &self,
        gateway: &Remote,
        seat: usize,
        disturbed: u64,
        session: &str,
        handed: &Handed,
        chance: &mut Chance,
    ) {
        self.use_it(gateway, seat, disturbed, session, handed, chance);
        // Whatever came of it; a gateway that is gone has let go by itself.
        let _ = gateway.release(handed);
    }

    fn use_it(
        &self,
        gateway: &Remote,
        seat: usize,
        disturbed: u64,
        session: &str,
        handed: &Handed,
        chance: &mut Chance,
    ) {
        for _ in 0..=chance.below(4) {
            let done = gateway.exec(handed, "echo alive");
            let lost = gateway.lost(handed);
            if !self.was_well(seat, disturbed) {
                return;
            }
            match (done, lost) {
                (Ok(said), _) if said == "alive" => {}
                (Err(_), Ok(Some(why))) if why.contains("another gateway") => {
                    self.taken.fetch_add(1, Ordering::SeqCst);
                    return;
                }
                (done, lost) => {
                    self.is_wrong(format!(
                        "{session} on {}: instance {} was in use by a gateway in good standing: {done:?}, lost: {lost:?}",
                        gateway.name(),
                        handed.instance
                    ));
                    return;
                }
            }
            rest(Duration::from_millis(chance.below(200)));
        }
    }

    fn is_wrong(&self, what: String) {
        lock(&self.wrong).push(what);
        self.over.store(true, Ordering::SeqCst);
    }

    /// Kills all gateways but one, which tidies up after everybody. Says how long that took.
    fn ends_with_nothing_left(&self) -> Result<Duration, Box<dyn Error>> {
        for seat in 1..GATEWAYS {
            let mut seat = self.seats[seat].write().unwrap_or_else(PoisonError::into_inner);
            if let Some(gateway) = seat.gateway.take() {
                gateway.kill_now()?;
            }
        }
        let config = self.place.config();
        // What the dead held runs out, is watched, is adopted, comes of age, and is reaped; and a stop that fails once is
        // begun again after as long.
        let one =
            config.ownership.ttl().as_duration() + config.grace() + config.horizon() + config.warm_timeout;
        let patience = Deadline::after(one * 2 + Duration::from_secs(5));
        let backend = self.place.backend()?;
        let store = leasehold_stores::open(&self.place.store, OwnerId::generate(), config.ownership.ttl())?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        loop {
            let sandboxes = runtime.block_on(backend.list())?;
            let leases = store.list()?;
            if sandboxes.found.is_empty() && sandboxes.unreadable.is_empty() && leases.leases.is_empty() {
                return Ok(patience.elapsed());
            }
            if patience.passed() {
                let status = self.at(0).0.map(|gateway| gateway.status());
                for info in sandboxes.found.iter() {
                    let _ = runtime.block_on(backend.destroy(&info.instance));
                }
                return Err(format!("left over: {sandboxes:?}, {leases:?}; A says {status:?}").into());
            }
            rest(Duration::from_millis(100));
        }
    }
}

/// Random numbers by a seed.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[expect(clippy::disallowed_methods, reason = "real processes live in real time")]
fn rest(duration: Duration) {
    std::thread::sleep(duration);
}

fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}
