use std::fmt::Write;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::HomeError;

/// How many files and directories a policy view may have.
const MOST_FILES: usize = 10_000;
/// How many bytes it may have.
const MOST_BYTES: u64 = 64 << 20;

/// The digest of everything in the policy view `path`: names, contents, where links point, what may be executed; `None`
/// when there is no such directory. Links are not followed.
pub(super) fn digest(path: &Path) -> Result<Option<Arc<str>>, HomeError> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => {}
        Ok(_) => return Err(HomeError::new("something that is not a directory is at", path)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(HomeError::new("cannot look at", path).with_source(error)),
    }
    let mut walk = Walk { hash: Sha256::new(), files: 0, bytes: 0 };
    walk.directory(path)?;
    let mut text = String::new();
    for byte in &walk.hash.finalize()[..16] {
        write!(text, "{byte:02x}").expect("a string takes all");
    }
    Ok(Some(text.into()))
}

struct Walk {
    hash: Sha256,
    files: usize,
    bytes: u64,
}

impl Walk {
    fn part(&mut self, bytes: &[u8]) {
        self.hash.update((bytes.len() as u64).to_be_bytes());
        self.hash.update(bytes);
    }

    fn directory(&mut self, path: &Path) -> Result<(), HomeError> {
        let failed = |error| HomeError::new("cannot read", path).with_source(error);
        let mut names = Vec::new();
        for entry in fs::read_dir(path).map_err(failed)? {
            names.push(entry.map_err(failed)?.file_name());
            self.files += 1;
            if self.files > MOST_FILES {
                return Err(HomeError::new(
                    format!("more than {MOST_FILES} files are in the policy view"),
                    path,
                ));
            }
        }
        names.sort();
        for name in names {
            self.part(name.as_bytes());
            self.entry(&path.join(name))?;
        }
        self.part(b"end");
        Ok(())
    }

    fn entry(&mut self, path: &Path) -> Result<(), HomeError> {
        use std::os::unix::fs::MetadataExt;
        let failed = |error| HomeError::new("cannot read", path).with_source(error);
        let found = fs::symlink_metadata(path).map_err(failed)?;
        if found.is_dir() {
            self.part(b"directory");
            return self.directory(path);
        }
        if found.is_symlink() {
            self.part(b"link");
            let to = fs::read_link(path).map_err(failed)?;
            self.part(to.as_os_str().as_bytes());
            return Ok(());
        }
        if !found.is_file() {
            return Err(HomeError::new("a policy view has files, directories and links only, and not", path));
        }
        self.bytes += found.len();
        if self.bytes > MOST_BYTES {
            return Err(HomeError::new(
                format!("more than {MOST_BYTES} bytes are in the policy view, up to"),
                path,
            ));
        }
        let mut content = Vec::new();
        File::open(path).and_then(|file| file.take(MOST_BYTES).read_to_end(&mut content)).map_err(failed)?;
        self.part(if found.mode() & 0o111 == 0 { b"file" } else { b"program" });
        self.part(&content);
        Ok(())
    }
}
