use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use leasehold::{
    ClaimOutcome, Clock, Deadline, DiscardOutcome, Fence, Intent, Lease, Listing, Moment, Operation, OwnerId,
    OwnershipStore, Reach, ReleaseOutcome, RenewOutcome, SandboxId, Stage, StoreError, TakeOutcome, Ttl,
};
use redis::Value;

use super::connection::Connector;
use super::error::Explain;
use super::keys::Keys;
use super::pool::{Pool, closed};
use super::reply::{NoOutcome, Reply};
use super::script::{self, Script};
use super::{RedisConfig, list};
use crate::StoreUrl;

/// A Redis store, as one owner sees it.
///
/// Nothing is connected until the first operation, so that a gateway starts while its server is down; what is wrong with
/// the server, its version or our login shows in the first answer.
pub struct RedisStore {
    pool: Pool,
    config: RedisConfig,
    owner: OwnerId,
    ttl: Ttl,
    /// The TTL as scripts get it, in milliseconds.
    ttl_text: String,
    /// The TTL of marks, likewise.
    mark_ttl: String,
    clock: Arc<dyn Clock>,
    closed: AtomicBool,
}

/// Opens the store that `url` names. `clock` is this host's: it tells until when a tenure is valid here, counted from
/// when the call was sent, and decides nothing else.
///
/// # Errors
/// [`ErrorKind::Invalid`](leasehold::ErrorKind::Invalid) for a URL that can't be right,
/// [`ErrorKind::Unsupported`](leasehold::ErrorKind::Unsupported) for TLS in a build without it. A server that can't be
/// reached is no error yet.
pub fn open(
    url: &StoreUrl,
    owner: OwnerId,
    ttl: Ttl,
    clock: Arc<dyn Clock>,
) -> Result<Box<dyn OwnershipStore>, StoreError> {
    Ok(Box::new(RedisStore::new(RedisConfig::from_url(url)?, owner, ttl, clock)?))
}

impl RedisStore {
    /// Two milliseconds: Redis counts whole ones, in which a lease that was written late in one gets up to one more, and
    /// it goes once its last millisecond is over.
    const QUANTUM: Duration = Duration::from_millis(2);

    /// How much longer than its lease a mark is kept.
    const DAY: Duration = Duration::from_secs(24 * 60 * 60);
    /// How often refreshes see to that; twice this is added, so that one that fails may wait for the next.
    const HOUR: Duration = Duration::from_secs(60 * 60);
    const DUE: &str = "due";

