use std::fmt::Write;
use std::fs;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::{CreateGuard, Home, HomeError, Prepared, lock, policy};
use crate::{Mount, SandboxId, SessionKey};

/// The home directory on a real disk.
///
/// ```text
/// <home>/users/<user>/threads/<thread>/workspace     what the sandbox sees, writable
/// <home>/users/<user>/threads/<thread>/skills_view   the policy view, read-only, if the integrator made one
/// <home>/locks/<sandbox id>.lock                     the create lock, while one is made
/// ```
///
/// Every directory is made for this user alone. Names of users and threads are made safe for any file system: what is
/// readable of them, and a hash that tells them apart.
#[derive(Clone, Debug)]
pub struct HomeDirectory {
    root: PathBuf,
    policy_view: String,
}

impl HomeDirectory {
    /// The environment variable that names the home directory when the configuration doesn't.
    pub const VARIABLE: &str = "LEASEHOLD_HOME";
    /// Where a sandbox sees its thread's directory.
    pub const WORKSPACE: &str = "/workspace";
    /// Where a sandbox sees its thread's policy view.
    pub const POLICY: &str = "/skills";

    /// The home directory `root`, with policy views under the name `policy_view`. Nothing is touched yet.
    pub fn new(root: impl Into<PathBuf>, policy_view: impl Into<String>) -> Self {
        Self { root: root.into(), policy_view: policy_view.into() }
    }

    /// The directory of a session, whether or not it exists.
    #[must_use]
    pub fn session(&self, session: &SessionKey) -> PathBuf {
        let user = self.root.join("users").join(safe_name(session.user()));
        user.join("threads").join(safe_name(session.thread()))
    }
}

impl Home for HomeDirectory {
    fn prepare(&self, session: &SessionKey) -> Result<Prepared, HomeError> {
        own_directory(&self.root)?;
        let mut at = self.root.clone();
        for part in ["users", &safe_name(session.user()), "threads", &safe_name(session.thread())] {
            at.push(part);
            own_directory(&at)?;
        }
        let workspace = at.join("workspace");
        own_directory(&workspace)?;
        let mut mounts =
            vec![Mount { source: workspace, target: PathBuf::from(Self::WORKSPACE), writable: true }];
        let view = at.join(&self.policy_view);
        let policy = policy::digest(&view)?;
        if policy.is_some() {
            mounts.push(Mount { source: view, target: PathBuf::from(Self::POLICY), writable: false });
        }
        Ok(Prepared { policy, mounts })
    }

    fn try_lock(&self, id: &SandboxId) -> Result<Option<CreateGuard>, HomeError> {
        own_directory(&self.root)?;
        let locks = self.root.join("locks");
        own_directory(&locks)?;
        let locked = lock::try_lock(&locks.join(format!("{id}.lock")))?;
        Ok(locked.map(|lock| Box::new(lock) as CreateGuard))
    }
}

/// Makes the directory if need be and sees to it that it is a real one and this user's own.
fn own_directory(path: &Path) -> Result<(), HomeError> {
    match fs::DirBuilder::new().mode(0o700).create(path) {
        Ok(()) => return Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(HomeError::new("cannot make", path).with_source(error)),
    }
    let found =
        fs::symlink_metadata(path).map_err(|e| HomeError::new("cannot look at", path).with_source(e))?;
    if !found.is_dir() {
        return Err(HomeError::new("something that is not a directory (a link, perhaps) is at", path));
    }
    let me = rustix::process::geteuid().as_raw();
    if found.uid() != me {
        return Err(HomeError::new(format!("another user ({}) owns", found.uid()), path));
    }
    Ok(())
}

/// A name for the disk: up to 32 readable characters in lower case, a dash, and 128 bits of a hash, so that names that
/// differ in one letter's case, in length beyond any limit, or in a character that a file system minds are told apart.
fn safe_name(text: &str) -> String {
    let mut name: String = text
        .chars()
        .filter_map(|c| match c.to_ascii_lowercase() {
            c if c.is_ascii_alphanumeric() => Some(c),
            '-' | '_' | '.' | '@' | ' ' => Some('-'),
            _ => None,
        })
        .take(32)
        .collect();
    name.push('-');
    for byte in &Sha256::digest(text.as_bytes())[..16] {
        write!(name, "{byte:02x}").expect("a string takes all");
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn home() -> (tempfile::TempDir, HomeDirectory) {
        let place = tempfile::tempdir().unwrap();
        let home = HomeDirectory::new(place.path().join("home"), "skills_view");
        (place, home)
    }

    fn session(user: &str, thread: &str) -> SessionKey {
        SessionKey::new(user, thread).unwrap()
    }

    #[test]
    fn hostile_names_stay_inside_and_apart() {
        let names = ["..", "a/b", "a\\b", "A", "a", "ä", &"x".repeat(255), "con", " "];
        let safe: std::collections::BTreeSet<_> = names.iter().map(|name| safe_name(name)).collect();
        assert_eq!(safe.len(), names.len());
        for name in &safe {
            assert!(name.len() <= 65 && !name.contains(['/', '\\']) && !name.starts_with('.'), "{name}");
        }
    }

    #[test]
    fn a_session_gets_directories_of_its_own_and_a_policy_where_there_is_a_view() {
        let (_place, home) = home();
        let plain = home.prepare(&session("u", "t")).unwrap();
        assert_eq!((plain.policy, plain.mounts.len()), (None, 1));
        let view = home.session(&session("u", "t")).join("skills_view");
        fs::create_dir(&view).unwrap();
        fs::write(view.join("skill.md"), "do good").unwrap();
        let first = home.prepare(&session("u", "t")).unwrap();
        assert!(first.policy.is_some() && !first.mounts[1].writable);
        assert_eq!(home.prepare(&session("u", "t")).unwrap().policy, first.policy);
        fs::write(view.join("skill.md"), "do better").unwrap();
        assert_ne!(home.prepare(&session("u", "t")).unwrap().policy, first.policy);
        assert_eq!(home.prepare(&session("u", "t2")).unwrap().policy, None);
    }

    #[test]
    fn a_link_in_the_way_is_refused() {
        let (place, home) = home();
        fs::create_dir(place.path().join("elsewhere")).unwrap();
        std::os::unix::fs::symlink(place.path().join("elsewhere"), place.path().join("home")).unwrap();
        let error = home.prepare(&session("u", "t")).unwrap_err().to_string();
        assert!(error.contains("not a directory"), "{error}");
    }

    #[test]
    fn one_at_a_time_has_the_create_lock_and_it_leaves_nothing_behind() {
        let (place, home) = home();
        let id = SandboxId::new("sbx-1").unwrap();
        let first = home.try_lock(&id).unwrap().unwrap();
        assert!(home.try_lock(&id).unwrap().is_none());
        drop(first);
        assert!(home.try_lock(&id).unwrap().is_some());
        assert_eq!(fs::read_dir(place.path().join("home/locks")).unwrap().count(), 0);
    }

    #[test]
    fn h9_an_error_opening_the_lock_surfaces_as_itself() {
        let (place, home) = home();
        fs::create_dir(place.path().join("home")).unwrap();
        fs::write(place.path().join("home/locks"), "in the way").unwrap();
        let error = home.try_lock(&SandboxId::new("sbx-1").unwrap()).map(drop).unwrap_err();
        assert!(error.to_string().contains("locks"), "{error}");
    }
}
