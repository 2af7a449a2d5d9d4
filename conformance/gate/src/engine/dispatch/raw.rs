//! System calls without libc: nothing here touches `errno` or takes a lock.

use std::arch::asm;

use crate::calls::Arguments;

/// Makes a system call and returns what the kernel left in the register: a value, or minus an error number.
///
/// # Safety
///
/// As for the call itself: its pointers have to be what the kernel expects there.
pub(super) unsafe fn call(number: u64, args: Arguments) -> i64 {
    let result: i64;
    // SAFETY: the caller vouches for the arguments. The kernel changes nothing but rax, rcx and r11 by itself.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number as i64 => result,
            in("rdi") args[0],
            in("rsi") args[1],
            in("rdx") args[2],
            in("r10") args[3],
            in("r8") args[4],
            in("r9") args[5],
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    result
}

/// The number of a call as the registers hold it.
pub(super) const fn number(of: libc::c_long) -> u64 {
    of as u64
}

/// The bit of a signal in the kernel's masks.
pub(super) const SIGSYS_BIT: u64 = 1 << (libc::SIGSYS - 1);

/// A signal's action as the kernel knows it, which is not libc's structure.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Action {
    pub(super) handler: u64,
    pub(super) flags: u64,
    pub(super) restorer: u64,
    pub(super) mask: u64,
}

impl Action {
    pub(super) fn to_bytes(self) -> [u8; 32] {
        let mut bytes = [0; 32];
        let words = [self.handler, self.flags, self.restorer, self.mask];
        for (into, word) in bytes.chunks_exact_mut(8).zip(words) {
            into.copy_from_slice(&word.to_ne_bytes());
        }
        bytes
    }

    pub(super) fn from_bytes(bytes: &[u8; 32]) -> Self {
        let word = |at: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&bytes[at * 8..at * 8 + 8]);
            u64::from_ne_bytes(word)
        };
        Self { handler: word(0), flags: word(1), restorer: word(2), mask: word(3) }
    }
}

const MASK_BYTES: u64 = 8;

/// Reads the action of SIGSYS, and sets it where `new` says so.
pub(super) fn sigsys_action(new: Option<&Action>) -> Result<Action, i64> {
    let mut old = Action::default();
    let new = new.map_or(0, |action| std::ptr::from_ref(action) as u64);
    let args = [libc::SIGSYS as u64, new, &raw mut old as u64, MASK_BYTES, 0, 0];
    // SAFETY: both pointers are null or live structures of the kernel's layout for the time of the call.
    let result = unsafe { call(number(libc::SYS_rt_sigaction), args) };
    if result == 0 { Ok(old) } else { Err(result) }
}

/// Changes this thread's signal mask and returns the one before. `how` is `SIG_BLOCK`, `SIG_UNBLOCK` or `SIG_SETMASK`.
pub(super) fn change_mask(how: libc::c_int, bits: u64) -> u64 {
    let mut old = 0_u64;
    let args = [how as u64, &raw const bits as u64, &raw mut old as u64, MASK_BYTES, 0, 0];
    // SAFETY: both pointers are live words for the time of the call, which can't fail with these arguments.
    unsafe { call(number(libc::SYS_rt_sigprocmask), args) };
    old
}

/// This thread's signal mask.
pub(super) fn mask() -> u64 {
    change_mask(libc::SIG_BLOCK, 0)
}

pub(super) fn process_id() -> i64 {
    // SAFETY: takes no pointers.
    unsafe { call(number(libc::SYS_getpid), [0; 6]) }
}

/// Copies from this process's own memory, for addresses that may be anything: a bad one is an answer, not a crash.
/// Returns how many bytes could be had.
pub(super) fn peek(address: u64, into: &mut [u8]) -> usize {
    copy(libc::SYS_process_vm_readv, into.as_mut_ptr() as u64, address, into.len())
}

/// Copies into this process's own memory in the same way.
pub(super) fn poke(address: u64, from: &[u8]) -> usize {
    copy(libc::SYS_process_vm_writev, from.as_ptr() as u64, address, from.len())
}

fn copy(which: libc::c_long, ours: u64, theirs: u64, length: usize) -> usize {
    let (ours, theirs) = ([ours, length as u64], [theirs, length as u64]);
    let args = [process_id() as u64, ours.as_ptr() as u64, 1, theirs.as_ptr() as u64, 1, 0];
    // SAFETY: our side is a live slice of that length (writable for a read); the kernel itself checks the other side.
    let copied = unsafe { call(number(which), args) };
    usize::try_from(copied).unwrap_or(0)
}

/// Nanoseconds on the monotonic clock; read without a system call wherever the system offers that.
pub(super) fn now() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is a live timespec.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    (time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64)
}
