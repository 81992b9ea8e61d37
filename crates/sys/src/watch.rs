//! Waits for any of many descriptors by epoll(7). Descriptors may be added and removed during the
//! wait.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::event::epoll;
use rustix::io::Errno;

use crate::{event, world};

/// A set of descriptors, each with a number. A descriptor that was reported as ready is not
/// reported again until it is added or rearmed.
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
        let timeout = event::timespec(timeout);
        let mut events = Vec::with_capacity(16);
        match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), Some(&timeout))
        {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(events.iter().map(|event: &epoll::Event| event.data.u64()).collect())
    }
}

fn events() -> epoll::EventFlags {
    epoll::EventFlags::IN | epoll::EventFlags::RDHUP | epoll::EventFlags::ONESHOT
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
}
