//! Files and directories.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{FileExt as _, PermissionsExt as _};

use super::canary::Canary;
use super::ground::{Place, Work};

pub(super) const CANARIES: &[Canary] = &[
    Canary::new("open", &["openat", "open"], || {
        let place = Place::new()?;
        let file = place.file();
        Work::new(place, move || File::open(file).map(drop))
    }),
    Canary::new("create", &["openat", "creat"], || {
        let place = Place::new()?;
        let other = place.other();
        Work::new(place, move || File::create(other).map(drop))
    }),
    Canary::new("read", &["read"], || {
        let place = Place::new()?;
        let mut file = File::open(place.file())?;
        Work::new(place, move || file.read_exact(&mut [0; 4]))
    }),
    Canary::new("write", &["write"], || {
        let place = Place::new()?;
        let mut file = File::create(place.other())?;
        Work::new(place, move || file.write_all(b"text"))
    }),
    Canary::new("pread", &["pread64"], || {
        let place = Place::new()?;
        let file = File::open(place.file())?;
        Work::new(place, move || file.read_exact_at(&mut [0; 4], 2))
    }),
    Canary::new("pwrite", &["pwrite64"], || {
        let place = Place::new()?;
        let file = File::create(place.other())?;
        Work::new(place, move || file.write_all_at(b"text", 2))
    }),
    Canary::new("vectored read", &["readv"], || {
        let place = Place::new()?;
        let mut file = File::open(place.file())?;
        Work::new(place, move || {
            let (mut one, mut two) = ([0; 2], [0; 2]);
            let mut parts = [std::io::IoSliceMut::new(&mut one), std::io::IoSliceMut::new(&mut two)];
            file.read_vectored(&mut parts).map(drop)
        })
    }),
    Canary::new("stat", &["statx", "newfstatat", "stat"], || {
        let place = Place::new()?;
        let file = place.file();
        Work::new(place, move || fs::metadata(file).map(drop))
    }),
    Canary::new("stat of an open file", &["statx", "newfstatat", "fstat"], || {
        let place = Place::new()?;
        let file = File::open(place.file())?;
        Work::new(place, move || file.metadata().map(drop))
    }),
    Canary::new("readdir", &["getdents64"], || {
        let place = Place::new()?;
        let directory = place.path().to_owned();
        Work::new(place, move || fs::read_dir(directory)?.try_for_each(|entry| entry.map(drop)))
    }),
    Canary::new("realpath", &["readlink", "readlinkat"], || {
        let place = Place::new()?;
        let file = place.file();
        Work::new(place, move || fs::canonicalize(file).map(drop))
    }),
    Canary::new("rename", &["rename", "renameat", "renameat2"], || {
        let place = Place::new()?;
        let (file, other) = (place.file(), place.other());
        Work::new(place, move || fs::rename(file, other))
    }),
    Canary::new("unlink", &["unlink", "unlinkat"], || {
        let place = Place::new()?;
        let file = place.file();
        Work::new(place, move || fs::remove_file(file))
    }),
    Canary::new("link", &["link", "linkat"], || {
        let place = Place::new()?;
        let (file, other) = (place.file(), place.other());
        Work::new(place, move || fs::hard_link(file, other))
    }),
    Canary::new("symlink", &["symlink", "symlinkat"], || {
        let place = Place::new()?;
        let (file, other) = (place.file(), place.other());
        Work::new(place, move || std::os::unix::fs::symlink(file, other))
    }),
    Canary::new("mkdir", &["mkdir", "mkdirat"], || {
        let place = Place::new()?;
        let other = place.other();
        Work::new(place, move || fs::create_dir(other))
    }),
    Canary::new("rmdir", &["rmdir", "unlinkat"], || {
        let place = Place::new()?;
        let other = place.other();
        fs::create_dir(&other)?;
        Work::new(place, move || fs::remove_dir(other))
    }),
    Canary::new("chmod", &["chmod", "fchmodat", "fchmodat2"], || {
        let place = Place::new()?;
        let file = place.file();
        Work::new(place, move || fs::set_permissions(file, fs::Permissions::from_mode(0o600)))
    }),
    Canary::new("truncate", &["ftruncate", "truncate"], || {
        let place = Place::new()?;
        let file = File::create(place.other())?;
        Work::new(place, move || file.set_len(4096))
    }),
    Canary::new("fsync", &["fsync"], || {
        let place = Place::new()?;
        let file = File::create(place.other())?;
        Work::new(place, move || file.sync_all())
    }),
    Canary::new("fdatasync", &["fdatasync"], || {
        let place = Place::new()?;
        let file = File::create(place.other())?;
        Work::new(place, move || file.sync_data())
    }),
    Canary::new("copy a file", &["copy_file_range", "sendfile", "read"], || {
        let place = Place::new()?;
        let (file, other) = (place.file(), place.other());
        Work::new(place, move || fs::copy(file, other).map(drop))
    }),
    Canary::new("a raw system call that bypasses libc", &["newfstatat", "statx", "stat"], || {
        let place = Place::new()?;
        let file = place.file();
        Work::new(place, move || Ok(rustix::fs::stat(&file).map(drop)?))
    }),
];
