//! Waits for several descriptors at once, and wakes a waiting thread: poll(2) and eventfd(2).

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};

use crate::world;

/// A flag that one thread raises to wake another one that waits for it with [`wait`] or
/// [`wait_readable`].
#[derive(Debug)]
pub struct Wake {
    fd: OwnedFd,
}

impl Wake {
    /// Creates a flag that is not raised.
    ///
    /// # Errors
    /// When the system has no descriptor left.
    pub fn new() -> io::Result<Self> {
        let fd = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self { fd })
    }

    /// Raises the flag: its descriptor becomes readable, and stays so until the flag is lowered.
    pub fn raise(&self) {
        // The write fails only if the counter is at its maximum; then the flag is raised already.
        let _ = rustix::io::write(&self.fd, &1u64.to_ne_bytes());
    }

    /// Lowers the flag; does nothing if it is not raised.
    pub fn lower(&self) {
        let _ = rustix::io::read(&self.fd, &mut [0u8; 8]);
    }
}

impl AsFd for Wake {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Makes `fd` non-blocking: reads and writes fail instead of waiting.
///
/// # Errors
/// When the system refuses.
pub fn never_block(fd: BorrowedFd<'_>) -> io::Result<()> {
    Ok(rustix::io::ioctl_fionbio(fd, true)?)
}

/// A descriptor to wait for, and the condition to wait for.
#[derive(Clone, Copy, Debug)]
pub struct Interest<'a> {
    /// The descriptor to wait for.
    pub fd: BorrowedFd<'a>,
    /// Whether to wait for writability as well as readability.
    pub write: bool,
}

impl Interest<'_> {
    fn events(&self) -> PollFlags {
        if self.write { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN }
    }
}

/// Whether a descriptor is ready for reading and for writing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ready {
    /// A read would not block: there are bytes, the end of the stream, or an error.
    pub read: bool,
    /// A write would not block.
    pub write: bool,
}

/// Waits until one of `interests` is ready, or until `timeout` has passed; `None` means without
/// limit. Returns the readiness of each, in the same order. A signal ends the wait early.
///
/// # Errors
/// When the system cannot wait on these descriptors.
pub fn wait(interests: &[Interest<'_>], timeout: Option<Duration>) -> io::Result<Vec<Ready>> {
    let mut fds: Vec<PollFd<'_>> = interests
        .iter()
        .map(|interest| PollFd::from_borrowed_fd(interest.fd, interest.events()))
        .collect();
    if !poll_all(&mut fds, |at| interests[at].events(), timeout)? {
        return Ok(vec![Ready::default(); interests.len()]);
    }
    let over = PollFlags::IN | PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
    let ready = |fd: &PollFd<'_>| Ready {
        read: fd.revents().intersects(over),
        write: fd.revents().intersects(PollFlags::OUT | PollFlags::ERR),
    };
    Ok(fds.iter().map(ready).collect())
}

/// Returns whether the other end of a connection sends nothing more: it is closed, or shut down for
/// writing. What it has sent before may still be unread.
#[must_use]
pub fn has_hung_up(fd: BorrowedFd<'_>) -> bool {
    let over = PollFlags::RDHUP | PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
    let mut fds = [PollFd::from_borrowed_fd(fd, PollFlags::RDHUP)];
    let polled = poll(&mut fds, Some(&timespec(Duration::ZERO)));
    polled.is_ok() && fds[0].revents().intersects(over)
}

/// Waits until `fd` is readable, or until a signal ends the wait. For a single descriptor this
/// allocates nothing.
///
/// # Errors
/// When the system cannot wait on the descriptor.
pub fn wait_for(fd: BorrowedFd<'_>) -> io::Result<()> {
    let mut fds = [PollFd::from_borrowed_fd(fd, PollFlags::IN)];
    poll_all(&mut fds, |_| PollFlags::IN, None).map(drop)
}

/// Polls `fds`, each for its `events`. Returns whether no signal has ended the wait.
fn poll_all(
    fds: &mut [PollFd<'_>],
    events: impl Fn(usize) -> PollFlags,
    timeout: Option<Duration>,
) -> io::Result<bool> {
    let polled = match world::inside() {
        true => world::poll(fds, events, timeout),
        false => poll(fds, timeout.map(timespec).as_ref()).map_err(io::Error::from),
    };
    match polled {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(false),
        Err(error) => Err(error),
    }
}

/// Returns a duration as the kernel takes it, at most as long as it can be.
pub(crate) fn timespec(time: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(time.subsec_nanos()),
    }
}

/// Waits until one of `fds` is readable, or until `timeout` has passed; `None` means without limit.
/// Returns, in the same order, whether each is readable.
///
/// # Errors
/// When the system cannot wait on these descriptors.
pub fn wait_readable(fds: &[BorrowedFd<'_>], timeout: Option<Duration>) -> io::Result<Vec<bool>> {
    let interests: Vec<_> = fds.iter().map(|&fd| Interest { fd, write: false }).collect();
    Ok(wait(&interests, timeout)?.iter().map(|ready| ready.read).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_raised_flag_is_noticed_until_it_is_lowered() {
        let wake = Wake::new().unwrap();
        let now = Some(Duration::ZERO);
        assert_eq!(wait_readable(&[wake.as_fd()], now).unwrap(), [false]);
        wake.raise();
        wake.raise();
        assert_eq!(wait_readable(&[wake.as_fd()], now).unwrap(), [true]);
        wake.lower();
        assert_eq!(wait_readable(&[wake.as_fd()], now).unwrap(), [false]);
    }
}
