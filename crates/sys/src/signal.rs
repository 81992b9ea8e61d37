//! Signals as a readable descriptor (signalfd(2)), so that a command that is interrupted can end
//! cleanly.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::{EventfdFlags, eventfd};

use crate::{inherited, limits};

/// The signals by which a command is interrupted.
const TAKEN: [i32; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

/// A descriptor that becomes readable when SIGINT, SIGTERM or SIGHUP arrives. These signals are
/// blocked in this process. Those that were ignored when it was started stay ignored: nohup(1) is
/// to outlast the terminal, and a shell that runs a command in the background keeps Ctrl-C from it.
#[derive(Debug)]
pub struct Interrupts {
    fd: OwnedFd,
    come: AtomicBool,
}

impl Interrupts {
    /// Blocks the signals in this thread and in the threads that it starts later. Call this before
    /// any other thread is started.
    ///
    /// # Errors
    /// When the system has no descriptor left.
    pub fn catch() -> io::Result<Self> {
        Self::catch_these(&TAKEN)
    }

    /// Blocks the signals as [`catch`](Self::catch), but is not raised by SIGINT: the terminal
    /// sends it to a command that runs in the foreground beside this process, too.
    ///
    /// # Errors
    /// When the system has no descriptor left.
    pub fn catch_requests() -> io::Result<Self> {
        Self::catch_these(&[libc::SIGTERM, libc::SIGHUP])
    }

    /// Blocks all interrupts, and is raised by `signals`.
    fn catch_these(signals: &[i32]) -> io::Result<Self> {
        let mut blocked = empty_set();
        let mut caught = empty_set();
        // SAFETY: `empty_set` has initialised both sets, the signal numbers are valid, and the
        // pointer for the old mask may be null.
        let fd = unsafe {
            for signal in TAKEN.into_iter().filter(|signal| !inherited::ignores(*signal)) {
                libc::sigaddset(&raw mut blocked, signal);
                if signals.contains(&signal) {
                    libc::sigaddset(&raw mut caught, signal);
                }
            }
            libc::pthread_sigmask(libc::SIG_BLOCK, &raw const blocked, std::ptr::null_mut());
            libc::signalfd(-1, &raw const caught, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK)
        };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: signalfd has just returned this descriptor, and nothing else owns it.
        Ok(Self { fd: unsafe { OwnedFd::from_raw_fd(fd) }, come: AtomicBool::new(false) })
    }

    /// Creates interrupts that no signal raises, only [`raise`](Self::raise): one thread ends the
    /// work of another one by them.
    ///
    /// # Errors
    /// When the system has no descriptor left.
    pub fn by_hand() -> io::Result<Self> {
        let fd = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self { fd, come: AtomicBool::new(false) })
    }

    /// Interrupts the command as a signal does.
    pub fn raise(&self) {
        self.come.store(true, Ordering::Release);
        // Wakes whoever waits. A descriptor of signals refuses it: they wake by themselves.
        let _ = rustix::io::write(&self.fd, &1u64.to_ne_bytes());
    }

    /// Returns whether a signal was received since the last call.
    #[must_use]
    pub fn pending(&self) -> bool {
        let mut info = [0u8; size_of::<libc::signalfd_siginfo>()];
        let pending = rustix::io::read(&self.fd, &mut info).is_ok_and(|read| read > 0);
        self.come.fetch_or(pending, Ordering::AcqRel);
        pending
    }

    /// Returns whether a signal was ever received. Unlike [`pending`](Self::pending), it gives all
    /// callers the same answer.
    #[must_use]
    pub fn have_come(&self) -> bool {
        self.pending() || self.come.load(Ordering::Acquire)
    }
}

impl AsFd for Interrupts {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Unblocks all signals in the process that `command` starts, and restores its original limit of
/// open files. The process would otherwise inherit blocked signals and ignore Ctrl-C and SIGTERM.
/// What this process was started to ignore is ignored there, too.
pub fn release_in(command: &mut Command) {
    limits::restore_open_files_in(command);
    inherited::restore_in(command);
    // SAFETY: between fork and exec only the signal mask is set, which is allowed there.
    unsafe {
        command.pre_exec(|| {
            let set = empty_set();
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const set, std::ptr::null_mut());
            Ok(())
        });
    }
}

fn empty_set() -> libc::sigset_t {
    let mut set = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: sigemptyset initialises the whole set that it is given.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        set.assume_init()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::wait_readable;

    #[test]
    fn interrupts_by_hand_come_when_they_are_raised_and_wake_who_waits() {
        let interrupts = Interrupts::by_hand().unwrap();
        assert!(!interrupts.have_come());
        interrupts.raise();
        assert_eq!(wait_readable(&[interrupts.as_fd()], None).unwrap(), [true]);
        assert!(interrupts.have_come() && interrupts.have_come(), "for all who ask");
    }
}
