//! Real servers for tests: started in a fresh directory on a free port, paused, killed, started again, and gone when the
//! test is.
//!
//! ```no_run
//! use leasehold_conformance::servers::RedisServer;
//!
//! let server = RedisServer::start(&[])?;
//! assert_eq!(server.connect()?.ask(&["PING"])?.text(), "PONG");
//! # Ok::<(), leasehold_conformance::Unready>(())
//! ```

mod postgres;
mod process;
mod redis;
mod resp;

pub use postgres::PostgresServer;
pub use redis::RedisServer;
pub use resp::{RawRedis, RawReply};
