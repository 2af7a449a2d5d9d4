//! The harness of the Redis store.

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use leasehold::{Clock, OwnerId, OwnershipStore, Phase, Reach, SandboxId, StoreError, Ttl};
use leasehold_conformance::servers::{RawRedis, RawReply, RedisServer};
use leasehold_conformance::{Capabilities, Damage, Faults, Harness, Namespace, Outage, Unready};

/// Every namespace is a prefix of its own: on a server of its own, which can then be broken at will, or on one that is
/// there already and holds other people's keys too.
///
/// By default the server that `LEASEHOLD_TEST_URL` names is used if that is a Redis URL, else each namespace gets a
/// server of its own.
#[derive(Clone, Debug)]
pub struct RedisHarness {
    /// The server that is there already, as the URL names it.
    url: Option<String>,
}

impl RedisHarness {
    /// What the store promises here: less than it does by default, so that cases with a hung server go faster.
    const DEADLINE: Duration = Duration::from_secs(1);

    /// On the server at `url`, where each namespace is a fresh prefix below the one that the URL sets. No keys but
    /// these are touched.
    #[must_use]
    pub fn at_url(url: &str) -> Self {
        Self { url: Some(url.to_owned()) }
    }

    /// Each namespace on a server of its own, started for it.
    #[must_use]
    pub fn private() -> Self {
        Self { url: None }
    }
}

impl Default for RedisHarness {
    fn default() -> Self {
        let named = std::env::var("LEASEHOLD_TEST_URL").ok();
        Self { url: named.filter(|url| url.starts_with("redis")) }
    }
}

impl Harness for RedisHarness {
    fn name(&self) -> String {
        "redis".to_owned()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::real_time(Reach::Cluster).deadline(Self::DEADLINE)
    }

    fn fresh(&self) -> Result<Box<dyn Namespace>, Unready> {
        let random = RandomState::new().hash_one(std::process::id());
        let namespace = match &self.url {
            Some(url) => {
                let mut namespace = RedisNamespace::of(url, Some(random))?;
                namespace.fresh = true;
                namespace
            }
            None => {
                let server = RedisServer::start(&[])?;
                let mut namespace = RedisNamespace::of(&server.url(), Some(random))?;
                namespace.server = Some(Mutex::new(server));
                namespace
            }
        };
        // What is wrong with the server is said before any case blames the store for it.
        if !namespace.is_encrypted() {
            namespace.ask(&["PING"])?;
        }
        Ok(Box::new(namespace))
    }

    fn at(&self, address: &str) -> Result<Box<dyn Namespace>, Unready> {
        Ok(Box::new(RedisNamespace::of(address, None)?))
    }
}

struct RedisNamespace {
    /// The URL with all its settings, for the store.
    url: String,
    prefix: String,
    /// How a bare client gets there; `None` over TLS, which it doesn't speak.
    way: Option<Way>,
    /// The keys go when this value goes.
    fresh: bool,
    server: Option<Mutex<RedisServer>>,
}

/// Where a server is and how one logs in, for a bare client.
struct Way {
    place: Place,
    user: String,
    password: Option<String>,
    database: String,
}

enum Place {
    Tcp(String),
    Unix(PathBuf),
}

impl RedisNamespace {
    /// The namespace that `url` names, or a random one below it.
    fn of(url: &str, random: Option<u64>) -> Result<Self, Unready> {
        let (base, settings) = url.split_once('?').unwrap_or((url, ""));
        let mut settings: Vec<&str> = settings.split('&').filter(|setting| !setting.is_empty()).collect();
        let named = settings.iter().find_map(|setting| setting.strip_prefix("prefix="));
        let mut prefix = named.unwrap_or("leasehold-test").to_owned();
        if let Some(random) = random {
            prefix = format!("{prefix}:{random:016x}");
        }
        let way = Way::of(base, &settings)?;
        let (own_prefix, deadline) =
            (format!("prefix={prefix}"), format!("deadline_ms={}", RedisHarness::DEADLINE.as_millis()));
        settings.retain(|setting| !setting.starts_with("prefix=") && !setting.starts_with("deadline_ms="));
        settings.extend([own_prefix.as_str(), deadline.as_str()]);
        let url = format!("{base}?{}", settings.join("&"));
        Ok(Self { url, prefix, way, fresh: false, server: None })
    }

    fn is_encrypted(&self) -> bool {
        self.way.is_none()
    }

