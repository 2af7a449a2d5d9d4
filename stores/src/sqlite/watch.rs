use std::cell::Cell;
use std::ffi::CStr;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use leasehold::Deadline;
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::io::{ioctl_fionread, read};

/// The kernel's word that nothing became of the names of some files, which costs a tenth of looking them all up.
///
/// It watches the files and all directories above them, since a directory can be renamed too. Where it can't (no
/// inotify here, too many of them, a directory that can't be read), nothing is ever quiet and the names are looked up
/// every time. One for all connections of a store, since there are few to be had and closing one is slow.
pub(super) struct Watch {
    queue: Option<OwnedFd>,
    /// How often something stirred. It is raised before the queue is emptied, so that whoever finds the queue empty
    /// also finds it raised.
    stirred: AtomicU64,
}

impl Watch {
    /// Watches nothing, so that everything is looked up every time.
    pub(super) fn nothing() -> Self {
        Self { queue: None, stirred: AtomicU64::new(0) }
    }

    /// Watches `files`, which must be there, and the directories above `path` from now on.
    pub(super) fn on(files: [&CStr; 3], path: &Path) -> Self {
        Self { queue: queue(files, path).ok(), ..Self::nothing() }
    }

    /// How often something stirred, if it is known.
    fn stirred(&self) -> Option<u64> {
        let queue = self.queue.as_ref()?;
        if ioctl_fionread(queue) != Ok(0) {
            self.stirred.fetch_add(1, Ordering::SeqCst);
            empty(queue);
        }
        Some(self.stirred.load(Ordering::SeqCst))
    }
}

fn queue(files: [&CStr; 3], path: &Path) -> rustix::io::Result<OwnedFd> {
    let queue = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
    // A name that goes, or leads to another file, changes the number of the old file's links or moves it.
    for file in files {
        inotify::add_watch(&queue, file, WatchFlags::ATTRIB | WatchFlags::MOVE_SELF)?;
    }
    for directory in path.ancestors().skip(1) {
        let gone = WatchFlags::MOVE_SELF | WatchFlags::DELETE_SELF | WatchFlags::ONLYDIR;
        inotify::add_watch(&queue, directory, gone)?;
    }
    Ok(queue)
}

fn empty(queue: &OwnedFd) {
    let mut events = [0_u8; 1_024];
    while !matches!(read(queue, &mut events[..]), Ok(0) | Err(_)) {}
}

/// What one connection made of a watch.
pub(super) struct Watcher {
    watch: Arc<Watch>,
    /// How often something had stirred when the names were last found to be as they should; `None` after they were
    /// found to be otherwise, so that they are looked up until they are right again.
    seen: Cell<Option<u64>>,
    /// When they are looked up in any case: the kernel tells nothing of a file system mounted over a directory.
    look_anyway: Cell<Deadline>,
}

impl Watcher {
    const LOOK_ANYWAY: Duration = Duration::from_millis(50);

    /// One that knows the names to be as they should from a look that comes after this.
    pub(super) fn new(watch: Arc<Watch>) -> Self {
        let seen = Cell::new(watch.stirred());
        Self { watch, seen, look_anyway: Cell::new(Deadline::after(Self::LOOK_ANYWAY)) }
    }

    /// Whether the names are as they should; `look` finds out, and is called only where it isn't known already.
    pub(super) fn is_right(&self, look: impl FnOnce() -> bool) -> bool {
        let stirred = self.watch.stirred();
        if stirred.is_some() && stirred == self.seen.get() && !self.look_anyway.get().passed() {
            return true;
        }
        let right = look();
        self.seen.set(if right { stirred } else { None });
        self.look_anyway.set(Deadline::after(Self::LOOK_ANYWAY));
        right
    }
}