    /// The store of `config` for `owner`, with leases of `ttl`.
    ///
    /// # Errors
    /// As [`open`].
    pub fn new(
        config: RedisConfig,
        owner: OwnerId,
        ttl: Ttl,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, StoreError> {
        let pool = Pool::new(Connector::new(&config)?, config.pool);
        let millis = |duration: Duration| duration.as_millis().to_string();
        let mark_ttl = millis(ttl.as_duration() + Self::DAY + 2 * Self::HOUR);
        let ttl_text = millis(ttl.as_duration());
        Ok(Self { pool, config, owner, ttl, ttl_text, mark_ttl, clock, closed: AtomicBool::new(false) })
    }

    /// Runs `script` on the lease and the mark of `id`, and reads what it said.
    fn ask<T>(
        &self,
        operation: Operation,
        id: &SandboxId,
        script: &Script,
        arguments: &[&str],
        read: impl FnOnce(Reply<'_>) -> Result<T, NoOutcome>,
    ) -> Result<T, StoreError> {
        let keys = self.config.keys.pair(id);
        let answer = self.run(self.deadline(), script, &keys, arguments);
        let outcome = answer.and_then(|answer| match answer {
            Value::BulkString(said) => {
                Reply::open(&said, &keys[0]).and_then(read).map_err(|e| self.no_outcome(e))
            }
            _ => Err(self.unexpected()),
        });
        outcome.map_err(|e| e.during(operation, Some(id)))
    }

    pub(super) fn run(
        &self,
        deadline: Deadline,
        script: &Script,
        keys: &[String],
        arguments: &[&str],
    ) -> Result<Value, StoreError> {
        if self.closed.load(Ordering::Acquire) {
            return Err(closed());
        }
        let explain = self.explain();
        self.pool.with(deadline, |connection| script.run(connection, keys, arguments, deadline, explain))
    }

    pub(super) fn deadline(&self) -> Deadline {
        Deadline::after(self.config.deadline)
    }

    pub(super) fn keys(&self) -> &Keys {
        &self.config.keys
    }

    pub(super) fn explain(&self) -> &Explain {
        self.pool.connector().explain()
    }

    pub(super) fn no_outcome(&self, why: NoOutcome) -> StoreError {
        match why {
            NoOutcome::Kept(error) => error,
            NoOutcome::Unexpected => self.unexpected(),
        }
    }

    pub(super) fn unexpected(&self) -> StoreError {
        self.explain().gibberish(Stage::Reply, "a script's reply is not what the script says")
    }

    /// Until when a tenure may be relied on that a call begun now will give.
    fn valid_until(&self) -> Moment {
        self.clock.now() + self.ttl.as_duration()
    }

    /// Whether it is time that refreshes see to their marks, which costs a little: for twice a TTL in every hour, so that
    /// every lease that is kept up is refreshed at least once while it is. Marks are written to last that much longer.
    fn due(&self) -> &'static str {
        let into_the_hour = self.clock.now().as_nanos() % Self::HOUR.as_nanos() as u64;
        let window = 2 * self.ttl.as_duration();
        if Duration::from_nanos(into_the_hour) < window { Self::DUE } else { "" }
    }

    /// Releases the tenure with fence `tenure`, or any where that is empty.
    fn end(&self, id: &SandboxId, tenure: &str) -> Result<ReleaseOutcome, StoreError> {
        let arguments = [self.owner.as_str(), &self.mark_ttl, tenure];
        self.ask(Operation::Release, id, &script::RELEASE, &arguments, |reply| reply.release())
    }

    /// Renews one chunk: an outcome for each, or one error for them all.
    fn renew_chunk(
        &self,
        ids: &[SandboxId],
        deadline: Deadline,
    ) -> Result<Vec<Result<RenewOutcome, StoreError>>, StoreError> {
        let (valid_until, due) = (self.valid_until(), self.due());
        let mut keys: Vec<String> = Vec::with_capacity(2 * ids.len());
        keys.extend(ids.iter().map(|id| self.config.keys.lease(id)));
        if due == Self::DUE {
            keys.extend(ids.iter().map(|id| self.config.keys.mark(id)));
        }
        let count = ids.len().to_string();
        let arguments = [self.owner.as_str(), &self.ttl_text, &self.mark_ttl, &count, due];
        let answer = self.run(deadline, &script::RENEW, &keys, &arguments)?;
        let Value::BulkString(said) = answer else { return Err(self.unexpected()) };
        // As many answers as questions, or it can't be told which belongs to which.
        if said.iter().filter(|&&b| b == b'\n').count() + 1 != ids.len() {
            return Err(self.unexpected());
        }
        let read = |(said, key)| Reply::open(said, key).and_then(|reply: Reply<'_>| reply.renew(valid_until));
        let answers = said.split(|&b| b == b'\n').zip(keys.iter().map(String::as_str));
        Ok(answers.map(|answer| read(answer).map_err(|e| self.no_outcome(e))).collect())
    }
}

impl OwnershipStore for RedisStore {
    fn owner(&self) -> &OwnerId {
        &self.owner
    }

    fn ttl(&self) -> Ttl {
        self.ttl
    }

    fn reach(&self) -> Reach {
        Reach::Cluster
    }

    fn quantum(&self) -> Duration {
        Self::QUANTUM
    }

    fn take(&self, id: &SandboxId) -> Result<TakeOutcome, StoreError> {
        let valid_until = self.valid_until();
        let arguments = [self.owner.as_str(), &self.ttl_text, &self.mark_ttl];
        self.ask(Operation::Take, id, &script::TAKE, &arguments, |reply| reply.take(&self.owner, valid_until))
    }

    fn claim(&self, id: &SandboxId, intent: Intent) -> Result<ClaimOutcome, StoreError> {
        let valid_until = self.valid_until();
        let decided;
        let (script, intent) = match intent {
            Intent::Keep => (&script::CLAIM, "keep"),
            Intent::Destroy => (&script::CLAIM, "destroy"),
            Intent::DestroyTenure(fence) => {
                decided = fence.to_string();
                (&script::CLAIM_TENURE, decided.as_str())
            }
        };
        let arguments = [self.owner.as_str(), &self.ttl_text, &self.mark_ttl, intent, self.due()];
        self.ask(Operation::Claim, id, script, &arguments, |reply| reply.claim(&self.owner, valid_until))
    }

    fn renew(&self, id: &SandboxId) -> Result<RenewOutcome, StoreError> {
        let mut outcomes = self.renew_many(std::slice::from_ref(id));
        outcomes.pop().expect("one outcome for one id")
    }

    fn renew_many(&self, ids: &[SandboxId]) -> Vec<Result<RenewOutcome, StoreError>> {
        let deadline = self.deadline();
        let mut outcomes = Vec::with_capacity(ids.len());
        for chunk in ids.chunks(self.config.chunk) {
            // A chunk that failed says nothing about the next, which is asked if there is time.
            match self.renew_chunk(chunk, deadline) {
                Ok(answers) => outcomes.extend(answers),
                Err(e) => outcomes.extend(chunk.iter().map(|_| Err(e.clone()))),
            }
        }
        let name = |(outcome, id): (Result<_, StoreError>, _)| {
            outcome.map_err(|e| e.during(Operation::Renew, Some(id)))
        };
        outcomes.into_iter().zip(ids).map(name).collect()
    }

    fn release(&self, id: &SandboxId) -> Result<ReleaseOutcome, StoreError> {
        self.end(id, "")
    }

    fn release_tenure(&self, id: &SandboxId, fence: Fence) -> Result<ReleaseOutcome, StoreError> {
        self.end(id, &fence.to_string())
    }

    fn inspect(&self, id: &SandboxId) -> Result<Option<Lease>, StoreError> {
        self.ask(Operation::Inspect, id, &script::INSPECT, &[], |reply| reply.inspect())
    }

    fn list(&self) -> Result<Listing, StoreError> {
        list::all(self).map_err(|e| e.during(Operation::List, None))
    }

    fn discard(&self, id: &SandboxId, force: bool) -> Result<DiscardOutcome, StoreError> {
        let arguments = [self.owner.as_str(), &self.mark_ttl, if force { "force" } else { "" }];
        self.ask(Operation::Discard, id, &script::DISCARD, &arguments, |reply| reply.discard())
    }

    fn close(&self) -> Result<(), StoreError> {
        if !self.closed.swap(true, Ordering::AcqRel) {
            self.pool.close();
        }
        Ok(())
    }
}

impl fmt::Debug for RedisStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisStore")
            .field("config", &self.config)
            .field("owner", &self.owner)
            .field("ttl", &self.ttl)
            .finish_non_exhaustive()
    }
}