    fn key(&self, id: &SandboxId) -> String {
        format!("{}:{id}", self.prefix)
    }

    fn connect(&self) -> io::Result<RawRedis> {
        let way = self.way.as_ref().ok_or_else(|| io::Error::other("the harness speaks no TLS"))?;
        let mut client = match &way.place {
            Place::Tcp(address) => RawRedis::connect(address)?,
            Place::Unix(path) => RawRedis::connect_unix(path)?,
        };
        if let Some(password) = &way.password {
            client.must(&["AUTH", &way.user, password])?;
        }
        client.must(&["SELECT", &way.database])?;
        Ok(client)
    }

    fn ask(&self, words: &[impl AsRef<[u8]>]) -> Result<RawReply, Unready> {
        self.connect().and_then(|mut client| client.must(words)).map_err(Unready::from)
    }

    /// The keys that begin with `before`, the prefix and a colon.
    fn keys(&self, before: &str) -> io::Result<Vec<String>> {
        let mut client = self.connect()?;
        let special = |c| matches!(c, '*' | '?' | '[' | ']' | '^' | '\\');
        let plain = self.prefix.chars().flat_map(|c| special(c).then_some('\\').into_iter().chain([c]));
        let pattern = format!("{before}{}:*", plain.collect::<String>());
        let (mut keys, mut cursor) = (Vec::new(), "0".to_owned());
        loop {
            let page = client.must(&["SCAN", &cursor, "MATCH", &pattern, "COUNT", "1000"])?;
            if let [next, found] = page.items() {
                keys.extend(found.items().iter().map(RawReply::text));
                cursor = next.text();
            }
            if cursor == "0" {
                keys.sort();
                keys.dedup();
                return Ok(keys);
            }
        }
    }

    /// Removes this namespace's leases and marks. The prefix ends in random digits, so nobody else's keys match.
    fn clear(&self) -> io::Result<()> {
        let mut client = self.connect()?;
        for key in self.keys("")?.into_iter().chain(self.keys("{")?) {
            client.must(&["DEL", &key])?;
        }
        Ok(())
    }

