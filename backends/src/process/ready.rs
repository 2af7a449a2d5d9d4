//! Whether a sandbox can be used yet.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::time::Duration;

use leasehold::{BackendError, BackendErrorKind, SandboxInfo};

use super::config::ReadyCheck;
use super::engine::{Engine, Looked, missing};
use super::error::failed;
use super::life::Life;
use super::members::Members;
use super::name::InstanceName;
use super::place::Kept;
use super::spawn;

/// As much of what a sandbox said last as an error repeats, in bytes.
const LAST_WORDS: u64 = 1024;
/// How long one's own host has to accept a connection.
const CONNECT: Duration = Duration::from_millis(250);

impl Engine {
    /// The instance, if it can be used; otherwise what it is waited for.
    pub(super) fn ready(
        &self,
        instance: &InstanceName,
    ) -> Result<Looked<Result<SandboxInfo, String>>, BackendError> {
        let clear = |shown| Ok(Looked { shown, blurred: false });
        self.place.enter()?;
        let Some(kept) = self.place.find(instance)? else {
            return Err(missing(instance, "it was destroyed"));
        };
        let life = Life::of(self, &kept.record)?;
        match &life {
            Life::Removed => return Err(missing(instance, "it was destroyed")),
            Life::Ended(why) => {
                let text = format!("{why}{}", self.last_words(instance));
                return Err(BackendError::new(BackendErrorKind::Exited, text));
            }
            Life::Paused(_) => return clear(Err("it is paused by a signal".to_owned())),
            Life::Starting => {
                return Ok(Looked { shown: Err("it is being started".to_owned()), blurred: true });
            }
            Life::Running(_) => {}
        }
        let waited_for = match &self.config.ready {
            ReadyCheck::Started => None,
            ReadyCheck::File(file) => {
                let path = self.place.of(instance).join(spawn::WORK).join(file);
                match fs::symlink_metadata(&path) {
                    Ok(_) => None,
                    Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                        Some(format!("no {} yet", path.display()))
                    }
                    Err(e) => return Err(failed("look for", &path, e)),
                }
            }
            ReadyCheck::Port => self.listens(&kept)?,
        };
        clear(match waited_for {
            None => Ok(kept.record.info(kept.condemned, life.condition())),
            Some(what) => Err(what),
        })
    }

    /// What is still missing until one of the instance's own processes takes connections on its port.
    fn listens(&self, kept: &Kept) -> Result<Option<String>, BackendError> {
        let Some(endpoint) = &kept.record.endpoint else {
            // It was made under another configuration.
            return Ok(Some("it was made without a port".to_owned()));
        };
        let listening = listening(endpoint.port)?;
        if listening.is_empty() {
            return Ok(Some(format!("nothing listens on {endpoint} yet")));
        }
        let members = Members::find(self, &kept.record)?;
        if !members.iter().any(|process| has_socket(process.pid, &listening)) {
            return Ok(Some(format!("another process than its own listens on {endpoint}")));
        }
        let at = SocketAddr::from((Ipv4Addr::LOCALHOST, endpoint.port));
        Ok(TcpStream::connect_timeout(&at, CONNECT).err().map(|e| format!("cannot connect to {at}: {e}")))
    }

    fn last_words(&self, instance: &InstanceName) -> String {
        let of = self.place.of(instance);
        let said = [spawn::STDERR, spawn::STDOUT].map(|file| tail(&of.join(file)));
        match said.iter().find(|said| !said.is_empty()) {
            Some(said) => format!("; the last it said: {said}"),
            None => "; it said nothing".to_owned(),
        }
    }
}

fn tail(path: &Path) -> String {
    let read = || {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(LAST_WORDS)))?;
        let mut bytes = Vec::new();
        file.take(LAST_WORDS).read_to_end(&mut bytes)?;
        Ok::<_, std::io::Error>(String::from_utf8_lossy(&bytes).trim().to_owned())
    };
    // It only makes an error clearer.
    read().unwrap_or_default()
}

/// The sockets, by inode, that take connections to this port of 127.0.0.1.
fn listening(port: u16) -> Result<BTreeSet<u64>, BackendError> {
    let mut sockets = BTreeSet::new();
    for table in ["/proc/self/net/tcp", "/proc/self/net/tcp6"] {
        match fs::read_to_string(table) {
            Ok(text) => sockets.extend(text.lines().filter_map(|line| listener(line, port))),
            // A host without version 6.
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
            Err(e) => return Err(failed("read", Path::new(table), e)),
        }
    }
    Ok(sockets)
}

/// The inode of the socket that a line of the kernel's table is about, if it listens where it has to.
fn listener(line: &str, port: u16) -> Option<u64> {
    const LISTEN: &str = "0A";
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    let (address, at) = fields.get(1)?.rsplit_once(':')?;
    if *fields.get(3)? != LISTEN || u16::from_str_radix(at, 16) != Ok(port) {
        return None;
    }
    // The address is in words of 32 bits in the host's own order; the last one tells.
    let last = u32::from_str_radix(address.get(address.len().checked_sub(8)?..)?, 16).ok()?;
    let last = Ipv4Addr::from(last.to_ne_bytes());
    (last == Ipv4Addr::LOCALHOST || last.is_unspecified()).then(|| fields.get(9)?.parse().ok())?
}

fn has_socket(pid: i32, sockets: &BTreeSet<u64>) -> bool {
    let directory = super::proc::path(pid).join("fd");
    fs::read_dir(directory).into_iter().flatten().flatten().any(|entry| {
        let target = fs::read_link(entry.path()).ok();
        let inode = target
            .as_deref()
            .and_then(Path::to_str)
            .and_then(|target| target.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok());
        inode.is_some_and(|inode| sockets.contains(&inode))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listener_is_found_by_its_port_and_by_this_process() {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let sockets = listening(port).unwrap();
        assert_eq!(sockets.len(), 1);
        let me = i32::try_from(std::process::id()).unwrap();
        assert!(has_socket(me, &sockets) && !has_socket(1 << 30, &sockets));
        drop(listener);
        assert!(listening(port).unwrap().is_empty());
    }
}
