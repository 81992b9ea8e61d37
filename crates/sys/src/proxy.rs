//! A proxy process for a program in another PID namespace. Such a program can only be the child of
//! a process that has called setns(2): the proxy. The caller waits for the proxy and signals it, in
//! place of the program.
//!
//! The proxy forwards signals to its child, and ends with the child's exit status. If the proxy is
//! killed, the kernel kills the child.

use std::io;
use std::mem::MaybeUninit;

/// Forks. In the child, this function returns, and the child proceeds to exec. The parent becomes
/// the child's proxy, and the function never returns there. Call it only between fork and exec,
/// when the process has a single thread.
pub(crate) fn stand_in_for_child() -> io::Result<()> {
    let all = all_signals();
    // SAFETY: a plain system call on a set that lives on the stack; the process has one thread.
    unsafe { libc::sigprocmask(libc::SIG_SETMASK, &raw const all, std::ptr::null_mut()) };
    // SAFETY: the process has a single thread, since it was just forked, so the child has a
    // consistent copy.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => become_child(),
        child => attend(child),
    }
}

/// Prepares the child: the kernel will kill it when the proxy ends, and all signals are unblocked.
fn become_child() -> io::Result<()> {
    let none = no_signals();
    // SAFETY: prctl and sigprocmask with constants and a set that lives on the stack.
    let answer = unsafe {
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL)
    };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Runs the proxy: forwards signals until the child ends, then ends in the same way.
fn attend(child: libc::pid_t) -> ! {
    // The proxy must hold no descriptors: the standard library waits for the end of its error pipe
    // to learn that exec succeeded, and the pipes of the program must end with the program.
    close_all();
    let all = all_signals();
    loop {
        let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
        // SAFETY: both pointers are valid: the objects are on the stack. A zeroed siginfo_t is
        // valid.
        let (signal, info) = unsafe {
            let signal = libc::sigwaitinfo(&raw const all, info.as_mut_ptr());
            (signal, info.assume_init())
        };
        if signal == libc::SIGCHLD {
            mirror_end_of(child);
        } else if signal > 0 && info.si_code <= 0 {
            // Forward signals that a process sent. Those of the kernel, such as Ctrl-C in a
            // terminal, go to the whole process group, so the child receives them by itself.
            // SAFETY: the child is our own and was not reaped yet, so its number is still valid.
            unsafe { libc::kill(child, signal) };
        }
    }
}

/// Closes all descriptors. Allocates nothing.
fn close_all() {
    // SAFETY: the proxy uses no descriptor after this.
    if unsafe { libc::syscall(libc::SYS_close_range, 0, libc::c_uint::MAX, 0) } == 0 {
        return;
    }
    // Linux before 5.9: one by one, up to the limit below which the kernel chooses numbers.
    // SAFETY: getrlimit fills a value on the stack, of which all zeroes are valid.
    let limit = unsafe {
        let mut limit = MaybeUninit::<libc::rlimit>::zeroed();
        libc::getrlimit(libc::RLIMIT_NOFILE, limit.as_mut_ptr());
        limit.assume_init()
    };
    for descriptor in 0..libc::c_int::try_from(limit.rlim_cur).unwrap_or(libc::c_int::MAX) {
        // SAFETY: as above; a number that is not open is no error of memory.
        unsafe { libc::close(descriptor) };
    }
}

/// Ends this process in the same way as `child` has ended. Returns if the child is still running.
fn mirror_end_of(child: libc::pid_t) {
    let mut status = 0;
    // SAFETY: waitpid writes to a live integer.
    if unsafe { libc::waitpid(child, &raw mut status, libc::WNOHANG) } != child {
        return;
    }
    if libc::WIFSIGNALED(status) {
        let signal = libc::WTERMSIG(status);
        let none = no_signals();
        // SAFETY: constants and a set on the stack. The proxy disables its own core dump: it would
        // contain the caller's memory, not the child's.
        unsafe {
            libc::prctl(libc::PR_SET_DUMPABLE, 0);
            libc::signal(signal, libc::SIG_DFL);
            libc::kill(libc::getpid(), signal);
            libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
            libc::_exit(128 + signal);
        }
    }
    // SAFETY: _exit runs no exit handlers of the caller.
    unsafe { libc::_exit(libc::WEXITSTATUS(status)) }
}

fn all_signals() -> libc::sigset_t {
    let mut set = MaybeUninit::zeroed();
    // SAFETY: sigfillset initialises the set it is given.
    unsafe {
        libc::sigfillset(set.as_mut_ptr());
        set.assume_init()
    }
}

fn no_signals() -> libc::sigset_t {
    let mut set = MaybeUninit::zeroed();
    // SAFETY: sigemptyset initialises the set it is given.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        set.assume_init()
    }
}
