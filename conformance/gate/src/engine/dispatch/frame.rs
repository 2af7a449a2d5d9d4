//! What the kernel hands to a signal handler, in the kernel's layout.
//!
//! Our own declarations, since those of the C libraries differ between libraries.

use crate::calls::Arguments;

/// `siginfo_t` of a SIGSYS.
#[repr(C)]
pub(super) struct SignalInfo {
    signal: i32,
    error: i32,
    /// Who sent it.
    pub(super) code: i32,
    _padding: i32,
    /// The instruction after the call.
    address: u64,
    number: i32,
    architecture: u32,
}

/// `ucontext_t`: the thread as it was interrupted and as it will go on.
#[repr(C)]
pub(super) struct Context {
    flags: u64,
    link: u64,
    stack: [u64; 3],
    r8: u64,
    r9: u64,
    r10: u64,
    _r11_to_r15: [u64; 5],
    rdi: u64,
    rsi: u64,
    _rbp: u64,
    _rbx: u64,
    rdx: u64,
    pub(super) rax: u64,
    _rcx: u64,
    pub(super) rsp: u64,
    pub(super) rip: u64,
    _rest: [u64; 15],
    /// The signal mask the thread will have.
    pub(super) mask: u64,
}

const SYS_USER_DISPATCH: i32 = 2;
const AUDIT_ARCH_I386: u32 = 0x4000_0003;

impl SignalInfo {
    /// Whether the kernel sent this because a gated thread made a call, and not a filter, a debugger or a `kill`.
    pub(super) fn is_dispatch(&self) -> bool {
        self.signal == libc::SIGSYS && self.code == SYS_USER_DISPATCH
    }

    pub(super) fn is_32_bit(&self) -> bool {
        self.architecture == AUDIT_ARCH_I386
    }
}

impl Context {
    pub(super) fn number(&self) -> u64 {
        self.rax
    }

    pub(super) fn arguments(&self) -> Arguments {
        [self.rdi, self.rsi, self.rdx, self.r10, self.r8, self.r9]
    }
}

// The offsets are the kernel's, so they are checked here and not at three in the morning.
const _: () = {
    assert!(std::mem::offset_of!(SignalInfo, address) == 16);
    assert!(std::mem::offset_of!(SignalInfo, architecture) == 28);
    assert!(std::mem::offset_of!(Context, r8) == 40);
    assert!(std::mem::offset_of!(Context, rdi) == 40 + 8 * 8);
    assert!(std::mem::offset_of!(Context, rax) == 40 + 13 * 8);
    assert!(std::mem::offset_of!(Context, rip) == 40 + 16 * 8);
    assert!(std::mem::offset_of!(Context, mask) == 40 + 32 * 8);
};
