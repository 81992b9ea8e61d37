//! Signals as a readable descriptor: Ctrl-C and its kin must end a copy cleanly, not tear it.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::limits;

/// SIGINT, SIGTERM and SIGHUP, held back from this process and readable here.
#[derive(Debug)]
pub struct Interrupts {
    fd: OwnedFd,
    /// One has come, and was read.
    come: AtomicBool,
}

impl Interrupts {
    /// Holds the signals back in this thread and the threads that it starts; call it first.
    ///
    /// # Errors
    /// When the system has no descriptor left.
    pub fn catch() -> io::Result<Self> {
        let mut set = empty_set();
        // SAFETY: `set` is a signal set that `empty_set` initialised, the signals are valid
        // numbers, and the old mask isn't asked for.
        let fd = unsafe {
            for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
                libc::sigaddset(&raw mut set, signal);
            }
            libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
            libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK)
        };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: signalfd has just returned this descriptor, and nobody else owns it.
        Ok(Self { fd: unsafe { OwnedFd::from_raw_fd(fd) }, come: AtomicBool::new(false) })
    }

    /// Whether one has come since the last call.
    #[must_use]
    pub fn pending(&self) -> bool {
        let mut info = [0u8; size_of::<libc::signalfd_siginfo>()];
        let pending = rustix::io::read(&self.fd, &mut info).is_ok_and(|read| read > 0);
        self.come.fetch_or(pending, Ordering::AcqRel);
        pending
    }

    /// Whether one has ever come: the same to each of several that ask.
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

/// Lets all signals through in the process that `command` starts, which would otherwise inherit
/// what this one holds back, and could neither be interrupted nor ended politely. It gets the limit of
/// open files that this one was started with, too.
pub fn release_in(command: &mut Command) {
    limits::restore_open_files_in(command);
    // SAFETY: between fork and exec only the signal mask is set, by a call that may be made there.
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
