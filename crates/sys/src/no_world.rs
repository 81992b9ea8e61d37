//! Stands in for [`world`](self) in programs that are shipped: no thread of theirs is in a
//! simulated world, so each question for one is answered at compile time.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::time::ClockId;

use crate::answers::Answers;
use crate::storage::Operation;

/// Ends of a simulated connection, of which there are none.
pub(crate) type Ends = Infallible;

/// A simulated thread, of which there are none.
#[derive(Debug)]
pub(crate) struct Task<T>(Infallible, std::marker::PhantomData<T>);

impl<T> Task<T> {
    pub(crate) fn is_finished(&self) -> bool {
        match self.0 {}
    }

    pub(crate) fn join(self) -> Option<T> {
        match self.0 {}
    }
}

/// A simulated listener, of which there are none.
#[derive(Debug)]
pub(crate) struct Listener(Infallible);

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self.0 {}
    }
}

impl Listener {
    pub(crate) fn accept(&self) -> io::Result<(std::net::TcpStream, Ends)> {
        match self.0 {}
    }

    pub(crate) fn address(&self) -> SocketAddr {
        match self.0 {}
    }
}

pub(crate) const fn inside() -> bool {
    false
}

pub(crate) const fn is_over() -> bool {
    false
}

pub(crate) const fn now_ns(_: ClockId) -> Option<u64> {
    None
}

pub(crate) const fn fill(_: &mut [u8]) -> bool {
    false
}

pub(crate) const fn use_disk(_: Operation) -> Result<(), Errno> {
    Ok(())
}

pub(crate) const fn look_at_disk(_: Option<BorrowedFd<'_>>) -> Option<Infallible> {
    None
}

pub(crate) const fn is_stable(_: Option<Infallible>) {}

pub(crate) fn wake(_: usize) {}

pub(crate) fn sleep(_: Duration) {}

pub(crate) fn wait(_: usize, _: Option<Duration>) -> bool {
    false
}

pub(crate) fn give_way() {}

pub(crate) fn poll(
    _: &mut [PollFd<'_>],
    _: impl Fn(usize) -> PollFlags,
    _: Option<Duration>,
) -> io::Result<usize> {
    Ok(0)
}

pub(crate) fn spawn<T: Send + 'static>(
    _: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<Task<T>, impl FnOnce() -> T + Send + 'static> {
    Err(work)
}

pub(crate) const fn listen(_: u16) -> Option<io::Result<Listener>> {
    None
}

pub(crate) const fn connect(
    _: SocketAddr,
    _: Duration,
) -> Option<io::Result<(std::net::TcpStream, Ends)>> {
    None
}

/// Returns whether a simulated connection broke.
pub(crate) fn is_broken(ends: &Ends) -> bool {
    match *ends {}
}

/// Returns what the kernel tells of a simulated connection.
pub(crate) fn info(ends: &Ends) -> Answers {
    match *ends {}
}

/// Returns the two addresses of a simulated connection: ours, and the other end's.
pub(crate) fn addresses(ends: &Ends) -> (SocketAddr, SocketAddr) {
    match *ends {}
}
