use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use leasehold::{BackendError, BackendErrorKind, InstanceId, Namespace, SandboxId, Unreadable};

use super::error::failed;
use super::files;
use super::lock::{IdLock, Locking};
use super::name::{self, InstanceName};
use super::record::Record;

/// The file in which a record is written before it is put in place.
pub(super) const DRAFT: &str = "draft";
/// The record of the instance that has the name.
const NAMED: &str = "record";
/// Before the random bits of a condemned instance, in the name of its record.
const CONDEMNED: &str = "condemned.";

/// Where a namespace keeps its sandboxes:
///
/// ```text
/// <root>/<namespace>/<sandbox id>/           locked by whoever changes what is in it
///     record                                 of the instance that has the name
///     condemned.<instance>                   the same file after the instance lost its name: one rename
///     <instance>/work                        where the sandbox runs
///     <instance>/stdout, stderr              what it said
///     <instance>/environment                 its variables, for commands that are started in it
///     <instance>/commands/<pid>-<start>      the leader of a group that a command was started as
/// ```
///
/// A record is there before anything else of an instance is, and is removed last.
#[derive(Debug)]
pub(super) struct Place {
    root: PathBuf,
    namespace: Namespace,
    /// Device and inode of the namespace's directory, once it was made or found.
    entered: OnceLock<(u64, u64)>,
}

/// A record and where it stands.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    pub(super) record: Record,
    pub(super) condemned: bool,
}

/// The records of one sandbox id, and what can't be read there.
#[derive(Debug, Default)]
pub(super) struct Shelf {
    pub(super) kept: Vec<Kept>,
    pub(super) unreadable: Vec<Unreadable>,
}

