//! A proxy process for its child. A program in another PID namespace can only be a child of a process that
//! entered it; with the proxy a caller can wait for one process and signal it.
//!
//! The proxy forwards the signals sent to it, ends as its child ends, and takes the child along
//! when it is killed.

use std::io;
use std::mem::MaybeUninit;

/// Forks. The child returns and goes on to exec; the parent never returns, it becomes the child's
/// proxy. To be called between fork and exec only, when the process has one thread.
pub(crate) fn stand_in_for_child() -> io::Result<()> {
    let all = all_signals();
    // SAFETY: a plain system call on a set that lives on the stack; the process has one thread.
    unsafe { libc::sigprocmask(libc::SIG_SETMASK, &raw const all, std::ptr::null_mut()) };
    // SAFETY: the process has one thread (it was itself just forked), so the child is whole.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => become_child(),
        child => attend(child),
    }
}

/// In the child: dies with its proxy, and starts with no signal blocked.
fn become_child() -> io::Result<()> {
    let none = no_signals();
    // SAFETY: prctl and sigprocmask with constants and a set that lives on the stack.
    let answer = unsafe {
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL)
    };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// In the proxy: forwards signals until the child ends, then ends the same way.
fn attend(child: libc::pid_t) -> ! {
    // The standard library waits for the end of its error pipe to learn that exec succeeded, and
    // pipes of the program must end with the program: the proxy may hold no descriptor at all.
    // SAFETY: the proxy uses no descriptor from here on.
    unsafe { libc::syscall(libc::SYS_close_range, 0, libc::c_uint::MAX, 0) };
    let all = all_signals();
    loop {
        let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
        // SAFETY: both pointers are to live objects on the stack; a zeroed siginfo_t is valid.
        let (signal, info) = unsafe {
            let signal = libc::sigwaitinfo(&raw const all, info.as_mut_ptr());
            (signal, info.assume_init())
        };
        if signal == libc::SIGCHLD {
            mirror_end_of(child);
        } else if signal > 0 && info.si_code <= 0 {
            // Sent by a process. One sent by the kernel, such as the terminal's Ctrl-C, goes to the
            // whole process group, where the child got it too.
            // SAFETY: kill of our own child, which isn't reaped yet.
            unsafe { libc::kill(child, signal) };
        }
    }
}

/// Ends this process as `child` ended; returns when the child hasn't ended yet.
fn mirror_end_of(child: libc::pid_t) {
    let mut status = 0;
    // SAFETY: waitpid writes to a live integer.
    if unsafe { libc::waitpid(child, &raw mut status, libc::WNOHANG) } != child {
        return;
    }
    if libc::WIFSIGNALED(status) {
        let signal = libc::WTERMSIG(status);
        let none = no_signals();
        // SAFETY: constants and a set on the stack. The proxy dumps no core of its own, since its
        // memory is the caller's and says nothing of the child.
        unsafe {
            libc::prctl(libc::PR_SET_DUMPABLE, 0);
            libc::signal(signal, libc::SIG_DFL);
            libc::kill(libc::getpid(), signal);
            libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
            libc::_exit(128 + signal);
        }
    }
    // SAFETY: _exit runs nothing of the caller's.
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
