//! Lets a thread run before all ordinary ones as soon as it has something to do: the policy
//! `SCHED_RR` (sched(7)).

use std::io;

/// The lowest priority of the policy: above all ordinary threads, below all others of this policy.
const LOWEST: libc::c_int = 1;

/// Makes the calling thread urgent, and the threads that it starts from now on.
///
/// # Errors
/// When this process may not: that needs `CAP_SYS_NICE`, or a limit `RLIMIT_RTPRIO` of 1 or more.
pub fn become_urgent() -> io::Result<()> {
    // SAFETY: `sched_param` consists of numbers, for which zeroes are valid; musl has more of them
    // than glibc.
    let mut parameters: libc::sched_param = unsafe { std::mem::zeroed() };
    parameters.sched_priority = LOWEST;
    let policy = libc::c_long::from(libc::SCHED_RR);
    // The system call itself: musl's function refuses.
    // SAFETY: the kernel reads a `sched_param`, which begins with the priority.
    let result =
        unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, policy, &raw const parameters) };
    if result != 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
