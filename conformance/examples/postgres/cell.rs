use std::sync::Arc;
use std::time::Duration;

use leasehold::{
    AsyncLeaseCell, Clock, Damaged, DiscardOutcome, ErrorKind, Fence, Found, Moment, OwnerId, Phase, Reach,
    Reading, Record, SandboxId, Step, StoreError, Write,
};
use tokio::sync::{Mutex, MutexGuard};
use tokio_postgres::{Client, NoTls, Row, Transaction};

/// The table of leases in one schema, and the high-water mark of all fences that were forgotten.
///
/// Times are the server's, in microseconds since 1970: gateways on many hosts go by one clock.
pub(crate) struct PostgresCell {
    /// One connection, and so one transaction at a time; a store for production has a pool of them.
    client: Mutex<Client>,
    /// This host's clock, by which a tenure's `valid_until` is told.
    host: Arc<dyn Clock>,
}

/// What every operation begins with: a row to lock, and only then the clock.
const LOCK: &str = "INSERT INTO leases (id) VALUES ($1) ON CONFLICT DO NOTHING";
const LOCKED: &str = "SELECT owner, phase, fence, expires FROM leases WHERE id = $1 FOR UPDATE";
const CLOCK: &str =
    "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, (SELECT fence FROM fence_mark)";
const SAVE: &str = "UPDATE leases SET owner = $2, phase = $3, fence = $4, expires = $5 WHERE id = $1";
const MARK: &str = "UPDATE fence_mark SET fence = greatest(fence, $1)";
const DROP: &str = "DELETE FROM leases WHERE id = $1";
/// A few that ran out, unless somebody is at them.
const DEAD: &str = "SELECT id, fence FROM leases WHERE expires <= $1 AND id <> $2 ORDER BY id LIMIT 8 FOR UPDATE SKIP LOCKED";

impl PostgresCell {
    /// Connects, and makes the tables in `schema` if they are not there yet.
    pub(crate) async fn connect(
        settings: &str,
        schema: &str,
        host: Arc<dyn Clock>,
    ) -> Result<Self, StoreError> {
        let (client, connection) = tokio_postgres::connect(settings, NoTls).await.map_err(failed)?;
        // The driver of the connection ends with the client.
        tokio::spawn(connection);
        // Two that come first at once must not meet in the middle of making the tables.
        let setup = format!(
            "SELECT pg_advisory_lock(hashtext('{schema}'));
             CREATE SCHEMA IF NOT EXISTS {schema};
             SET search_path TO {schema};
             SET lock_timeout = '2s';
             CREATE TABLE IF NOT EXISTS leases (id text COLLATE \"C\" PRIMARY KEY, owner text, phase smallint, fence bigint,
                                                expires bigint);
             CREATE TABLE IF NOT EXISTS fence_mark (one boolean PRIMARY KEY DEFAULT true CHECK (one),
                                                    fence bigint NOT NULL);
             INSERT INTO fence_mark (fence) VALUES (0) ON CONFLICT DO NOTHING;
             SELECT pg_advisory_unlock_all();"
        );
        client.batch_execute(&setup).await.map_err(failed)?;
        Ok(Self { client: Mutex::new(client), host })
    }

    async fn client(&self) -> MutexGuard<'_, Client> {
        self.client.lock().await
    }
}

/// The row, locked, and what the clock says now that it is; `None` when the row went in between.
async fn lock(tx: &Transaction<'_>, id: &SandboxId) -> Result<Option<(Option<Record>, Reading)>, StoreError> {
    tx.execute(LOCK, &[&id.as_str()]).await.map_err(failed)?;
    let Some(row) = tx.query_opt(LOCKED, &[&id.as_str()]).await.map_err(failed)? else { return Ok(None) };
    let record = record(id, &row)?;
    let clock = tx.query_one(CLOCK, &[]).await.map_err(failed)?;
    let (micros, mark): (i64, i64) = (clock.get(0), clock.get(1));
    let fence_floor = micros.max(mark + 1).unsigned_abs();
    Ok(Some((record, Reading { now: moment(micros), fence_floor })))
}

fn moment(micros: i64) -> Moment {
    Moment::from_nanos(micros.unsigned_abs() * 1_000)
}

fn micros(moment: Moment) -> i64 {
    // Up, so that a lease never ends before its time.
    moment.as_nanos().div_ceil(1_000) as i64
}

/// What a row says; nothing when it was only inserted to be locked, an error when it is neither that nor whole.
fn record(id: &SandboxId, row: &Row) -> Result<Option<Record>, StoreError> {
    let columns: (Option<String>, Option<i16>, Option<i64>, Option<i64>) =
        (row.get("owner"), row.get("phase"), row.get("fence"), row.get("expires"));
    let (owner, phase, fence, expires) = match columns {
        (None, None, None, None) => return Ok(None),
        (Some(owner), Some(phase), Some(fence), Some(expires)) => (owner, phase, fence, expires),
        _ => return Err(damaged(id, "a column is null")),
    };
    let owner = OwnerId::new(&owner).map_err(|e| damaged(id, &e.to_string()))?;
    let phase = match phase {
        0 => Phase::Held,
        1 => Phase::Teardown,
        other => return Err(damaged(id, &format!("there is no phase {other}"))),
    };
    let fence = u64::try_from(fence)
        .ok()
        .and_then(Fence::new)
        .ok_or_else(|| damaged(id, "the fence is out of range"))?;
    Ok(Some(Record { owner, phase, fence: Some(fence), expires: moment(expires) }))
}

