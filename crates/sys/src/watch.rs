//! Waits for any of many descriptors by epoll(7). Descriptors may be added and removed during the
//! wait.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::epoll;
use rustix::io::Errno;

use crate::event::{self, Ready};
use crate::world;

/// The most descriptors that [`Watch::ready`] returns at a time.
const MOST_READY: usize = 256;

/// A set of descriptors, each with a number. A descriptor that was [added](Self::add) is not
/// reported again until it is rearmed; one that is [kept](Self::keep) is as long as it is ready.
/// The set itself is readable when one of its descriptors is ready.
#[derive(Debug)]
pub struct Watch {
    epoll: OwnedFd,
}

impl Watch {
    /// Creates an empty set.
    ///
    /// # Errors
    /// When the system has no descriptor left.
    pub fn new() -> io::Result<Self> {
        Ok(Self { epoll: epoll::create(epoll::CreateFlags::CLOEXEC)? })
    }

    /// Adds `fd` with the number `number`, even while another thread waits. Remove the descriptor
    /// before closing it; otherwise it stays in the set as long as a duplicate of it is open.
    ///
    /// # Errors
    /// When the descriptor is in the set already, or the system has no memory left.
    pub fn add(&self, fd: impl AsFd, number: u64) -> io::Result<()> {
        Ok(epoll::add(&self.epoll, fd, epoll::EventData::new_u64(number), events())?)
    }

    /// Reports `fd`, which is in the set, as ready once more, even while another thread waits.
    ///
    /// # Errors
    /// When the descriptor is not in the set.
    pub fn rearm(&self, fd: impl AsFd, number: u64) -> io::Result<()> {
        Ok(epoll::modify(&self.epoll, fd, epoll::EventData::new_u64(number), events())?)
    }

    /// Adds `fd`, which every call of [`Self::ready`] returns while it is readable or, if `write`,
    /// writable.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub fn keep(&self, fd: impl AsFd, number: u64, write: bool) -> io::Result<()> {
        Ok(epoll::add(&self.epoll, fd, epoll::EventData::new_u64(number), kept(write))?)
    }

    /// Changes whether `fd`, which is kept in the set, is returned when it is writable.
    ///
    /// # Errors
    /// When the descriptor is not in the set.
    pub fn keep_on(&self, fd: impl AsFd, number: u64, write: bool) -> io::Result<()> {
        Ok(epoll::modify(&self.epoll, fd, epoll::EventData::new_u64(number), kept(write))?)
    }

    /// Returns the numbers of descriptors that are ready, at most 256 at a time, without waiting.
    /// Which of them are returned first changes from call to call.
    ///
    /// # Errors
    /// When the system call fails.
    pub fn ready(&self) -> io::Result<Vec<(u64, Ready)>> {
        let mut events = Vec::with_capacity(MOST_READY);
        self.take(&mut events, Duration::ZERO)?;
        let over = epoll::EventFlags::IN | epoll::EventFlags::RDHUP | epoll::EventFlags::HUP;
        let ready = |event: &epoll::Event| {
            let number = event.data.u64();
            let flags = event.flags;
            let read = flags.intersects(over | epoll::EventFlags::ERR);
            let write = flags.intersects(epoll::EventFlags::OUT | epoll::EventFlags::ERR);
            (number, Ready { read, write })
        };
        Ok(events.iter().map(ready).collect())
    }

    /// Removes `fd`. A descriptor that is not in the set is no error.
    pub fn remove(&self, fd: impl AsFd) {
        let _ = epoll::delete(&self.epoll, fd);
    }

    /// Waits until a descriptor of the set is readable (bytes, the end of a stream, or an error),
    /// or until `timeout` has passed. Returns the numbers of the readable descriptors, at most 16
    /// at a time. A signal ends the wait early.
    ///
    /// # Errors
    /// When the system cannot wait.
    pub fn wait(&self, timeout: Duration) -> io::Result<Vec<u64>> {
        let timeout = match world::inside() {
            true => {
                event::wait_readable(&[self.epoll.as_fd()], Some(timeout))?;
                Duration::ZERO
            }
            false => timeout,
        };
        let mut events = Vec::with_capacity(16);
        self.take(&mut events, timeout)?;
        Ok(events.iter().map(|event| event.data.u64()).collect())
    }

    /// Waits, and fills `events` as far as its capacity goes.
    fn take(&self, events: &mut Vec<epoll::Event>, timeout: Duration) -> io::Result<()> {
        let timeout = event::timespec(timeout);
        let room = rustix::buffer::spare_capacity(events);
        match epoll::wait(&self.epoll, room, Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

impl AsFd for Watch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}

fn events() -> epoll::EventFlags {
    epoll::EventFlags::IN | epoll::EventFlags::RDHUP | epoll::EventFlags::ONESHOT
}

fn kept(write: bool) -> epoll::EventFlags {
    let read = epoll::EventFlags::IN | epoll::EventFlags::RDHUP;
    if write { read | epoll::EventFlags::OUT } else { read }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn one_that_was_removed_is_not_noticed_and_one_that_was_added_is_once() {
        let watch = Watch::new().unwrap();
        let pairs = [UnixStream::pair().unwrap(), UnixStream::pair().unwrap()];
        for (number, (near, far)) in (0..).zip(&pairs) {
            watch.add(near, number).unwrap();
            rustix::io::write(far, b"x").unwrap();
        }
        watch.remove(&pairs[0].0);
        assert_eq!(watch.wait(Duration::ZERO).unwrap(), [1]);
        assert!(watch.wait(Duration::ZERO).unwrap().is_empty());
        watch.rearm(&pairs[1].0, 1).unwrap();
        assert_eq!(watch.wait(Duration::ZERO).unwrap(), [1]);
    }
    #[test]
    fn one_that_is_kept_is_returned_as_long_as_it_is_ready() {
        let watch = Watch::new().unwrap();
        let (near, far) = UnixStream::pair().unwrap();
        watch.keep(&near, 7, false).unwrap();
        assert!(watch.ready().unwrap().is_empty());
        rustix::io::write(&far, b"x").unwrap();
        let readable = Ready { read: true, write: false };
        for _ in 0..2 {
            assert_eq!(watch.ready().unwrap(), [(7, readable)]);
        }
        assert_eq!(event::wait_readable(&[watch.as_fd()], Some(Duration::ZERO)).unwrap(), [true]);
        watch.keep_on(&near, 7, true).unwrap();
        assert_eq!(watch.ready().unwrap(), [(7, Ready { read: true, write: true })]);
        watch.remove(&near);
        assert!(watch.ready().unwrap().is_empty());
    }
}
