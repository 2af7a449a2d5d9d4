use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use leasehold::{BackendError, BackendErrorKind, BootClock, BootId, Clock, EngineId, WallTime};
use sha2::{Digest, Sha256};

use super::error::failed;

/// Where a process number means what it meant: the machine, this run of its kernel, and the namespaces that number and
/// time its processes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Birthplace {
    pub(super) machine: String,
    pub(super) boot: BootId,
    pub(super) pid_namespace: String,
    pub(super) time_namespace: String,
}

/// This host, as this process sees it.
#[derive(Debug)]
pub(super) struct Host {
    pub(super) here: Birthplace,
    clock: BootClock,
}

/// What a birthplace says about a process before anybody looks for it.
pub(super) enum Reckoned {
    /// It was born here; looking tells.
    Here,
    /// The kernel it ran under has ended, and it with it.
    AnotherBoot,
}

impl Host {
    pub(super) fn new() -> Result<Self, BackendError> {
        let clock = BootClock::new().map_err(|e| {
            let text = "cannot tell which boot this is";
            BackendError::new(BackendErrorKind::Unsupported, text).with_source(e)
        })?;
        let here = Birthplace {
            machine: machine(),
            boot: clock.boot().id,
            pid_namespace: namespace("pid")?,
            time_namespace: namespace("time")?,
        };
        Ok(Self { here, clock })
    }

    /// The wall clock, in microseconds since 1970.
    pub(super) fn wall(&self) -> WallTime {
        self.clock.wall()
    }

    /// Whether a process of a record that was `created` then in `birthplace` can be looked for from here.
    ///
    /// # Errors
    /// [`BackendErrorKind::Unavailable`] when it may be alive and can't be seen from here.
    pub(super) fn reckon(
        &self,
        birthplace: &Birthplace,
        created: WallTime,
    ) -> Result<Reckoned, BackendError> {
        let blind = |why: &str| {
            let text = format!("it was made {why}, from where nobody can tell whether it still runs");
            Err(BackendError::new(BackendErrorKind::Unavailable, text))
        };
        if birthplace.machine != self.here.machine {
            return blind("on another machine or in a container of another name");
        }
        if birthplace.boot != self.here.boot {
            // Another kernel that was alive after this one started may be alive still.
            if created >= self.clock.boot().started {
                return blind("under another kernel that shares this directory");
            }
            return Ok(Reckoned::AnotherBoot);
        }
        if birthplace.pid_namespace != self.here.pid_namespace {
            return blind("in another container (another namespace of process numbers)");
        }
        if birthplace.time_namespace != self.here.time_namespace {
            return blind("in another namespace of time");
        }
        Ok(Reckoned::Here)
    }

    /// Which engine the directory `root` is for processes that see it as this one does: gateways share sandboxes if they
    /// share the machine, its process numbers and the directory.
    pub(super) fn engine(&self, root: &Path) -> Result<EngineId, BackendError> {
        let found = fs::symlink_metadata(root).map_err(|e| failed("look at", root, e))?;
        let Birthplace { machine, pid_namespace, .. } = &self.here;
        let text = format!("{machine}\n{pid_namespace}\n{}\n{}", found.dev(), found.ino());
        let hash = Sha256::digest(text.as_bytes());
        let short = hash[..16].iter().fold(0_u128, |all, byte| all << 8 | u128::from(*byte));
        Ok(EngineId::new(format!("process-{short:032x}")))
    }
}

/// The machine's own id, which outlives its boots, or its name where it has none.
fn machine() -> String {
    let ids = ["/etc/machine-id", "/var/lib/dbus/machine-id"];
    let id = ids.iter().find_map(|path| fs::read_to_string(path).ok().filter(|id| !id.trim().is_empty()));
    match id {
        Some(id) => id.trim().to_owned(),
        None => rustix::system::uname().nodename().to_string_lossy().into_owned(),
    }
}

/// The kernel's name for the namespace of this process; empty where the kernel has no such kind.
fn namespace(kind: &str) -> Result<String, BackendError> {
    let path = Path::new("/proc/self/ns").join(kind);
    match fs::read_link(&path) {
        Ok(name) => Ok(name.to_string_lossy().into_owned()),
        Err(e) if e.kind() == io::ErrorKind::NotFound && kind == "time" => Ok(String::new()),
        Err(e) => Err(failed("read", &path, e)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reckoned(change: impl FnOnce(&mut Birthplace), created: WallTime) -> Result<bool, BackendError> {
        let host = Host::new().unwrap();
        let mut born = host.here.clone();
        change(&mut born);
        host.reckon(&born, created).map(|reckoned| matches!(reckoned, Reckoned::Here))
    }

    #[test]
    fn what_was_born_before_this_kernel_started_has_ended_with_the_one_before() {
        let started = BootClock::new().unwrap().boot().started;
        assert!(!reckoned(|born| born.boot = BootId::from_bits(1), started - 1_000_000).unwrap());
        assert!(reckoned(|_| {}, started).unwrap());
    }

    #[test]
    fn what_may_live_where_nobody_here_can_look_is_unknown() {
        let now = BootClock::new().unwrap().wall();
        let changes: [fn(&mut Birthplace); 4] = [
            |born| born.boot = BootId::from_bits(1),
            |born| born.machine.push('x'),
            |born| born.pid_namespace.push('x'),
            |born| born.time_namespace.push('x'),
        ];
        for change in changes {
            assert_eq!(reckoned(change, now).unwrap_err().kind(), BackendErrorKind::Unavailable);
        }
    }
}
