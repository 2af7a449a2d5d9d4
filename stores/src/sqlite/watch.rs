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

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CString;
    use std::fs;
    use std::os::unix::ffi::OsStrExt;
    use std::path::PathBuf;

    /// Three files and a watch on them.
    fn watched() -> (tempfile::TempDir, [PathBuf; 3], Watcher) {
        let directory = tempfile::tempdir().unwrap();
        let paths = ["a", "b", "c"].map(|name| directory.path().join(name));
        paths.iter().for_each(|path| fs::write(path, "").unwrap());
        let names = paths.each_ref().map(|path| CString::new(path.as_os_str().as_bytes()).unwrap());
        let watch = Watch::on(names.each_ref().map(|name| name.as_c_str()), &paths[0]);
        assert!(watch.queue.is_some(), "inotify is there");
        (directory, paths, Watcher::new(Arc::new(watch)))
    }

    /// Far from the next look that comes in any case.
    fn undisturbed(watcher: &Watcher) {
        watcher.look_anyway.set(Deadline::after(Duration::from_secs(3_600)));
    }

    #[test]
    fn while_nothing_happens_nothing_is_looked_up() {
        let (_directory, paths, watcher) = watched();
        undisturbed(&watcher);
        fs::write(&paths[1], "more").unwrap();
        assert!(watcher.is_right(|| panic!("writing is no reason to look")));
    }

    #[test]
    fn every_way_for_a_name_to_lead_elsewhere_makes_it_look() {
        let ways: [fn(&[PathBuf; 3]); 4] = [
            |paths| fs::remove_file(&paths[2]).unwrap(),
            |paths| fs::rename(&paths[1], paths[1].with_extension("away")).unwrap(),
            |paths| {
                let new = paths[0].with_extension("new");
                fs::write(&new, "").unwrap();
                fs::rename(new, &paths[0]).unwrap();
            },
            |paths| {
                let directory = paths[0].parent().unwrap();
                fs::rename(directory, directory.with_extension("away")).unwrap();
                fs::rename(directory.with_extension("away"), directory).unwrap();
            },
        ];
        for (n, way) in ways.iter().enumerate() {
            let (_directory, paths, watcher) = watched();
            undisturbed(&watcher);
            way(&paths);
            let looked = Cell::new(false);
            assert!(!watcher.is_right(|| looked.replace(true)), "way {n}");
            assert!(looked.get(), "way {n}");
        }
    }

    #[test]
    fn what_was_wrong_is_looked_up_until_it_is_right() {
        let (_directory, paths, watcher) = watched();
        fs::remove_file(&paths[2]).unwrap();
        for _ in 0..2 {
            assert!(!watcher.is_right(|| false));
        }
        assert!(watcher.is_right(|| true));
        undisturbed(&watcher);
        assert!(watcher.is_right(|| panic!("it is right and quiet")));
    }

    #[test]
    fn a_change_is_seen_by_everyone_who_shares_the_watch() {
        let (_directory, paths, watcher) = watched();
        let other = Watcher::new(Arc::clone(&watcher.watch));
        undisturbed(&other);
        fs::remove_file(&paths[0]).unwrap();
        assert!(!watcher.is_right(|| false));
        assert!(!other.is_right(|| false), "the first has emptied the queue");
    }

    #[test]
    fn without_the_kernels_word_every_name_is_looked_up() {
        let watcher = Watcher::new(Arc::new(Watch::nothing()));
        assert!(watcher.is_right(|| true));
        assert!(!watcher.is_right(|| false));
    }
}
