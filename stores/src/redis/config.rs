use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use leasehold::StoreError;
use redis::{ConnectionAddr, ConnectionInfo};

use super::keys::Keys;
use crate::StoreUrl;
use crate::url::Settings;

/// Where the server is and how the store uses it. Printing it never shows a password.
///
/// ```
/// use leasehold_stores::StoreUrl;
/// use leasehold_stores::redis::RedisConfig;
///
/// let url: StoreUrl = "redis://10.0.0.5:6379/2?prefix=prod:lease&deadline_ms=500".parse()?;
/// let config = RedisConfig::from_url(&url)?.pool(8);
/// assert_eq!(config.to_string(), "redis at 10.0.0.5:6379/2, keys prod:lease:*");
/// # Ok::<(), leasehold::StoreError>(())
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct RedisConfig {
    pub(super) address: Address,
    pub(super) login: Login,
    pub(super) keys: Keys,
    pub(super) deadline: Duration,
    pub(super) pool: usize,
    pub(super) chunk: usize,
}

/// Where a server listens.
#[derive(Clone, Debug)]
pub(super) enum Address {
    Tcp {
        host: String,
        port: u16,
    },
    #[cfg(feature = "redis-tls")]
    Tls {
        host: String,
        port: u16,
        files: super::tls::Files,
    },
    Unix(PathBuf),
}

/// Who we are to the server, and in which of its databases.
#[derive(Clone)]
pub(super) struct Login {
    pub(super) user: Option<String>,
    pub(super) password: Option<String>,
    pub(super) database: i64,
}

impl RedisConfig {
    /// The prefix of keys unless another is set.
    pub const PREFIX: &str = "leasehold:lease";
    /// How long an operation may take as a whole unless set.
    pub const DEADLINE: Duration = Duration::from_secs(2);
    /// How many connections there are at most unless set.
    pub const POOL: usize = 4;
    /// How many renewals go into one script unless set: the server serves nobody else meanwhile, about half a
    /// millisecond for this many.
    pub const CHUNK: usize = 256;

    /// Reads `redis://[user:password@]host[:port][/db]`, `rediss://…` (the same over TLS; feature `redis-tls`) or
    /// `redis+unix:///path/of/socket`.
    ///
    /// | setting | what | unless set |
    /// | --- | --- | --- |
    /// | `prefix` | keys are `<prefix>:<id>` | `leasehold:lease` |
    /// | `deadline_ms` | how long an operation may take as a whole | 2000 |
    /// | `pool` | connections at most, 1 to 256 | 4 |
    /// | `chunk` | renewals in one script, 1 to 2000 | 256 |
    /// | `db`, `user`, `password` | for `redis+unix` alone, whose URL has no other place for them | 0, none, none |
    /// | `ca` | for `rediss` alone: a PEM file of the authorities to trust | the system's |
    /// | `cert`, `key` | for `rediss` alone: PEM files of our certificate and its key | none |
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](leasehold::ErrorKind::Invalid) for a URL or a setting that can't be right, and
    /// [`ErrorKind::Unsupported`](leasehold::ErrorKind::Unsupported) for `rediss` in a
    /// build without TLS.
    pub fn from_url(url: &StoreUrl) -> Result<Self, StoreError> {
        let mut settings = url.settings();
        let prefix = settings.text("prefix").unwrap_or_else(|| Self::PREFIX.to_owned());
        let keys = Keys::new(&prefix).map_err(|why| url.invalid(why))?;
        let deadline = settings.millis("deadline_ms")?.unwrap_or(Self::DEADLINE);
        let pool = settings.number("pool", 1..=256)?.map_or(Self::POOL, |n| n as usize);
        let chunk = settings.number("chunk", 1..=2_000)?.map_or(Self::CHUNK, |n| n as usize);
        let mut known = vec!["prefix", "deadline_ms", "pool", "chunk"];
        let (address, login) = match url.scheme() {
            "redis" => tcp(url)?,
            "rediss" => {
                known.extend(["ca", "cert", "key"]);
                tls(url, &mut settings)?
            }
            "redis+unix" => {
                known.extend(["db", "user", "password"]);
                unix(url, &mut settings)?
            }
            scheme => return Err(url.invalid(format!("{scheme:?} is not redis, rediss or redis+unix"))),
        };
        settings.finish(&known)?;
        Ok(Self { address, login, keys, deadline, pool, chunk })
    }

    /// The same with at most `pool` connections, at least one.
    #[must_use]
    pub fn pool(self, pool: usize) -> Self {
        Self { pool: pool.max(1), ..self }
    }

    /// The same with `deadline` for an operation as a whole.
    #[must_use]
    pub fn deadline(self, deadline: Duration) -> Self {
        Self { deadline, ..self }
    }

    /// The server in words, without user and password.
    pub(super) fn place(&self) -> String {
        let database = self.login.database;
        match &self.address {
            Address::Tcp { host, port } => format!("redis at {host}:{port}/{database}"),
            #[cfg(feature = "redis-tls")]
            Address::Tls { host, port, .. } => format!("redis at {host}:{port}/{database} (TLS)"),
            Address::Unix(path) => format!("redis at {}, database {database}", path.display()),
        }
    }
}

