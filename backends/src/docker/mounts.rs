//! Whether what a sandbox wants to see of its host is something it may.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use leasehold::Mount;

use super::config::is_plain;

/// Checks the mounts of a spec; the text says what is wrong with the first that may not be. Reads links where the source
/// is there to be seen: a gateway in a container, or of an engine on another host, sees no sources and has their names
/// checked alone. Blocks.
pub(super) fn check(mounts: &[Mount], roots: &[PathBuf], local: bool) -> Result<(), String> {
    let mut targets = BTreeSet::new();
    for Mount { source, target, .. } in mounts {
        if !is_plain(target) || target == Path::new("/") {
            return Err(format!(
                "a mount's target {} must be an absolute path without `.` and `..`, and not the root",
                target.display()
            ));
        }
        if !targets.insert(target) {
            return Err(format!("two mounts have the target {}", target.display()));
        }
        if !is_plain(source) {
            return Err(format!(
                "a mount's source {} must be an absolute path without `.` and `..`",
                source.display()
            ));
        }
        let below = |path: &Path| roots.iter().any(|root| path.starts_with(root));
        if !below(source) {
            return Err(outside(source, roots));
        }
        if !local {
            continue;
        }
        match source.canonicalize() {
            Ok(real) if below(&real) || below_real(&real, roots) => {}
            Ok(real) => {
                return Err(format!(
                    "{} leads to {}: {}",
                    source.display(),
                    real.display(),
                    outside(&real, roots)
                ));
            }
            // It may be there for the engine and not for a gateway that runs in a container; if not, the engine says so.
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(e) => return Err(format!("it can't be told where {} leads: {e}", source.display())),
        }
    }
    Ok(())
}

/// Whether a root is itself a link, and the path is below where it leads.
fn below_real(path: &Path, roots: &[PathBuf]) -> bool {
    roots.iter().filter_map(|root| root.canonicalize().ok()).any(|root| path.starts_with(root))
}

fn outside(path: &Path, roots: &[PathBuf]) -> String {
    let path = path.display();
    if roots.is_empty() {
        return format!(
            "no mount is allowed: add the directory above {path} to `mount_roots` if it may be seen"
        );
    }
    format!("{path} is below none of the directories in `mount_roots`")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mount(source: impl Into<PathBuf>, target: &str) -> Mount {
        Mount { source: source.into(), target: target.into(), writable: false }
    }

    fn refusal(mounts: &[Mount], roots: &[PathBuf]) -> String {
        check(mounts, roots, true).unwrap_err()
    }

    #[test]
    fn what_is_not_below_a_root_is_refused() {
        let roots = [PathBuf::from("/srv/agents")];
        assert_eq!(check(&[mount("/srv/agents/u1", "/workspace")], &roots, true), Ok(()));
        assert!(refusal(&[mount("/etc", "/x")], &roots).contains("mount_roots"));
        assert!(refusal(&[mount("/srv/agents-2/u1", "/x")], &roots).contains("mount_roots"));
        assert!(refusal(&[mount("/srv/agents/../x", "/x")], &roots).contains(".."));
        assert!(refusal(&[mount("/srv/agents/./x", "/x")], &roots).contains("`.`"));
        assert!(refusal(&[mount("srv", "/x")], &roots).contains("absolute"));
        assert!(refusal(&[mount("/srv/agents/u1", "/")], &roots).contains("root"));
        let twice = [mount("/srv/agents/u1", "/x"), mount("/srv/agents/u2", "/x")];
        assert!(refusal(&twice, &roots).contains("two mounts"));
        assert!(refusal(&[mount("/etc", "/x")], &[]).contains("no mount is allowed"));
    }

    #[test]
    fn a_link_that_leads_out_is_refused_and_one_that_stays_is_not() {
        let base = tempfile::tempdir().unwrap();
        let root = base.path().canonicalize().unwrap().join("root");
        std::fs::create_dir_all(root.join("in")).unwrap();
        std::os::unix::fs::symlink("/etc", root.join("out")).unwrap();
        std::os::unix::fs::symlink(root.join("in"), root.join("stays")).unwrap();
        let roots = [root.clone()];
        assert!(refusal(&[mount(root.join("out"), "/x")], &roots).contains("/etc"));
        assert!(refusal(&[mount(root.join("out/ssl"), "/x")], &roots).contains("/etc"));
        assert_eq!(check(&[mount(root.join("stays"), "/x")], &roots, true), Ok(()));
        // The engine's host can't be looked at from here.
        assert_eq!(check(&[mount(root.join("out"), "/x")], &roots, false), Ok(()));
    }
}