impl Place {
    pub(super) fn new(root: PathBuf, namespace: Namespace) -> Self {
        Self { root, namespace, entered: OnceLock::new() }
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    pub(super) fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    /// Makes the directories the first time, and sees to it that they are the same ones ever after: of a directory that
    /// was moved away nobody can say that a sandbox is not in it.
    pub(super) fn enter(&self) -> Result<(), BackendError> {
        let home = self.home();
        if self.entered.get().is_none() {
            if self.root.as_os_str().as_bytes().contains(&0) || !self.root.is_absolute() {
                let text =
                    format!("the root {:?} must be an absolute path, the same for every gateway", self.root);
                return Err(BackendError::new(BackendErrorKind::Invalid, text));
            }
            if let Some(parent) = self.root.parent() {
                fs::create_dir_all(parent).map_err(|e| failed("make the directory", parent, e))?;
            }
            files::own_directory(&self.root)?;
            files::own_directory(&home)?;
        }
        files::check_own_directory(&self.root)?;
        files::check_own_directory(&home)?;
        let found = fs::symlink_metadata(&home).map_err(|e| failed("look at", &home, e))?;
        let found = (found.dev(), found.ino());
        if *self.entered.get_or_init(|| found) != found {
            let text =
                format!("another directory stands at {} than before; put the first one back", home.display());
            return Err(BackendError::new(BackendErrorKind::Unavailable, text));
        }
        Ok(())
    }

    /// Tries once to lock the directory of an id; `make` makes it first.
    pub(super) fn lock(&self, directory: &str, make: bool) -> Result<Locking, BackendError> {
        self.enter()?;
        let locking = IdLock::attempt(&self.home().join(directory), make)?;
        if let Locking::Absent = locking {
            self.enter()?;
        }
        Ok(locking)
    }

    /// The instance that has the name of `id`.
    pub(super) fn named(&self, id: &SandboxId) -> Result<Option<Kept>, BackendError> {
        let directory = name::directory(id);
        let found = self.read(&directory, &self.home().join(&directory).join(NAMED))?;
        Ok(found.map(|record| Kept { record, condemned: false }))
    }

    /// The record of one instance, whether it has its name or not; `None` when it surely has none any more.
    pub(super) fn find(&self, instance: &InstanceName) -> Result<Option<Kept>, BackendError> {
        // It is condemned by a rename, so it may go from its name to the other place between two looks, and never back.
        // The other place comes first, so that a damaged record of whoever has the name now does not hide it.
        for condemned in [true, false, true] {
            let path = self.record_path(instance, condemned);
            if let Some(record) = self.read(&instance.directory, &path)?
                && record.name == *instance
            {
                return Ok(Some(Kept { record, condemned }));
            }
        }
        Ok(None)
    }

    /// Every directory of the namespace in which a sandbox may be, and what is there besides.
    pub(super) fn directories(&self) -> Result<(Vec<String>, Vec<Unreadable>), BackendError> {
        self.enter()?;
        let home = self.home();
        let (mut found, mut odd) = (Vec::new(), Vec::new());
        for entry in fs::read_dir(&home).map_err(|e| failed("read", &home, e))? {
            let entry = entry.map_err(|e| failed("read", &home, e))?;
            let path = entry.path();
            match entry.file_name().into_string() {
                Ok(name) if name::is_directory(&name) => found.push(name),
                _ => {
                    odd.push(self.odd(&path, "no sandbox has a directory of this name; remove it".to_owned()))
                }
            }
        }
        self.enter()?;
        Ok((found, odd))
    }

    /// Everything in the directory of one id. What can't be read there hides nothing else.
    pub(super) fn shelf(&self, directory: &str) -> Result<Shelf, BackendError> {
        // A record that was listed and is not there any more may have been condemned meanwhile, under a name that was not
        // listed yet; the next look has it then.
        let mut last = self.look_at_shelf(directory)?;
        for _ in 0..8 {
            if last.1 {
                break;
            }
            last = self.look_at_shelf(directory)?;
        }
        Ok(last.0)
    }

    /// Also says whether nothing was moved meanwhile.
    fn look_at_shelf(&self, directory: &str) -> Result<(Shelf, bool), BackendError> {
        let mut still = true;
        let path = self.home().join(directory);
        let mut shelf = Shelf::default();
        let entries = match files::check_own_directory(&path).and_then(|()| {
            let entries = fs::read_dir(&path).map_err(|e| failed("read", &path, e))?;
            entries.collect::<Result<Vec<_>, _>>().map_err(|e| failed("read", &path, e))
        }) {
            Ok(entries) => entries,
            Err(_) if is_absent(&path) => return Ok((shelf, still)),
            Err(e) => {
                shelf.unreadable.push(self.odd(&path, e.to_string()));
                return Ok((shelf, still));
            }
        };
        for entry in entries {
            let file = entry.file_name();
            let Some(file) = file.to_str() else { continue };
            let condemned = file.strip_prefix(CONDEMNED);
            if file != NAMED && condemned.is_none() {
                continue;
            }
            match self.read(directory, &entry.path()) {
                Ok(Some(record)) if condemned.is_none_or(|nonce| nonce == record.name.nonce) => {
                    shelf.kept.push(Kept { record, condemned: condemned.is_some() });
                }
                Ok(Some(_)) => {
                    let why = "the record is another instance's than the file's name says".to_owned();
                    shelf.unreadable.push(self.odd(&entry.path(), why));
                }
                // It was condemned or removed meanwhile.
                Ok(None) => still = false,
                Err(e) => shelf.unreadable.push(self.odd(&entry.path(), e.to_string())),
            }
        }
        Ok((shelf, still))
    }

    /// Whether the directory of an id holds no record, which nobody but the holder of its lock can rely on.
    pub(super) fn is_bare(&self, directory: &str) -> bool {
        let entries = fs::read_dir(self.home().join(directory)).into_iter().flatten();
        entries.flatten().all(|entry| entry.file_name() == DRAFT)
    }

    /// Writes the record of an instance. Only the holder of the lock may.
    pub(super) fn write(&self, _lock: &IdLock, kept: &Kept) -> Result<(), BackendError> {
        let path = self.record_path(&kept.record.name, kept.condemned);
        let draft = path.with_file_name(DRAFT);
        files::replace(&path, &draft, &kept.record.encode())
    }

    /// Takes the name from an instance, at once.
    pub(super) fn condemn(&self, _lock: &IdLock, instance: &InstanceName) -> Result<(), BackendError> {
        let (from, to) = (self.record_path(instance, false), self.record_path(instance, true));
        fs::rename(&from, &to).map_err(|e| failed("rename", &from, e))
    }

    /// Removes all that an instance is made of, apart from its record.
    pub(super) fn empty(&self, _lock: &IdLock, instance: &InstanceName) -> Result<(), BackendError> {
        files::remove_tree(&self.of(instance))
    }

    /// Removes the record of an instance that is empty; from then on it is gone.
    pub(super) fn forget(&self, _lock: &IdLock, kept: &Kept) -> Result<(), BackendError> {
        files::remove(&self.record_path(&kept.record.name, kept.condemned))
    }

    /// What an instance is made of, apart from its record.
    pub(super) fn of(&self, instance: &InstanceName) -> PathBuf {
        self.home().join(&instance.directory).join(&instance.nonce)
    }

    fn home(&self) -> PathBuf {
        self.root.join(self.namespace.as_str())
    }

    fn record_path(&self, instance: &InstanceName, condemned: bool) -> PathBuf {
        let directory = self.home().join(&instance.directory);
        match condemned {
            false => directory.join(NAMED),
            true => directory.join(format!("{CONDEMNED}{}", instance.nonce)),
        }
    }

    /// A record; `None` when there surely is none.
    fn read(&self, directory: &str, path: &Path) -> Result<Option<Record>, BackendError> {
        let id_directory = self.home().join(directory);
        if let Some(bytes) = files::read(path)? {
            files::check_own_directory(&id_directory)?;
            return Record::decode(&bytes, path, &self.namespace, directory).map(Some);
        }
        // Only with the right directory at hand can one say that a file is not in it.
        self.enter()?;
        if !is_absent(&id_directory) {
            files::check_own_directory(&id_directory)
                .or_else(|e| if is_absent(&id_directory) { Ok(()) } else { Err(e) })?;
        }
        Ok(None)
    }

    fn odd(&self, path: &Path, why: String) -> Unreadable {
        let within = path.strip_prefix(&self.root).unwrap_or(path);
        Unreadable { instance: InstanceId::new(within.to_string_lossy().into_owned()), why }
    }
}

fn is_absent(path: &Path) -> bool {
    matches!(fs::symlink_metadata(path), Err(e) if e.kind() == io::ErrorKind::NotFound)
}
