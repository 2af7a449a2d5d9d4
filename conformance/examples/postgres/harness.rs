use std::sync::{Arc, OnceLock};
use std::time::Duration;

use leasehold::SandboxId;
use leasehold::{Bridged, CellStore, Clock, OwnerId, OwnershipStore, Reach, StoreError, Ttl};
use leasehold_conformance::servers::PostgresServer;
use leasehold_conformance::{Capabilities, Damage, Faults, Harness, Namespace, Unready};
use tokio::runtime::{Builder, Runtime};
use tokio_postgres::{Client, NoTls};

use crate::cell::PostgresCell;

/// A server of the kit's own, started when the first namespace is wanted; each namespace is a schema.
#[derive(Default)]
pub(crate) struct PostgresHarness {
    server: OnceLock<Result<PostgresServer, Unready>>,
}

/// How long one operation may take.
const DEADLINE: Duration = Duration::from_secs(3);

impl Harness for PostgresHarness {
    fn name(&self) -> String {
        "postgres".to_owned()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::real_time(Reach::Cluster).deadline(DEADLINE)
    }

    fn fresh(&self) -> Result<Box<dyn Namespace>, Unready> {
        let server = self.server.get_or_init(PostgresServer::start).as_ref().map_err(Clone::clone)?;
        let random = OwnerId::generate();
        let (_host, digits) = random.as_str().rsplit_once(':').unwrap_or_default();
        Ok(Box::new(Schema::new(server.settings(), format!("lease_{digits}"), true)?))
    }

    fn at(&self, address: &str) -> Result<Box<dyn Namespace>, Unready> {
        let (schema, settings) =
            address.split_once('@').ok_or_else(|| Unready::broken("an address is schema@settings"))?;
        Ok(Box::new(Schema::new(settings.to_owned(), schema.to_owned(), false)?))
    }
}

/// A namespace, and a client of the harness's own to look at it and to break it with.
struct Schema {
    settings: String,
    name: String,
    fresh: bool,
    runtime: Runtime,
    client: Client,
}

impl Schema {
    fn new(settings: String, name: String, fresh: bool) -> Result<Self, Unready> {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let client = runtime.block_on(async {
            let (client, connection) = tokio_postgres::connect(&settings, NoTls).await.map_err(broken)?;
            tokio::spawn(connection);
            Ok::<_, Unready>(client)
        })?;
        Ok(Self { settings, name, fresh, runtime, client })
    }

    fn run(&self, sql: &str) -> Result<(), Unready> {
        let here = format!("SET search_path TO {}; {sql}", self.name);
        self.runtime.block_on(self.client.batch_execute(&here)).map_err(broken)
    }
}

fn broken(error: tokio_postgres::Error) -> Unready {
    Unready::broken(format!("postgres: {error}"))
}

impl Namespace for Schema {
    fn open(
        &self,
        owner: OwnerId,
        ttl: Ttl,
        clock: Arc<dyn Clock>,
    ) -> Result<Arc<dyn OwnershipStore>, StoreError> {
        let cell = Bridged::connect(DEADLINE, || PostgresCell::connect(&self.settings, &self.name, clock))?;
        Ok(Arc::new(CellStore::new(cell, owner, ttl)))
    }

    fn address(&self) -> Option<String> {
        Some(format!("{}@{}", self.name, self.settings))
    }

    fn stored(&self) -> Option<u64> {
        let one = |sql: String| self.runtime.block_on(async { self.client.query_one(&sql, &[]).await.ok() });
        let exists: bool = one(format!("SELECT to_regclass('{}.leases') IS NOT NULL", self.name))?.get(0);
        if !exists {
            return Some(0);
        }
        let count: i64 = one(format!("SELECT count(*) FROM {}.leases", self.name))?.get(0);
        Some(count.unsigned_abs())
    }

    fn faults(&self) -> Option<&dyn Faults> {
        Some(self)
    }
}

impl Faults for Schema {
    fn damages(&self) -> &'static [Damage] {
        &[Damage::Torn, Damage::Newer, Damage::Garbage, Damage::NoExpiry]
    }

    fn damage(&self, id: &SandboxId, how: Damage) -> Result<(), Unready> {
        let change = match how {
            Damage::Torn => "fence = NULL",
            Damage::Newer => "phase = 7",
            Damage::Garbage => "owner = E'a\\nb'",
            Damage::NoExpiry => "expires = NULL",
            other => return Err(Unready::broken(format!("can't do {other:?}"))),
        };
        self.run(&format!("UPDATE leases SET {change} WHERE id = '{id}'"))
    }

    fn raw(&self, id: &SandboxId) -> Result<Option<Vec<u8>>, Unready> {
        let row = format!("SELECT row_to_json(l)::text FROM {}.leases l WHERE id = '{id}'", self.name);
        let row = self.runtime.block_on(self.client.query_opt(&row, &[])).map_err(broken)?;
        Ok(row.map(|row| row.get::<_, String>(0).into_bytes()))
    }

    fn can_wipe(&self) -> bool {
        true
    }

    fn wipe(&self) -> Result<(), Unready> {
        self.run("DELETE FROM leases; UPDATE fence_mark SET fence = 0")
    }
}

impl Drop for Schema {
    fn drop(&mut self) {
        if self.fresh {
            // A server that is gone by now has nothing left to clean.
            let drop = format!("DROP SCHEMA IF EXISTS {} CASCADE", self.name);
            let _ = self.runtime.block_on(self.client.batch_execute(&drop));
        }
    }
}
