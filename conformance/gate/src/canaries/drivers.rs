//! Drivers that do their input and output by themselves.

use std::io;

use super::canary::Canary;
use super::ground::{Place, Work};
use super::redis_server::RedisServer;

pub(super) const CANARIES: &[Canary] = &[
    Canary::new("a query of the crate rusqlite", &["openat", "pread64", "fcntl"], || {
        let place = Place::new()?;
        let path = place.other();
        Work::new(place, move || {
            let database = rusqlite::Connection::open(path).map_err(io::Error::other)?;
            database.execute_batch("create table t (a); insert into t values (1)").map_err(io::Error::other)
        })
    }),
    Canary::new(
        "a query on an open database of the crate rusqlite",
        &["pread64", "newfstatat", "stat", "fcntl"],
        || {
            let place = Place::new()?;
            let database = rusqlite::Connection::open(place.other()).map_err(io::Error::other)?;
            database
                .execute_batch("create table t (a); insert into t values (1)")
                .map_err(io::Error::other)?;
            Work::new(place, move || {
                let mut select = database.prepare("select a from t").map_err(io::Error::other)?;
                select.query_row([], |row| row.get::<_, i64>(0)).map(drop).map_err(io::Error::other)
            })
        },
    ),
    Canary::new("a command of the sync redis client", &["sendto", "write", "recvfrom", "read"], || {
        let server = RedisServer::start()?;
        let mut connection = server.connect()?;
        Work::new(server, move || {
            redis::cmd("PING").query::<String>(&mut connection).map(drop).map_err(io::Error::other)
        })
    }),
];