    fn server(&self) -> Result<MutexGuard<'_, RedisServer>, Unready> {
        let server = self.server.as_ref().ok_or_else(|| Unready::broken("the server is shared"))?;
        Ok(server.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Way {
    fn of(base: &str, settings: &[&str]) -> Result<Option<Self>, Unready> {
        let setting = |name: &str| {
            settings
                .iter()
                .find_map(|setting| setting.strip_prefix(name)?.strip_prefix('='))
                .map(str::to_owned)
        };
        if let Some(path) = base.strip_prefix("redis+unix:") {
            let path = path.strip_prefix("//").unwrap_or(path);
            return Ok(Some(Self {
                place: Place::Unix(path.into()),
                user: setting("user").unwrap_or_else(|| "default".to_owned()),
                password: setting("password"),
                database: setting("db").unwrap_or_else(|| "0".to_owned()),
            }));
        }
        if base.starts_with("rediss:") {
            return Ok(None);
        }
        let rest = base
            .strip_prefix("redis://")
            .ok_or_else(|| Unready::broken("the harness needs a URL like redis://host:6379/0"))?;
        let (login, rest) = rest.rsplit_once('@').map_or((None, rest), |(login, rest)| (Some(login), rest));
        let (host, database) = rest.split_once('/').unwrap_or((rest, ""));
        let (user, password) = login.map_or(("", None), |login| match login.split_once(':') {
            Some((user, password)) => (user, Some(password)),
            None => (login, None),
        });
        let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
        let or = |text: &str, other: &str| if text.is_empty() { other.to_owned() } else { text.to_owned() };
        Ok(Some(Self {
            place: Place::Tcp(if has_port { host.to_owned() } else { format!("{host}:6379") }),
            user: or(&decoded(user), "default"),
            password: password.map(decoded),
            database: or(database, "0"),
        }))
    }
}

/// `text` with `%40` and the like as the characters they stand for.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let code = tail.get(..2).and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
        match code {
            Some(code) if *first == b'%' => {
                bytes.push(code);
                rest = &tail[2..];
            }
            _ => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

impl Namespace for RedisNamespace {
    fn open(
        &self,
        owner: OwnerId,
        ttl: Ttl,
        clock: Arc<dyn Clock>,
    ) -> Result<Arc<dyn OwnershipStore>, StoreError> {
        leasehold_stores::open_with(&self.url.parse()?, owner, ttl, clock).map(Arc::from)
    }

    fn address(&self) -> Option<String> {
        Some(self.url.clone())
    }

    fn stored(&self) -> Option<u64> {
        Some(self.keys("").ok()?.len() as u64)
    }

    fn faults(&self) -> Option<&dyn Faults> {
        if self.is_encrypted() { None } else { Some(self) }
    }
}

impl Faults for RedisNamespace {
    fn damages(&self) -> &'static [Damage] {
        &[Damage::Torn, Damage::Newer, Damage::Garbage, Damage::WrongType, Damage::NoExpiry]
    }

    fn damage(&self, id: &SandboxId, how: Damage) -> Result<(), Unready> {
        let key = self.key(id);
        let put = |value: &[u8]| self.ask(&[b"SET", key.as_bytes(), value, b"KEEPTTL"]).map(drop);
        match how {
            Damage::Torn => put(b"own:"),
            Damage::Newer => put(b"own2:gw-1#7#2030"),
            Damage::Garbage => put(b"own:\xff\x00\x01"),
            Damage::WrongType => {
                self.ask(&["DEL", &key])?;
                self.ask(&["RPUSH", &key, "own:gw-1"]).map(drop)
            }
            Damage::NoExpiry => self.ask(&["PERSIST", &key]).map(drop),
            Damage::Flipped | Damage::Misplaced => Err(Unready::broken(format!("can't do {how:?}"))),
        }
    }

    fn raw(&self, id: &SandboxId) -> Result<Option<Vec<u8>>, Unready> {
        let key = self.key(id);
        // Whatever the type. The time left changes by itself; that there is an end to it doesn't.
        match self.ask(&["DUMP", &key])? {
            RawReply::Text(mut bytes) => {
                let ends = self.ask(&["PTTL", &key])?.int() != Some(-1);
                bytes.push(u8::from(ends));
                Ok(Some(bytes))
            }
            _ => Ok(None),
        }
    }

    fn outages(&self) -> &'static [Outage] {
        if self.server.is_some() { &[Outage::Down, Outage::Hung, Outage::Refusing] } else { &[] }
    }

    fn start_outage(&self, outage: Outage) -> Result<(), Unready> {
        let mut server = self.server()?;
        match outage {
            Outage::Down => server.save_and_stop(),
            Outage::Hung => server.pause(),
            // A replica whose primary is nowhere keeps what it has, and refuses.
            Outage::Refusing => server.connect().and_then(|mut client| {
                client.must(&["REPLICAOF", "127.0.0.1", "1"]).map(drop).map_err(Unready::from)
            }),
        }
    }

    fn end_outage(&self) -> Result<(), Unready> {
        let mut server = self.server()?;
        if !server.is_running() {
            return server.restart();
        }
        server.resume()?;
        server.connect()?.must(&["REPLICAOF", "NO", "ONE"])?;
        Ok(())
    }

    fn can_wipe(&self) -> bool {
        true
    }

    fn wipe(&self) -> Result<(), Unready> {
        Ok(self.clear()?)
    }

    fn can_plant_foreign(&self) -> bool {
        true
    }

    fn plant_foreign(&self, id: &SandboxId, owner: &str, phase: Phase, ttl: Duration) -> Result<(), Unready> {
        let word = match phase {
            Phase::Held => "own",
            Phase::Teardown => "del",
        };
        let (value, ttl) = (format!("{word}:{owner}"), ttl.as_millis().to_string());
        self.ask(&["SET", &self.key(id), &value, "PX", &ttl]).map(drop)
    }
}

impl Drop for RedisNamespace {
    fn drop(&mut self) {
        if self.fresh && !self.is_encrypted() {
            // A server that is gone by now has nothing left to clean, and leases go by themselves anyway.
            let _ = self.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_keeps_its_settings_and_gets_a_fresh_prefix() {
        let url = "redis://gw:p%40ss@h/3?pool=2&prefix=prod&deadline_ms=9";
        let namespace = RedisNamespace::of(url, Some(0xab)).unwrap();
        assert_eq!(
            namespace.url,
            "redis://gw:p%40ss@h/3?pool=2&prefix=prod:00000000000000ab&deadline_ms=1000"
        );
        let way = namespace.way.as_ref().unwrap();
        assert!(matches!(&way.place, Place::Tcp(address) if address == "h:6379"));
        assert_eq!((way.user.as_str(), way.password.as_deref()), ("gw", Some("p@ss")));
        assert_eq!(way.database, "3");
        assert_eq!(RedisNamespace::of(&namespace.url, None).unwrap().url, namespace.url);
    }

    #[test]
    fn a_socket_and_tls_are_understood() {
        let socket = RedisNamespace::of("redis+unix:///run/r.sock?db=2&password=x", None).unwrap();
        let way = socket.way.as_ref().unwrap();
        assert!(matches!(&way.place, Place::Unix(path) if path.as_os_str() == "/run/r.sock"));
        assert_eq!((way.user.as_str(), way.database.as_str()), ("default", "2"));
        assert!(RedisNamespace::of("rediss://h/0", None).unwrap().faults().is_none());
    }

    fn private() -> Option<Box<dyn Namespace>> {
        match RedisHarness::private().fresh() {
            Ok(namespace) => Some(namespace),
            Err(Unready::NotRun(why)) => {
                let required = std::env::var("LEASEHOLD_REQUIRE").unwrap_or_default();
                assert!(!required.split(',').any(|name| name.trim() == "redis"), "not run: {why}");
                eprintln!("not run: {why}");
                None
            }
            Err(Unready::Broken(why)) => panic!("{why}"),
        }
    }

    fn open(namespace: &dyn Namespace) -> Arc<dyn OwnershipStore> {
        let clock = Arc::new(leasehold::ManualClock::new());
        namespace.open(OwnerId::generate(), Ttl::from_millis(60_000).unwrap(), clock).unwrap()
    }

    #[test]
    fn every_outage_is_one_and_ends_with_everything_still_there() {
        let Some(namespace) = private() else { return };
        let (store, id) = (open(namespace.as_ref()), "sbx-1".parse().unwrap());
        let faults = namespace.faults().unwrap();
        let _ = store.take(&id).unwrap();
        for outage in faults.outages() {
            faults.start_outage(*outage).unwrap();
            assert!(store.inspect(&id).is_err(), "{outage:?}");
            faults.end_outage().unwrap();
            assert!(open(namespace.as_ref()).inspect(&id).unwrap().is_some(), "{outage:?}");
        }
    }

    #[test]
    fn every_damage_is_one() {
        let Some(namespace) = private() else { return };
        let (store, id) = (open(namespace.as_ref()), "sbx-1".parse().unwrap());
        let faults = namespace.faults().unwrap();
        for damage in faults.damages() {
            let _ = store.take(&id).unwrap();
            let before = faults.raw(&id).unwrap();
            faults.damage(&id, *damage).unwrap();
            assert_ne!(faults.raw(&id).unwrap(), before, "{damage:?}");
            assert_eq!(store.inspect(&id).unwrap_err().kind(), leasehold::ErrorKind::Corrupt, "{damage:?}");
            let _ = store.discard(&id, true).unwrap();
        }
        faults.plant_foreign(&id, "peer", Phase::Held, Duration::from_secs(60)).unwrap();
        assert_eq!(store.inspect(&id).unwrap().unwrap().fence, None);
        assert_eq!(namespace.stored(), Some(1), "marks are not counted");
        faults.wipe().unwrap();
        assert_eq!(namespace.stored(), Some(0));
    }

    #[test]
    fn a_shared_server_is_left_as_it_was() {
        let Some(namespace) = private() else { return };
        let server = RedisHarness::at_url(&namespace.address().unwrap());
        let mine = open(namespace.as_ref());
        let _ = mine.take(&"sbx-1".parse().unwrap()).unwrap();
        let fresh = server.fresh().unwrap();
        let _ = open(fresh.as_ref()).take(&"sbx-2".parse().unwrap()).unwrap();
        assert_eq!(fresh.stored(), Some(1));
        assert!(fresh.faults().unwrap().outages().is_empty(), "nobody else's server is broken");
        let seen = server.at(&fresh.address().unwrap()).unwrap();
        assert_eq!(seen.stored(), Some(1), "another process sees the same namespace");
        drop(seen);
        assert_eq!(fresh.stored(), Some(1), "and cleans nothing up");
        let again = server.at(&fresh.address().unwrap()).unwrap();
        drop(fresh);
        assert_eq!(again.stored(), Some(0));
        assert_eq!(mine.list().unwrap().leases.len(), 1);
    }
}
