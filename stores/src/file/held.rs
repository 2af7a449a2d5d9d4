//! A file of the store: opened, locked, read, and still the one that stands at its spot.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::time::UNIX_EPOCH;

use leasehold::{Deadline, StoreError, WallTime};
use rustix::fs::FileType;
use rustix::io::Errno;

use super::lock::{Locked, Mode};
use super::spot::At;

/// A regular file under lock, with all that is in it.
#[derive(Debug)]
pub(super) struct Held<'p> {
    file: Locked,
    page: &'p mut Page,
    got: usize,
}

/// Room for what is in a file, and for one byte more, by which a longer file shows. It stays where the operation put it:
/// moving it along with the file would cost as much as a system call.
#[derive(Debug)]
pub(super) struct Page([u8; Held::MOST + 1]);

impl Page {
    pub(super) fn new() -> Self {
        Self([0; Held::MOST + 1])
    }
}

/// What became of locking a file.
#[derive(Debug)]
pub(super) enum Locking {
    /// It is locked, and so many bytes of it were read.
    Locked(Locked, usize),
    /// It was taken away before we got it; another may stand there by now.
    Gone,
    /// It is not a regular file but this.
    Odd(&'static str),
}

/// Locks `file`, which was opened at `at`, and reads it into `page`.
///
/// `full` is the length of a file that is in use. One that has it, and was locked without waiting, is not looked at any
/// further: the store empties a file before it takes it away, so that whoever had it open finds it empty. What somebody
/// else takes away in the instant between opening and locking is lost as it would be an instant later. But who *waited*
/// must look again, since an operator may have removed the file to end that wait.
pub(super) fn lock(
    at: &At<'_>,
    file: File,
    mode: Mode,
    full: usize,
    page: &mut Page,
    deadline: &Deadline,
) -> Result<Locking, StoreError> {
    let (file, waited) = Locked::acquire(file, mode, at.spot().path(), deadline)?;
    let read = read(&file, page);
    if !waited && read.as_ref().is_ok_and(|got| *got == full) {
        return Ok(Locking::Locked(file, full));
    }
    let Some(looks) = at.look_again(&file)? else { return Ok(Locking::Gone) };
    if looks.kind != FileType::RegularFile {
        return Ok(Locking::Odd(looks.in_words()));
    }
    let got = read.map_err(|e| at.failed("read", e))?;
    Ok(Locking::Locked(file, got))
}

fn read(file: &File, page: &mut Page) -> io::Result<usize> {
    loop {
        match file.read_at(&mut page.0, 0) {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

impl<'p> Held<'p> {
    /// The most bytes that a file of the store has. They lie in one page.
    pub(super) const MOST: usize = 512;

    /// What [`lock`] locked, and the page it read `got` bytes into.
    pub(super) fn new(file: Locked, page: &'p mut Page, got: usize) -> Self {
        Self { file, page, got }
    }

    /// What is in the file; one byte more than [`MOST`](Self::MOST) if it is longer than that.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.page.0[..self.got]
    }

    pub(super) fn is_empty(&self) -> bool {
        self.got == 0
    }

    /// Writes `new` in one go over all that is in the file, which is not longer; a write that is cut short is undone.
    ///
    /// At most 512 bytes at the front lie in one page and are copied there by one step of the kernel that no signal
    /// can cut, so a process that is killed leaves the one or the other.
    pub(super) fn write(&mut self, new: &[u8]) -> io::Result<()> {
        debug_assert!(self.got <= new.len() && new.len() <= Self::MOST, "one page, all of it overwritten");
        let written = loop {
            match self.file.write_at(new, 0) {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                done => break done?,
            }
        };
        if written < new.len() {
            self.file.write_all_at(&self.page.0[..self.got.min(written)], 0)?;
            if self.got < written {
                self.file.set_len(self.got as u64)?;
            }
            return Err(Errno::NOSPC.into());
        }
        self.got = new.len();
        self.page.0[..new.len()].copy_from_slice(new);
        Ok(())
    }

    /// Makes the file empty: absent for everyone from now on, whatever becomes of its name.
    pub(super) fn empty(&mut self) -> io::Result<()> {
        if self.got > 0 {
            self.file.set_len(0)?;
            self.got = 0;
        }
        Ok(())
    }

    /// When it was last written, by the wall clock of whoever did.
    pub(super) fn written(&self) -> io::Result<WallTime> {
        let at = self.file.metadata()?.modified()?;
        Ok(at.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as WallTime))
    }

    /// Whether it still stands at `at`.
    pub(super) fn is_at(&self, at: &At<'_>) -> Result<bool, StoreError> {
        Ok(at.look_again(&self.file)?.is_some())
    }
}
