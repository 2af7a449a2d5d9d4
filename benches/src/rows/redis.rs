//! The Redis store against the smallest script there is, over a connection of its own to the same server.

use leasehold_conformance::servers::RedisServer;

use super::{Hold, Row, five, open};
use crate::measure::Work;

pub(super) fn rows() -> Result<Vec<Row>, String> {
    let server = RedisServer::start(&[]).map_err(|e| e.to_string())?;
    let url = server.url();
    // The rows outlive this function, and the server has to outlive the rows: it goes with the process.
    std::mem::forget(server);
    let store = open(&url)?;
    let names = ["redis claim", "redis take", "redis renew", "redis inspect", "redis take + release"];
    five(names, "EVALSHA of return 1", Hold::AtMost(1.2), &store, || floor(&url).map_err(|e| e.to_string()))
}

fn floor(url: &str) -> Result<Work, redis::RedisError> {
    let mut connection = redis::Client::open(url)?.get_connection()?;
    let script = redis::Script::new("return 1");
    script.prepare_invoke().load(&mut connection)?;
    let hash = script.get_hash().to_owned();
    Ok(Box::new(move |n| {
        for _ in 0..n {
            let one: i64 = redis::cmd("EVALSHA")
                .arg(&hash)
                .arg(0)
                .query(&mut connection)
                .expect("the server runs the smallest script");
            assert_eq!(one, 1);
        }
    }))
}
