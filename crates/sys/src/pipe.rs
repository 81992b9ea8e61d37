//! Moving bytes inside the kernel: splice and tee through a pair of pipes.
//!
//! A relay that splices from its upstream to its downstream never copies the bytes that it passes
//! on: the pages that came in go out. What its own writer needs is teed off and read once.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::pipe::{
    PipeFlags, SpliceFlags, fcntl_getpipe_size, fcntl_setpipe_size, pipe_with, splice, tee,
};

/// Bytes that a pipe is asked to hold. Users without privilege may have 64 MiB in all pipes
/// together; beyond that the kernel gives less, and everything works in smaller slices.
const WANTED: usize = 1 << 20;

/// A pipe of the kernel, empty between calls.
#[derive(Debug)]
pub struct Pipe {
    read: OwnedFd,
    write: OwnedFd,
    capacity: usize,
}

impl Pipe {
    /// A pipe as large as the system gives.
    ///
    /// # Errors
    /// When the system has no descriptors left.
    pub fn new() -> io::Result<Self> {
        let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
        let capacity = match fcntl_setpipe_size(&write, WANTED) {
            Ok(size) => size,
            Err(_) => fcntl_getpipe_size(&write)?,
        };
        Ok(Self { read, write, capacity })
    }

    /// Bytes that the pipe holds at most.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Takes up to `length` bytes that have come in on `socket` into the pipe; waits for the first.
    /// 0 means that the socket's other end closed it.
    ///
    /// # Errors
    /// When the socket is broken, or can't be spliced (`is_unsupported`).
    pub fn fill(&self, socket: impl AsFd, length: usize) -> io::Result<usize> {
        let length = length.min(self.capacity);
        retry(|| splice(&socket, None, &self.write, None, length, SpliceFlags::MOVE))
    }

    /// Gives `length` bytes in the pipe to `socket`, all of them; `more` says that others follow at
    /// once.
    ///
    /// # Errors
    /// When the socket is broken: what is left stays in the pipe.
    pub fn drain(&self, socket: impl AsFd, length: usize, more: bool) -> io::Result<()> {
        let flags = if more { SpliceFlags::MOVE | SpliceFlags::MORE } else { SpliceFlags::MOVE };
        let mut left = length;
        while left > 0 {
            let moved = retry(|| splice(&self.read, None, &socket, None, left, flags))?;
            if moved == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            left -= moved;
        }
        Ok(())
    }

    /// Doubles up to `length` bytes of this pipe into `other`; how many.
    ///
    /// # Errors
    /// When the system is out of memory.
    pub fn tee(&self, other: &Self, length: usize) -> io::Result<usize> {
        retry(|| tee(&self.read, &other.write, length, SpliceFlags::empty()))
    }

    /// Reads bytes of the pipe into `buffer` until it is full.
    ///
    /// # Errors
    /// When the pipe holds fewer bytes and its other end is closed.
    pub fn read_exact(&self, buffer: &mut [u8]) -> io::Result<()> {
        let mut done = 0;
        while done < buffer.len() {
            match retry(|| rustix::io::read(&self.read, &mut buffer[done..]))? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                read => done += read,
            }
        }
        Ok(())
    }
}

/// Whether an error of `fill` says that splicing isn't possible here at all.
#[must_use]
pub fn is_unsupported(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported)
}

fn retry(mut call: impl FnMut() -> rustix::io::Result<usize>) -> io::Result<usize> {
    loop {
        match call() {
            Err(rustix::io::Errno::INTR) => {}
            result => return Ok(result?),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    use super::*;

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (near, listener.accept().unwrap().0)
    }

    #[test]
    fn bytes_go_on_and_a_double_stays() {
        let (mut source, up) = pair();
        let (down, mut sink) = pair();
        source.write_all(b"through the kernel").unwrap();
        let (first, second) = (Pipe::new().unwrap(), Pipe::new().unwrap());
        let length = first.fill(&up, 100).unwrap();
        assert_eq!(first.tee(&second, length).unwrap(), length);
        second.drain(&down, length, false).unwrap();
        let mut kept = vec![0; length];
        first.read_exact(&mut kept).unwrap();
        let mut passed = vec![0; length];
        sink.read_exact(&mut passed).unwrap();
        assert_eq!(kept, b"through the kernel");
        assert_eq!(passed, kept);
        drop(source);
        assert_eq!(first.fill(&up, 100).unwrap(), 0, "the end is seen");
    }
}
