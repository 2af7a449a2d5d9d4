//! The few instructions that the kernel lets through while a thread is gated.

use std::arch::naked_asm;
use std::sync::atomic::{AtomicU64, Ordering};

/// How many different places in the program may make calls that have to run where they were made. Each is an address
/// in libc (one for `clone3`, one for `vfork`, …), so a program has about ten.
const SITES: usize = 64;
/// The same for calls by `int 0x80`, which hardly any program makes.
const OLD_SITES: usize = 16;

/// Where each stub goes on: the instruction after the system call that it makes in place of the program.
static RETURNS: [AtomicU64; SITES] = [const { AtomicU64::new(0) }; SITES];
static OLD_RETURNS: [AtomicU64; OLD_SITES] = [const { AtomicU64::new(0) }; OLD_SITES];

const RESTORER: usize = 16;
const STUBS: usize = 32;
const STUB: usize = 8;
const OLD_STUBS: usize = STUBS + SITES * STUB;
const LENGTH: usize = OLD_STUBS + OLD_SITES * STUB + STUB;

/// The region: a restorer, which ends a signal handler, and stubs.
///
/// The restorer's bytes are the ones by which unwinders recognise a signal frame. Nothing describes this function in
/// the unwind tables, so that they come to look at those bytes.
///
/// A stub makes one system call with the registers as they are and jumps to where the program would have gone on. It
/// uses no stack and no register, so it serves as well for a child that wakes up on another stack with another thread
/// area: the child, too, goes on where the program meant it to. Since the kernel lets the region through, the gate
/// stays up all the while, and the very next call of the program is seen.
// SAFETY: nothing calls this as a function. The engine enters it at one of its offsets by setting the instruction
// pointer of an interrupted thread, with the registers of the system call that was to be made.
#[unsafe(naked)]
unsafe extern "C" fn region() {
    naked_asm!(
        "ud2",
        ".skip 14, 0x90",
        ".byte 0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00", // mov rax, 15, which is rt_sigreturn
        "syscall",
        "ud2",
        ".skip 5, 0x90",
        ".irp k, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,\
         32,33,34,35,36,37,38,39,40,41,42,43,44,45,46,47,48,49,50,51,52,53,54,55,56,57,58,59,60,61,62,63",
        "syscall",
        "jmp qword ptr [rip + {returns} + 8*\\k]",
        ".endr",
        ".irp k, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15",
        "int 0x80",
        "jmp qword ptr [rip + {old_returns} + 8*\\k]",
        ".endr",
        "ud2",
        ".skip 6, 0x90",
        returns = sym RETURNS,
        old_returns = sym OLD_RETURNS,
    )
}

/// Start and length of the region.
pub(super) fn bounds() -> (usize, usize) {
    (region as *const () as usize, LENGTH)
}

/// Where a signal handler of ours returns to.
pub(super) fn restorer() -> usize {
    region as *const () as usize + RESTORER
}

/// The stub that makes a call and goes on at `site`; `None` when all are taken by other places.
pub(super) fn stub(site: u64, is_32_bit: bool) -> Option<u64> {
    let start = region as *const () as usize as u64;
    if is_32_bit {
        let at = claim(&OLD_RETURNS, site)?;
        Some(start + (OLD_STUBS + at * STUB) as u64)
    } else {
        let at = claim(&RETURNS, site)?;
        Some(start + (STUBS + at * STUB) as u64)
    }
}

/// The place of that site in the list, which it gets on its first call and keeps for ever: a child may still be on its
/// way through the stub.
fn claim(returns: &[AtomicU64], site: u64) -> Option<usize> {
    returns.iter().position(|slot| {
        match slot.compare_exchange(0, site, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => true,
            Err(taken) => taken == site,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(from: usize, length: usize) -> Vec<u8> {
        let start = region as *const () as usize;
        // SAFETY: the region is this crate's own code, `LENGTH` bytes long, and code is readable here.
        unsafe { std::slice::from_raw_parts((start + from) as *const u8, length) }.to_vec()
    }

    #[test]
    fn the_region_is_laid_out_as_the_offsets_say() {
        assert_eq!(bytes(RESTORER, 9), [0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05]);
        for at in [0, 1, SITES - 1] {
            assert_eq!(bytes(STUBS + at * STUB, 4), [0x0f, 0x05, 0xff, 0x25], "stub {at}");
        }
        for at in [0, OLD_SITES - 1] {
            assert_eq!(bytes(OLD_STUBS + at * STUB, 4), [0xcd, 0x80, 0xff, 0x25], "old stub {at}");
        }
        assert_eq!(bytes(LENGTH - STUB, 2), [0x0f, 0x0b], "the end");
    }

    #[test]
    fn a_site_keeps_its_stub_and_a_full_list_says_so() {
        let list = [const { AtomicU64::new(0) }; 2];
        assert_eq!(claim(&list, 7), Some(0));
        assert_eq!(claim(&list, 8), Some(1));
        assert_eq!(claim(&list, 7), Some(0));
        assert_eq!(claim(&list, 9), None);
    }
}
