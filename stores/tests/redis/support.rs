//! A server that the tests share, a namespace for each test, and what they say when there is none.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use leasehold::{
    ClaimOutcome, Fence, ManualClock, OwnerId, OwnershipStore, RenewOutcome, SandboxId, StoreError,
    TakeOutcome, Tenure, Ttl,
};
use leasehold_conformance::Unready;
use leasehold_conformance::servers::{RawRedis, RawReply, RedisServer};

/// Long enough that no lease runs out while a test looks elsewhere.
pub(crate) const LONG: u64 = 600_000;

/// A server with `options` of its own; `None` where there is none to start, which was said.
pub(crate) fn server(options: &[&str]) -> Option<RedisServer> {
    said(RedisServer::start(options))
}

/// An empty namespace on the server that all tests of this process share.
pub(crate) fn space() -> Option<Space> {
    static SHARED: LazyLock<Result<RedisServer, Unready>> = LazyLock::new(|| RedisServer::start(&[]));
    let shared = said(SHARED.as_ref().map_err(Clone::clone))?;
    Some(Space::of(shared.url(), shared.address()))
}

fn said<T>(ready: Result<T, Unready>) -> Option<T> {
    match ready {
        Ok(ready) => Some(ready),
        Err(Unready::NotRun(why)) => {
            let required = std::env::var("LEASEHOLD_REQUIRE").unwrap_or_default();
            assert!(!required.split(',').any(|name| name.trim() == "redis"), "not run: {why}");
            eprintln!("not run: {why}");
            None
        }
        Err(Unready::Broken(why)) => panic!("{why}"),
    }
}

/// A namespace: a prefix of its own on some server.
pub(crate) struct Space {
    url: String,
    address: String,
    pub(crate) prefix: String,
}

impl Space {
    pub(crate) fn of(url: String, address: String) -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let prefix = format!("test{}:own", COUNT.fetch_add(1, Ordering::Relaxed));
        Self { url, address, prefix }
    }

    pub(crate) fn on(server: &RedisServer) -> Self {
        Self::of(server.url(), server.address())
    }

    pub(crate) fn with_prefix(self, prefix: &str) -> Self {
        Self { prefix: prefix.to_owned(), ..self }
    }

    pub(crate) fn open(&self, owner: &str, ttl_ms: u64) -> Box<dyn OwnershipStore> {
        self.open_with(owner, ttl_ms, "")
    }

    /// `settings` as they stand in a URL, each with an `&` in front.
    pub(crate) fn open_with(&self, owner: &str, ttl_ms: u64, settings: &str) -> Box<dyn OwnershipStore> {
        open(&format!("{}?prefix={}{settings}", self.url, self.prefix), owner, ttl_ms).unwrap()
    }

    /// As [`open`](Self::open), at an hour at which refreshes see to their marks.
    pub(crate) fn open_when_due(&self, owner: &str, ttl_ms: u64) -> Box<dyn OwnershipStore> {
        let url = format!("{}?prefix={}", self.url, self.prefix);
        open_at(&url, owner, ttl_ms, ManualClock::new()).unwrap()
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    pub(crate) fn raw(&self) -> RawRedis {
        RawRedis::connect(&self.address).unwrap()
    }

    pub(crate) fn key(&self, id: &SandboxId) -> String {
        format!("{}:{id}", self.prefix)
    }

    pub(crate) fn mark(&self, id: &SandboxId) -> String {
        format!("{{{}}}#f", self.key(id))
    }
}

/// Opened at an hour at which refreshes leave marks alone, as they do most of the time.
pub(crate) fn open(url: &str, owner: &str, ttl_ms: u64) -> Result<Box<dyn OwnershipStore>, StoreError> {
    let clock = ManualClock::new();
    clock.advance(Duration::from_secs(40 * 60));
    open_at(url, owner, ttl_ms, clock)
}

fn open_at(
    url: &str,
    owner: &str,
    ttl_ms: u64,
    clock: ManualClock,
) -> Result<Box<dyn OwnershipStore>, StoreError> {
    let (owner, ttl) = (OwnerId::new(owner).unwrap(), Ttl::from_millis(ttl_ms).unwrap());
    leasehold_stores::redis::open(&url.parse()?, owner, ttl, Arc::new(clock))
}

pub(crate) fn id(text: &str) -> SandboxId {
    text.parse().unwrap()
}

pub(crate) fn ask(raw: &mut RawRedis, words: &[&str]) -> RawReply {
    raw.must(words).unwrap_or_else(|e| panic!("{words:?}: {e}"))
}

/// Takes, and gives the tenure.
pub(crate) fn taken(store: &dyn OwnershipStore, id: &SandboxId) -> Tenure {
    match store.take(id).unwrap() {
        TakeOutcome::Taken { tenure, .. } => tenure,
        other => panic!("{other:?}"),
    }
}

/// The fence of an answer that has one.
pub(crate) trait Fenced {
    fn fence(&self) -> Option<Fence>;
}

impl Fenced for TakeOutcome {
    fn fence(&self) -> Option<Fence> {
        if let Self::Taken { tenure, .. } = self { Some(tenure.fence) } else { None }
    }
}

impl Fenced for ClaimOutcome {
    fn fence(&self) -> Option<Fence> {
        if let Self::Claimed { tenure, .. } = self { Some(tenure.fence) } else { None }
    }
}

impl Fenced for RenewOutcome {
    fn fence(&self) -> Option<Fence> {
        if let Self::Renewed(tenure) = self { Some(tenure.fence) } else { None }
    }
}

/// Numbers that look random and are the same for the same seed (SplitMix64).
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn roll(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % below as u64) as usize
    }

    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.roll(from.len())]
    }
}
