//! Connections and listeners of TCP. Outside of a simulated world they are those of the standard
//! library.

use std::io::{self, IoSlice, Read, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::ops::Deref;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::net::SendFlags;

use crate::answers::Answers;
use crate::{event, world};

/// A TCP connection.
#[derive(Debug)]
pub struct TcpStream {
    real: std::net::TcpStream,
    simulated: Option<world::Ends>,
}

impl From<std::net::TcpStream> for TcpStream {
    fn from(real: std::net::TcpStream) -> Self {
        Self { real, simulated: None }
    }
}

impl Deref for TcpStream {
    type Target = std::net::TcpStream;

    fn deref(&self) -> &Self::Target {
        &self.real
    }
}

impl AsFd for TcpStream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.real.as_fd()
    }
}

impl AsRawFd for TcpStream {
    fn as_raw_fd(&self) -> RawFd {
        self.real.as_raw_fd()
    }
}

impl TcpStream {
    pub(crate) fn simulated(real: std::net::TcpStream, ends: world::Ends) -> Self {
        Self { real, simulated: Some(ends) }
    }

    /// Returns whether this is a connection of a simulated world, which has no options of TCP.
    pub(crate) fn is_simulated(&self) -> bool {
        self.simulated.is_some()
    }

    /// Returns whether the other end of a simulated connection answers; `None` if this is none.
    pub(crate) fn simulated_answers(&self) -> Option<Answers> {
        self.simulated.as_ref().map(world::info)
    }

    /// Returns the number of bytes that were read; at the end of a simulated connection that broke,
    /// the error that the kernel returns.
    pub(crate) fn ended(&self, read: usize) -> io::Result<usize> {
        match &self.simulated {
            Some(ends) if read == 0 && world::is_broken(ends) => {
                Err(io::ErrorKind::ConnectionReset.into())
            }
            _ => Ok(read),
        }
    }

    /// Returns a second handle of the same connection.
    ///
    /// # Errors
    /// When the system has no descriptor left.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Self { real: self.real.try_clone()?, simulated: self.simulated })
    }

    /// Returns this end's address.
    ///
    /// # Errors
    /// When the connection is broken.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        match &self.simulated {
            Some(ends) => Ok(world::addresses(ends).0),
            None => self.real.local_addr(),
        }
    }

    /// Returns the other end's address.
    ///
    /// # Errors
    /// When the connection is broken.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        match &self.simulated {
            Some(ends) => Ok(world::addresses(ends).1),
            None => self.real.peer_addr(),
        }
    }

    /// Sends small pieces of data at once (`TCP_NODELAY`), or collects them.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn set_nodelay(&self, is_on: bool) -> io::Result<()> {
        if self.is_simulated() { Ok(()) } else { self.real.set_nodelay(is_on) }
    }

    /// Ends the connection in both directions: the other end reads its end, as do all handles here.
    ///
    /// # Errors
    /// When the connection is broken.
    pub fn shut_down(&self) -> io::Result<()> {
        Ok(rustix::net::shutdown(&self.real, rustix::net::Shutdown::Both)?)
    }

    fn never_blocks(&self) -> io::Result<bool> {
        Ok(rustix::fs::fcntl_getfl(&self.real)?.contains(rustix::fs::OFlags::NONBLOCK))
    }

    /// Waits in a simulated world as the kernel does elsewhere: until the connection is readable or
    /// writable, or the socket's time limit has passed.
    fn wait(&self, write: bool) -> io::Result<()> {
        if !self.is_simulated() || self.never_blocks()? {
            return Ok(());
        }
        let (flags, limit) = match write {
            true => (PollFlags::OUT, self.real.write_timeout()?),
            false => (PollFlags::IN, self.real.read_timeout()?),
        };
        match world::poll(&mut [PollFd::new(&self.real, flags)], |_| flags, limit)? {
            0 => Err(io::ErrorKind::WouldBlock.into()),
            _ => Ok(()),
        }
    }
}

impl Read for &TcpStream {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if self.is_simulated() {
            self.wait(false)?;
        }
        self.ended((&self.real).read(bytes)?)
    }
}

impl Write for &TcpStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.is_simulated() {
            return (&self.real).write(bytes);
        }
        loop {
            let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
            match rustix::net::send(&self.real, bytes, flags) {
                Err(Errno::AGAIN) if self.never_blocks()? => {
                    return Err(io::ErrorKind::WouldBlock.into());
                }
                Err(Errno::AGAIN) => self.wait(true)?,
                sent => return Ok(sent?),
            }
        }
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        if !self.is_simulated() {
            return (&self.real).write_vectored(slices);
        }
        let first = slices.iter().find(|slice| !slice.is_empty());
        first.map_or(Ok(0), |slice| self.write(slice))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Read for TcpStream {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        (&*self).read(bytes)
    }
}

impl Write for TcpStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (&*self).write(bytes)
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        (&*self).write_vectored(slices)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Accepts TCP connections.
#[derive(Debug)]
pub struct TcpListener(Kind);

#[derive(Debug)]
enum Kind {
    Real(std::net::TcpListener),
    /// With whether it waits in [`TcpListener::accept`].
    Simulated(world::Listener, AtomicBool),
}

impl From<std::net::TcpListener> for TcpListener {
    fn from(real: std::net::TcpListener) -> Self {
        Self(Kind::Real(real))
    }
}

impl TcpListener {
    pub(crate) fn simulated(listener: world::Listener) -> Self {
        Self(Kind::Simulated(listener, AtomicBool::new(true)))
    }

    /// Waits for the next connection. Returns it, and the address of its other end.
    ///
    /// # Errors
    /// When the connection is broken already, the system has no descriptor left, or no connection
    /// waits and this listener does not block.
    pub fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        match &self.0 {
            Kind::Real(listener) => {
                let (stream, peer) = listener.accept()?;
                Ok((stream.into(), peer))
            }
            Kind::Simulated(listener, waits) => {
                if waits.load(Ordering::Relaxed) {
                    event::wait_readable(&[listener.as_fd()], None)?;
                }
                let (real, ends) = listener.accept()?;
                let stream = TcpStream::simulated(real, ends);
                let peer = stream.peer_addr()?;
                Ok((stream, peer))
            }
        }
    }

    /// Returns the address on which it listens.
    ///
    /// # Errors
    /// When the system call fails.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        match &self.0 {
            Kind::Real(listener) => listener.local_addr(),
            Kind::Simulated(listener, _) => Ok(listener.address()),
        }
    }

    /// Makes [`Self::accept`] wait for a connection, or fail if there is none.
    ///
    /// # Errors
    /// When the system call fails.
    pub fn set_nonblocking(&self, is_on: bool) -> io::Result<()> {
        match &self.0 {
            Kind::Real(listener) => listener.set_nonblocking(is_on),
            Kind::Simulated(_, waits) => {
                waits.store(!is_on, Ordering::Relaxed);
                Ok(())
            }
        }
    }
}

impl AsFd for TcpListener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.0 {
            Kind::Real(listener) => listener.as_fd(),
            Kind::Simulated(listener, _) => listener.as_fd(),
        }
    }
}

/// Connects this process with itself over loopback. Returns the two ends.
///
/// # Errors
/// When no port is free.
pub fn pair() -> io::Result<(TcpStream, TcpStream)> {
    let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let near = std::net::TcpStream::connect(listener.local_addr()?)?;
    loop {
        let (far, from) = listener.accept()?;
        // Another user of this machine may connect first.
        if from == near.local_addr()? {
            near.set_nodelay(true)?;
            far.set_nodelay(true)?;
            return Ok((near.into(), far.into()));
        }
    }
}