fn tcp(url: &StoreUrl) -> Result<(Address, Login), StoreError> {
    let (host, port, login) = host(url, &url.without_settings())?;
    Ok((Address::Tcp { host, port }, login))
}

#[cfg(feature = "redis-tls")]
fn tls(url: &StoreUrl, settings: &mut Settings<'_>) -> Result<(Address, Login), StoreError> {
    // The driver is asked to read the same URL without TLS, which this store does itself.
    let plain = url.without_settings().replacen("rediss:", "redis:", 1);
    let (host, port, login) = host(url, &plain)?;
    let files = super::tls::Files::from_settings(url, settings)?;
    Ok((Address::Tls { host, port, files }, login))
}

#[cfg(not(feature = "redis-tls"))]
fn tls(url: &StoreUrl, _: &mut Settings<'_>) -> Result<(Address, Login), StoreError> {
    Err(StoreError::new(
        leasehold::ErrorKind::Unsupported,
        format!("store URL {url}: this build speaks no TLS; enable the feature \"redis-tls\""),
    ))
}

fn unix(url: &StoreUrl, settings: &mut Settings<'_>) -> Result<(Address, Login), StoreError> {
    let path = url.path()?;
    let database = settings.number("db", 0..=i32::MAX as u64)?.unwrap_or(0) as i64;
    let (user, password) = (settings.text("user"), settings.text("password"));
    Ok((Address::Unix(path), Login { user, password, database }))
}

/// Host, port and login of a `redis://` URL, as the driver reads them. Its errors are not passed on: what it could not
/// read may be a password.
fn host(url: &StoreUrl, text: &str) -> Result<(String, u16, Login), StoreError> {
    let form = "write redis://[user:password@]host[:port][/db], with % in front of special characters in hex";
    if text.contains('#') {
        return Err(url.invalid(format!("a # and what follows means nothing here; {form}")));
    }
    let info: ConnectionInfo = text.parse().map_err(|_| url.invalid(form))?;
    let ConnectionAddr::Tcp(host, port) = info.addr() else { return Err(url.invalid(form)) };
    let redis = info.redis_settings();
    if redis.db() < 0 {
        return Err(url.invalid(format!("there is no database {}", redis.db())));
    }
    let login = Login {
        user: redis.username().map(str::to_owned),
        password: redis.password().map(str::to_owned),
        database: redis.db(),
    };
    Ok((host.clone(), *port, login))
}

impl fmt::Display for RedisConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, keys {}:*", self.place(), self.keys.prefix())
    }
}

impl fmt::Debug for RedisConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RedisConfig({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use leasehold::ErrorKind;

    fn config(url: &str) -> Result<RedisConfig, StoreError> {
        RedisConfig::from_url(&url.parse().unwrap())
    }

    #[test]
    fn every_part_of_the_url_is_read() {
        let config = config("redis://gw:p%40ss@h:7000/3?prefix=p:q&deadline_ms=250&pool=2&chunk=10").unwrap();
        assert_eq!(config.to_string(), "redis at h:7000/3, keys p:q:*");
        assert_eq!(config.login.user.as_deref(), Some("gw"));
        assert_eq!(config.login.password.as_deref(), Some("p@ss"));
        assert_eq!((config.deadline, config.pool, config.chunk), (Duration::from_millis(250), 2, 10));
    }

    #[test]
    fn a_socket_has_its_login_in_settings() {
        let config = config("redis+unix:///run/r.sock?db=2&user=gw&password=hunter2").unwrap();
        assert_eq!(config.to_string(), "redis at /run/r.sock, database 2, keys leasehold:lease:*");
        assert_eq!(config.login.password.as_deref(), Some("hunter2"));
        assert!(!format!("{config:?}").contains("hunter2"));
    }

    #[test]
    fn what_cannot_be_right_is_refused_without_showing_the_password() {
        for url in [
            "redis:",
            "redis://",
            "redis://:hunter2@h:port/0",
            "redis://:hunter2@h/zero",
            "redis://:hunter2@h/-1",
            "redis://:hunter2@h/0#insecure",
            "redis://:hunter2@0.0.0.0/0",
            "redis://:hunter2@h?db=1",
            "redis://:hunter2@h?pool=0",
            "redis://:hunter2@h?prefix=",
            "redis://:hunter2@h?prefix=a{b}",
            "redis://:hunter2@h?ca=/ca.pem",
            "redis+unix:r.sock?password=hunter2",
            "redis+unix:///r.sock?db=-1&password=hunter2",
        ] {
            let error = config(url).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid, "{url}: {error}");
            assert!(!format!("{error} {error:?}").contains("hunter2"), "{error}");
        }
    }

    #[cfg(not(feature = "redis-tls"))]
    #[test]
    fn tls_names_the_feature_it_needs() {
        let error = config("rediss://h/0").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.to_string().contains("redis-tls"), "{error}");
    }
}
