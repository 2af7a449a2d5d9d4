use std::os::fd::OwnedFd;
use std::process::Child;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use leasehold::BackendError;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::threads;

/// Takes the exit status of every sandbox that this process started, as soon as it ends, so that none stays a zombie.
///
/// The thread ends after the backend and the last of its sandboxes, whichever is later.
#[derive(Debug)]
pub(super) struct Reaper {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    inbox: Mutex<Inbox>,
    bell: OwnedFd,
}

#[derive(Debug, Default)]
struct Inbox {
    children: Vec<Child>,
    closed: bool,
}

impl Reaper {
    /// How often children are looked at on kernels that can't tell when one ends.
    const ROUND: Duration = Duration::from_millis(100);
    /// How often the thread looks around although nothing happened.
    const IDLE: Duration = Duration::from_secs(60);

    pub(super) fn start() -> Result<Self, BackendError> {
        let bell = bell()?;
        let shared = Arc::new(Shared { inbox: Mutex::default(), bell });
        let thread = Arc::clone(&shared);
        threads::start("sandbox-reaper".to_owned(), move || thread.reap())?;
        Ok(Self { shared })
    }

    /// Looks after `child` from now on.
    pub(super) fn adopt(&self, child: Child) {
        self.shared.inbox.lock().unwrap_or_else(PoisonError::into_inner).children.push(child);
        ring(&self.shared.bell);
    }
}

impl Drop for Reaper {
    fn drop(&mut self) {
        self.shared.inbox.lock().unwrap_or_else(PoisonError::into_inner).closed = true;
        ring(&self.shared.bell);
    }
}

impl Shared {
    fn reap(&self) {
        let mut children: Vec<(Child, Option<OwnedFd>)> = Vec::new();
        loop {
            let closed = {
                let mut inbox = self.inbox.lock().unwrap_or_else(PoisonError::into_inner);
                children.extend(inbox.children.drain(..).map(|child| {
                    let descriptor = descriptor(&child);
                    (child, descriptor)
                }));
                inbox.closed
            };
            // A child whose status somebody else took is an error here, and as reaped as can be.
            children.retain_mut(|(child, _)| matches!(child.try_wait(), Ok(None)));
            if closed && children.is_empty() {
                return;
            }
            let blind = children.iter().any(|(_, descriptor)| descriptor.is_none());
            let mut watched = vec![PollFd::new(&self.bell, PollFlags::IN)];
            watched.extend(
                children.iter().filter_map(|(_, fd)| fd.as_ref()).map(|fd| PollFd::new(fd, PollFlags::IN)),
            );
            wait(&mut watched, if blind { Reaper::ROUND } else { Reaper::IDLE });
            silence(&self.bell);
        }
    }
}

/// Readable once the child has ended; `None` on kernels and under seccomp profiles without such descriptors.
pub(super) fn descriptor(child: &Child) -> Option<OwnedFd> {
    let pid = Pid::from_raw(i32::try_from(child.id()).ok()?)?;
    pidfd_open(pid, PidfdFlags::empty()).ok()
}

/// Something that a thread which waits for descriptors can be woken by, without ever blocking who wakes it.
pub(super) fn bell() -> Result<OwnedFd, BackendError> {
    eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
        .map_err(|e| super::error::failed("make", std::path::Path::new("an event descriptor"), e))
}

pub(super) fn ring(bell: &OwnedFd) {
    // It fails only when it has been rung 2^64 times, and then it is ringing.
    let _ = rustix::io::write(bell, &1_u64.to_ne_bytes());
}

pub(super) fn silence(bell: &OwnedFd) {
    let _ = rustix::io::read(bell, &mut [0_u8; 8]);
}

/// Waits until one of `watched` has something to tell, or `limit` is over.
pub(super) fn wait(watched: &mut [PollFd<'_>], limit: Duration) {
    let limit = Timespec { tv_sec: limit.as_secs() as i64, tv_nsec: limit.subsec_nanos().into() };
    match poll(watched, Some(&limit)) {
        Ok(_) | Err(Errno::INTR) => {}
        // Out of memory, most likely: whoever waits looks again, and not in a busy loop.
        Err(_) => pause(Reaper::ROUND),
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a thread of its own, where the kernel refuses to wait for events"
)]
fn pause(pause: Duration) {
    std::thread::sleep(pause);
}
