//! What the kernel says of processes.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use leasehold::{BackendError, BackendErrorKind};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal, test_kill_process};

use super::error::failed;
use super::record::ProcessId;

/// More than any environment has that a kernel lets a program be started with.
const LARGEST_ENVIRONMENT: u64 = 8 << 20;

/// One process, as `/proc/<pid>/stat` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stat {
    pub(super) process: ProcessId,
    pub(super) parent: i32,
    pub(super) group: i32,
    state: u8,
    threads: u64,
}

impl Stat {
    /// Whether it has ended and only waits to be reaped. One whose first thread has ended and others have not is alive.
    pub(super) fn has_ended(&self) -> bool {
        matches!(self.state, b'Z' | b'X' | b'x') && self.threads <= 1
    }

    /// Whether a signal stopped it for the time being.
    pub(super) fn is_paused(&self) -> bool {
        self.state == b'T'
    }

    fn parse(text: &str) -> Option<Self> {
        // The program's name may have blanks and brackets in it, so what follows is counted from the last bracket.
        let (before, after) = text.rsplit_once(')')?;
        let pid = before.split_once('(')?.0.trim().parse().ok()?;
        let fields: Vec<&str> = after.split_ascii_whitespace().collect();
        let field = |number: usize| fields.get(number - 3).copied();
        Some(Self {
            process: ProcessId { pid, start: field(22)?.parse().ok()? },
            parent: field(4)?.parse().ok()?,
            group: field(5)?.parse().ok()?,
            state: *field(3)?.as_bytes().first()?,
            threads: field(20)?.parse().ok()?,
        })
    }
}

/// The process that has the number `pid` now; `None` when surely none has.
///
/// # Errors
/// Whatever keeps one from knowing, as where `/proc` is not mounted or hides processes.
pub(super) fn look(pid: i32) -> Result<Option<Stat>, BackendError> {
    let path = PathBuf::from(format!("/proc/{pid}/stat"));
    match read_small(&path) {
        Ok(text) => Stat::parse(&text).map(Some).ok_or_else(|| {
            let text = format!("cannot understand {}", path.display());
            BackendError::new(BackendErrorKind::Unsupported, text)
        }),
        Err(e) if is_absent(&e) => match kernel_knows(pid) {
            false => Ok(None),
            true => Err(failed("see the process that has this number in", &path, e)),
        },
        Err(e) => Err(failed("read", &path, e)),
    }
}

/// Every process there is. Those that end meanwhile may be missing.
pub(super) fn all() -> Result<Vec<Stat>, BackendError> {
    let proc = Path::new("/proc");
    let mut found = Vec::new();
    for entry in fs::read_dir(proc).map_err(|e| failed("read", proc, e))? {
        let entry = entry.map_err(|e| failed("read", proc, e))?;
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else {
            continue;
        };
        match look(pid) {
            Ok(Some(stat)) => found.push(stat),
            Ok(None) => {}
            // Where /proc is mounted so, other users' processes can't be read; none of them is ours to know of.
            Err(e) if e.kind() == BackendErrorKind::Denied && !is_mine(&entry.path()) => {}
            Err(e) => return Err(e),
        }
    }
    Ok(found)
}

/// Whether `process` was started with `entry` (`NAME=value`) in its environment, or has no environment to show and works
/// within `home`: a program that is only just being started shows none yet, but is where it was told to be. No when it has
/// ended or isn't this user's to read.
pub(super) fn shows(process: ProcessId, entry: &str, home: &Path) -> Result<bool, BackendError> {
    let path = path(process.pid);
    match fs::metadata(&path) {
        Ok(found) if found.uid() != rustix::process::geteuid().as_raw() => return Ok(false),
        Ok(_) => {}
        Err(e) if is_absent(&e) => return Ok(false),
        Err(e) => return Err(failed("look at", &path, e)),
    }
    let environ = path.join("environ");
    let mut environment = Vec::new();
    let read =
        File::open(&environ).and_then(|file| file.take(LARGEST_ENVIRONMENT).read_to_end(&mut environment));
    match read {
        Ok(0) => {}
        Ok(_) => return Ok(environment.split(|byte| *byte == 0).any(|found| found == entry.as_bytes())),
        // One that keeps its memory from its own user was not started by us with anything readable.
        Err(e) if is_absent(&e) || e.kind() == io::ErrorKind::PermissionDenied => return Ok(false),
        Err(e) => return Err(failed("read", &environ, e)),
    }
    match fs::read_link(path.join("cwd")) {
        Ok(directory) => Ok(directory.starts_with(home)),
        Err(e) if is_absent(&e) || e.kind() == io::ErrorKind::PermissionDenied => Ok(false),
        Err(e) => Err(failed("read", &path.join("cwd"), e)),
    }
}

