use std::io::{self, Read, Write};
use std::path::PathBuf;

use leasehold::{Deadline, Stage, StoreError};
use redis::{Parser, Value, cmd};

use super::config::{Address, Login, RedisConfig};
use super::error::Explain;
use super::resolve::Resolver;
use super::wire::Wire;

/// Makes connections to one server.
pub(super) struct Connector {
    target: Target,
    login: Login,
    explain: Explain,
}

enum Target {
    Tcp(Resolver),
    #[cfg(feature = "redis-tls")]
    Tls(Resolver, super::tls::Tls),
    Unix(PathBuf),
}

impl Connector {
    /// The oldest server whose scripts declare what they are, as ours do.
    const OLDEST: u32 = 7;

    /// Nothing is connected yet, but files that the URL names are read.
    pub(super) fn new(config: &RedisConfig) -> Result<Self, StoreError> {
        let target = match &config.address {
            Address::Tcp { host, port } => Target::Tcp(Resolver::new(host.clone(), *port)),
            #[cfg(feature = "redis-tls")]
            Address::Tls { host, port, files } => {
                let tls = super::tls::Tls::new(host, files)?;
                Target::Tls(Resolver::new(host.clone(), *port), tls)
            }
            Address::Unix(path) => Target::Unix(path.clone()),
        };
        Ok(Self { target, login: config.login.clone(), explain: Explain::new(config.place()) })
    }

    pub(super) fn explain(&self) -> &Explain {
        &self.explain
    }

    /// A connection that is logged in, on the right database, to a server that will do.
    pub(super) fn connect(&self, deadline: Deadline) -> Result<Connection, StoreError> {
        let reach = |e| self.explain.io(e, deadline.allowed(), Stage::Connect);
        let stream = self.reach(deadline).map_err(reach)?;
        let mut connection = Connection { stream, settled: true };
        self.log_in(&mut connection, deadline)?;
        Ok(connection)
    }

    fn reach(&self, deadline: Deadline) -> io::Result<Stream> {
        Ok(match &self.target {
            Target::Tcp(resolver) => Stream::Plain(Wire::tcp(&resolver.resolve(&deadline)?, deadline)?),
            #[cfg(feature = "redis-tls")]
            Target::Tls(resolver, tls) => {
                Stream::Tls(tls.over(Wire::tcp(&resolver.resolve(&deadline)?, deadline)?)?)
            }
            Target::Unix(path) => Stream::Plain(Wire::unix(path, deadline)?),
        })
    }

    fn log_in(&self, connection: &mut Connection, deadline: Deadline) -> Result<(), StoreError> {
        let Login { user, password, database } = &self.login;
        let mut hello = cmd("HELLO");
        hello.arg(2);
        if user.is_some() || password.is_some() {
            let name = user.as_deref().unwrap_or("default");
            hello.arg("AUTH").arg(name).arg(password.as_deref().unwrap_or_default());
        }
        hello.arg("SETNAME").arg("leasehold");
        let hello = self.greet(connection, &hello.get_packed_command(), deadline)?;
        self.check(hello)?;
        if *database != 0 {
            let select = cmd("SELECT").arg(*database).get_packed_command();
            self.greet(connection, &select, deadline)?;
        }
        Ok(())
    }

    fn greet(
        &self,
        connection: &mut Connection,
        command: &[u8],
        deadline: Deadline,
    ) -> Result<Value, StoreError> {
        match connection.call(command, deadline, Stage::Connect, &self.explain)? {
            Value::ServerError(error) => Err(self.explain.refused_login(&error)),
            answer => Ok(answer),
        }
    }

    /// Whether what the server says of itself will do.
    fn check(&self, hello: Value) -> Result<(), StoreError> {
        let unknown = || self.explain.gibberish(Stage::Connect, "its answer to HELLO has no version");
        let version = property(&hello, "version").ok_or_else(unknown)?;
        let major: u32 = version.split('.').next().and_then(|n| n.parse().ok()).ok_or_else(unknown)?;
        if major < Self::OLDEST {
            let why = format!("it is version {version}; this store needs Redis 7 or later, or Valkey");
            return Err(self.explain.unsupported(&why));
        }
        match property(&hello, "mode") {
            Some("cluster") => Err(self
                .explain
                .unsupported("it is a node of a Redis Cluster and has only part of the keys; this store needs a single server")),
            Some("sentinel") => {
                Err(self.explain.unsupported("it is a sentinel; the URL must name the server that it watches"))
            }
            _ => Ok(()),
        }
    }
}

/// The value of `name` in a flat list of names and values.
fn property<'v>(hello: &'v Value, name: &str) -> Option<&'v str> {
    let Value::Array(list) = hello else { return None };
    list.chunks_exact(2).find_map(|pair| match pair {
        [Value::BulkString(key), Value::BulkString(value)] if key == name.as_bytes() => {
            std::str::from_utf8(value).ok()
        }
        _ => None,
    })
}

/// One connection, used by one call at a time.
pub(super) struct Connection {
    stream: Stream,
    /// Every question so far has been answered whole. Once it isn't so, the connection is of no more use: what comes in
    /// next would be the answer to something else.
    settled: bool,
}

impl Connection {
    /// Sends `command` and reads its answer, which may be an error of the server.
    pub(super) fn call(
        &mut self,
        command: &[u8],
        deadline: Deadline,
        stage: Stage,
        explain: &Explain,
    ) -> Result<Value, StoreError> {
        self.settled = false;
        self.stream.wire().until(deadline);
        let failed = |e| explain.io(e, deadline.allowed(), stage);
        self.stream.write_all(command).and_then(|()| self.stream.flush()).map_err(failed)?;
        let mut parser = Parser::new();
        let answer = parser.parse_value(&mut self.stream);
        let answer = answer.map_err(|e| explain.driver(e, deadline.allowed(), stage))?;
        // The parser reads as much as comes. If nothing but the answer did, then what it is given next is all it has.
        if parser.parse_value(&b"+end\r\n"[..]).ok() != Some(Value::SimpleString("end".to_owned())) {
            return Err(explain.gibberish(stage, "more came back than was asked for"));
        }
        self.settled = true;
        Ok(answer)
    }

    /// Whether the next call may use it, as far as can be told without asking the server: it was not ended meanwhile, and
    /// nothing came in.
    pub(super) fn is_sound(&self) -> bool {
        self.stream.is_quiet()
    }

    /// Whether it may be kept for another call.
    pub(super) fn is_settled(&self) -> bool {
        self.settled
    }
}

enum Stream {
    Plain(Wire),
    #[cfg(feature = "redis-tls")]
    Tls(Box<super::tls::Encrypted>),
}

impl Stream {
    fn wire(&mut self) -> &mut Wire {
        match self {
            Self::Plain(wire) => wire,
            #[cfg(feature = "redis-tls")]
            Self::Tls(stream) => &mut stream.sock,
        }
    }

    fn is_quiet(&self) -> bool {
        match self {
            Self::Plain(wire) => wire.is_quiet(),
            #[cfg(feature = "redis-tls")]
            Self::Tls(stream) => stream.sock.is_quiet(),
        }
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(wire) => wire.read(buffer),
            #[cfg(feature = "redis-tls")]
            Self::Tls(stream) => stream.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(wire) => wire.write(bytes),
            #[cfg(feature = "redis-tls")]
            Self::Tls(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(wire) => wire.flush(),
            #[cfg(feature = "redis-tls")]
            Self::Tls(stream) => stream.flush(),
        }
    }
}
