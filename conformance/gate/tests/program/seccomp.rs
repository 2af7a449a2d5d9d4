//! Filters that a container or a sandbox may have.

/// From now on, a call of this thread, with this first argument if one is given, meets that fate.
pub(crate) fn filter(number: libc::c_long, first: Option<u32>, fate: u32) {
    const RETURN: u16 = 0x06;
    const LOAD: u16 = 0x20;
    const IS_EQUAL: u16 = 0x15;
    const NUMBER: u32 = 0;
    const FIRST: u32 = 16;
    let step = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    let mut steps = vec![step(LOAD, 0, 0, NUMBER)];
    match first {
        None => steps.push(step(IS_EQUAL, 0, 1, number as u32)),
        Some(first) => {
            steps.push(step(IS_EQUAL, 0, 3, number as u32));
            steps.push(step(LOAD, 0, 0, FIRST));
            steps.push(step(IS_EQUAL, 0, 1, first));
        }
    }
    steps.push(step(RETURN, 0, 0, fate));
    steps.push(step(RETURN, 0, 0, libc::SECCOMP_RET_ALLOW));
    let program = libc::sock_fprog { len: steps.len() as u16, filter: steps.as_mut_ptr() };
    // SAFETY: the program is live for the call, which copies it.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        assert_eq!(libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program), 0);
    }
}
