//! A directory in hand.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use leasehold::StoreError;
use rustix::fs::{Dir, Stat};

use super::error::failed;
use super::spot::Spot;

/// One directory, whatever its path names by now.
#[derive(Debug)]
pub(super) struct Entered<'a> {
    fd: OwnedFd,
    /// The path it was entered by.
    path: &'a Path,
}

impl<'a> Entered<'a> {
    pub(super) fn new(fd: OwnedFd, path: &'a Path) -> Self {
        Self { fd, path }
    }

    /// The spot of the file `name` in it.
    pub(super) fn spot(&self, name: &[u8]) -> Spot {
        Spot::new(self.path, name)
    }

    /// The names in it, from the first one on.
    pub(super) fn names(&self) -> Result<Dir, StoreError> {
        Dir::read_from(&self.fd).map_err(|e| failed("list", self.path, e))
    }

    pub(super) fn stat(&self) -> Result<Stat, StoreError> {
        rustix::fs::fstat(&self.fd).map_err(|e| failed("look at", self.path, e))
    }

    /// The kernel's number for the kind of file system it is on.
    pub(super) fn file_system(&self) -> Result<u64, StoreError> {
        let found = rustix::fs::fstatfs(&self.fd).map_err(|e| failed("look at", self.path, e))?;
        Ok(found.f_type as u64)
    }

    pub(super) fn path(&self) -> &'a Path {
        self.path
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