/// Sends `signal` to exactly this process, whoever may get its number meanwhile; no when it is gone.
pub(super) fn signal(process: ProcessId, signal: Signal) -> Result<bool, BackendError> {
    let Some(pid) = Pid::from_raw(process.pid) else { return Ok(false) };
    let refused = |e: Errno| {
        let path = PathBuf::from(format!("/proc/{}", process.pid));
        failed("signal", &path, e)
    };
    let descriptor = match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(descriptor) => Some(descriptor),
        Err(Errno::SRCH) => return Ok(false),
        // Kernels and seccomp profiles without process descriptors.
        Err(Errno::NOSYS | Errno::PERM) => None,
        Err(e) => return Err(refused(e)),
    };
    // The descriptor is of whoever had the number; that this was the right one is looked at afterwards.
    if look(process.pid)?.is_none_or(|found| found.process != process) {
        return Ok(false);
    }
    let sent = match &descriptor {
        Some(descriptor) => pidfd_send_signal(descriptor, signal),
        None => rustix::process::kill_process(pid, signal),
    };
    match sent {
        Ok(()) => Ok(true),
        Err(Errno::SRCH) => Ok(false),
        Err(e) => Err(refused(e)),
    }
}

/// Where the kernel tells about a process.
pub(super) fn path(pid: i32) -> PathBuf {
    PathBuf::from(format!("/proc/{pid}"))
}

fn is_mine(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.uid() == rustix::process::geteuid().as_raw())
}

fn kernel_knows(pid: i32) -> bool {
    Pid::from_raw(pid).is_some_and(|pid| test_kill_process(pid) != Err(Errno::SRCH))
}

fn is_absent(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound || Errno::from_io_error(error) == Some(Errno::SRCH)
}

fn read_small(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    File::open(path)?.take(64 << 10).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "4242 (a) (b) c) S 17 4240 4200 0 -1 4194560 123 0 0 0 1 2 0 0 20 0 3 0 688858 1 2 3";

    #[test]
    fn a_name_with_brackets_shifts_no_field() {
        let stat = Stat::parse(LINE).unwrap();
        assert_eq!(stat.process, ProcessId { pid: 4242, start: 688_858 });
        assert_eq!((stat.parent, stat.group, stat.state, stat.threads), (17, 4240, b'S', 3));
    }

    #[test]
    fn a_process_whose_first_thread_has_ended_is_alive_while_others_are() {
        let zombie = LINE.replace(" S ", " Z ");
        assert!(!Stat::parse(&zombie).unwrap().has_ended());
        assert!(Stat::parse(&zombie.replace(" 20 0 3 ", " 20 0 1 ")).unwrap().has_ended());
    }

    #[test]
    fn this_process_is_seen_and_a_number_beyond_all_is_not() {
        let me = i32::try_from(std::process::id()).unwrap();
        let stat = look(me).unwrap().unwrap();
        assert!(stat.process.pid == me && !stat.has_ended() && stat.process.start > 0);
        assert!(all().unwrap().iter().any(|found| found.process == stat.process));
        assert_eq!(look(i32::MAX).unwrap(), None);
    }

    #[test]
    fn a_signal_for_another_start_time_is_not_sent() {
        let me = i32::try_from(std::process::id()).unwrap();
        let start = look(me).unwrap().unwrap().process.start;
        assert!(!signal(ProcessId { pid: me, start: start + 1 }, Signal::KILL).unwrap());
    }
}
