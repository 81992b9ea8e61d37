//! What the first process of a PID namespace needs: being forked, reaping orphans, standing apart
//! from the terminal it was started from.

use std::fs;
use std::io;

use rustix::process::WaitOptions;

/// What [`fork`] returns, in each of the two processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forked {
    /// The caller, which has a child now.
    Parent,
    /// The new process.
    Child,
}

/// Forks. Refused in a process of several threads, where the child could do hardly anything.
pub fn fork() -> io::Result<Forked> {
    if fs::read_dir("/proc/self/task")?.count() != 1 {
        return Err(io::Error::other("fork in a process of several threads"));
    }
    // SAFETY: this is the only thread, so the child gets a whole and unlocked copy.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(Forked::Child),
        _ => Ok(Forked::Parent),
    }
}

/// Reaps children for ever: the duty of the first process of a PID namespace.
pub fn reap_for_ever() -> ! {
    let mut ended = std::mem::MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: the set lives on the stack and is initialised by sigemptyset before its other uses.
    // SIGCHLD is blocked so that one that comes between reaping and waiting stays pending.
    let ended = unsafe {
        libc::sigemptyset(ended.as_mut_ptr());
        libc::sigaddset(ended.as_mut_ptr(), libc::SIGCHLD);
        libc::sigprocmask(libc::SIG_BLOCK, ended.as_ptr(), std::ptr::null_mut());
        ended.assume_init()
    };
    loop {
        while let Ok(Some(_)) = rustix::process::wait(WaitOptions::NOHANG) {}
        // SAFETY: the set is initialised; no information about the signal is asked for.
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
