//! Functions for the first process of a PID namespace: it is forked, reaps orphans, and detaches
//! from the terminal.

use std::fs;
use std::io;

use rustix::process::WaitOptions;

/// The result of [`fork`], which tells the two processes apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forked {
    /// Returned in the process that called [`fork`].
    Parent,
    /// Returned in the new process.
    Child,
}

/// Forks this process. Fails if the process has several threads, since the child could then only
/// call async-signal-safe functions.
pub fn fork() -> io::Result<Forked> {
    if fs::read_dir("/proc/self/task")?.count() != 1 {
        return Err(io::Error::other("cannot fork: this process has several threads"));
    }
    // SAFETY: this is the only thread, so no lock is held by another one in the child's copy.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(Forked::Child),
        _ => Ok(Forked::Parent),
    }
}

/// Reaps child processes as they end, and never returns. The first process of a PID namespace must
/// do this.
pub fn reap_for_ever() -> ! {
    let mut ended = std::mem::MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: the set is on the stack, and sigemptyset initialises it before its other uses.
    // SIGCHLD is blocked, so that a signal between reaping and waiting stays pending.
    let ended = unsafe {
        libc::sigemptyset(ended.as_mut_ptr());
        libc::sigaddset(ended.as_mut_ptr(), libc::SIGCHLD);
        libc::sigprocmask(libc::SIG_BLOCK, ended.as_ptr(), std::ptr::null_mut());
        ended.assume_init()
    };
    loop {
        while let Ok(Some(_)) = rustix::process::wait(WaitOptions::NOHANG) {}
        // SAFETY: the set is initialised; the pointer for the signal's information may be null.
        unsafe { libc::sigwaitinfo(&raw const ended, std::ptr::null_mut()) };
    }
}

/// Points standard input, output and error at `/dev/null`.
pub fn silence() -> io::Result<()> {
    let null = fs::OpenOptions::new().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    rustix::stdio::dup2_stderr(&null)?;
    Ok(())
}