fn damaged(id: &SandboxId, what: &str) -> StoreError {
    StoreError::new(ErrorKind::Corrupt, format!("the row of {id} can't be read: {what}; discard it to go on"))
}

fn failed(error: tokio_postgres::Error) -> StoreError {
    StoreError::new(ErrorKind::Unavailable, "postgres did not do it").with_source(error)
}

async fn forget(tx: &Transaction<'_>, id: &str, fence: Option<i64>) -> Result<(), StoreError> {
    tx.execute(MARK, &[&fence.unwrap_or(0)]).await.map_err(failed)?;
    tx.execute(DROP, &[&id]).await.map_err(failed)?;
    Ok(())
}

impl AsyncLeaseCell for PostgresCell {
    fn reach(&self) -> Reach {
        Reach::Cluster
    }

    fn quantum(&self) -> Duration {
        Duration::from_millis(1)
    }

    fn sent(&self) -> Option<Moment> {
        Some(self.host.now())
    }

    async fn update<T>(
        &self,
        id: &SandboxId,
        rule: impl Fn(Option<&Record>, Reading) -> Step<T>,
    ) -> Result<T, StoreError> {
        let mut client = self.client().await;
        loop {
            let tx = client.transaction().await.map_err(failed)?;
            let Some((before, reading)) = lock(&tx, id).await? else { continue };
            let fence = |record: &Record| record.fence.map(|fence| fence.get() as i64);
            let Step { write, answer } = rule(before.as_ref(), reading);
            let after = match (write, before) {
                // The row that was inserted to be locked goes with the transaction.
                (Write::Nothing, _) => {
                    tx.rollback().await.map_err(failed)?;
                    return Ok(answer);
                }
                (Write::Put(record), _) => Some(record),
                (Write::Extend(expires), Some(record)) => Some(Record { expires, ..record }),
                (Write::Extend(_), None) => None,
                (Write::Remove, before) => {
                    forget(&tx, id.as_str(), before.as_ref().and_then(fence)).await?;
                    None
                }
            };
            if let Some(record) = &after {
                let phase = i16::from(record.phase == Phase::Teardown);
                let (owner, expires) = (record.owner.as_str(), micros(record.expires));
                tx.execute(SAVE, &[&id.as_str(), &owner, &phase, &fence(record), &expires])
                    .await
                    .map_err(failed)?;
                for dead in tx.query(DEAD, &[&micros(reading.now), &id.as_str()]).await.map_err(failed)? {
                    forget(&tx, dead.get(0), dead.get(1)).await?;
                }
            }
            tx.commit().await.map_err(failed)?;
            return Ok(answer);
        }
    }

    async fn scan(&self) -> Result<Vec<Found>, StoreError> {
        let client = self.client().await;
        let clock = client.query_one(CLOCK, &[]).await.map_err(failed)?;
        let reading = Reading { now: moment(clock.get(0)), fence_floor: 0 };
        let rows =
            client.query("SELECT id, owner, phase, fence, expires FROM leases", &[]).await.map_err(failed)?;
        let read = |row: &Row| {
            let place: String = row.get("id");
            let damaged = |id, error| Some(Err(Damaged { id, place: place.clone(), error }));
            match SandboxId::new(&place) {
                Ok(id) => match record(&id, row) {
                    Ok(record) => record.map(|record| Ok((id, record, reading))),
                    Err(error) => damaged(Some(id), error),
                },
                Err(e) => damaged(None, StoreError::new(ErrorKind::Corrupt, e.to_string())),
            }
        };
        Ok(rows.iter().filter_map(read).collect())
    }

    async fn discard(&self, id: &SandboxId, force: bool) -> Result<DiscardOutcome, StoreError> {
        let mut client = self.client().await;
        let tx = client.transaction().await.map_err(failed)?;
        let now = tx.query_one(CLOCK, &[]).await.map_err(failed)?.get(0);
        let Some(row) = tx.query_opt(LOCKED, &[&id.as_str()]).await.map_err(failed)? else {
            return Ok(DiscardOutcome::Absent);
        };
        let outcome = match record(id, &row) {
            Ok(None) => DiscardOutcome::Absent,
            Ok(Some(record)) => match record.lease_at(moment(now)) {
                None => DiscardOutcome::Absent,
                Some(lease) if !force => DiscardOutcome::Refused(lease),
                Some(_) => DiscardOutcome::Discarded,
            },
            Err(_) => DiscardOutcome::Discarded,
        };
        if outcome == DiscardOutcome::Discarded {
            forget(&tx, id.as_str(), row.get("fence")).await?;
            tx.commit().await.map_err(failed)?;
        }
        Ok(outcome)
    }
}
