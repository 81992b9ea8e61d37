//! Writes into a pipe as fast as its reader reads, until told to stop.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use garland_sys::event::{self, Interest, Wake};
use garland_sys::sync::Mutex;

/// The write end of a pipe. A thread that waits in a write can be stopped.
pub struct Outflow {
    /// The pipe; none once it is closed.
    pipe: Mutex<Option<File>>,
    stop: Arc<Wake>,
}

impl Outflow {
    /// Returns a writer into `pipe`, whose write end becomes non-blocking.
    pub fn into(pipe: OwnedFd) -> io::Result<Self> {
        event::never_block(pipe.as_fd())?;
        Ok(Self { pipe: Mutex::new(Some(File::from(pipe))), stop: Arc::new(Wake::new()?) })
    }

    /// Writes all of `bytes`; waits while the pipe is full. Drops the bytes if the pipe has no
    /// reader any more, or was closed. Fails if [`Self::stop`] ends a wait.
    pub fn write_all(&self, mut bytes: &[u8]) -> io::Result<()> {
        let mut open = self.pipe.lock();
        while let Some(mut pipe) = open.as_ref().filter(|_| !bytes.is_empty()) {
            match pipe.write(bytes) {
                Ok(written) => bytes = &bytes[written..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.wait(pipe)?,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => *open = None,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Closes the write end. The reader then sees the end of the stream, unless another process
    /// holds the write end open.
    pub fn close(&self) {
        *self.pipe.lock() = None;
    }

    /// Returns whether the pipe is closed: by [`Self::close`], or because its reader was found to
    /// be gone.
    pub fn is_closed(&self) -> bool {
        self.pipe.lock().is_none()
    }

    /// Makes writes fail that wait for space in the pipe, now or later.
    pub fn stop(&self) {
        self.stop.raise();
    }

    fn wait(&self, pipe: &File) -> io::Result<()> {
        let room = Interest { fd: pipe.as_fd(), write: true };
        let stop = Interest { fd: self.stop.as_fd(), write: false };
        let ready = event::wait(&[room, stop], None)?;
        if ready[1].read { Err(io::Error::other("the copy is over")) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn a_write_that_waits_for_a_reader_can_be_stopped() {
        let (_reader, writer) = io::pipe().unwrap();
        let outflow = Outflow::into(writer.into()).unwrap();
        std::thread::scope(|scope| {
            let writing = scope.spawn(|| outflow.write_all(&vec![1; 4 << 20]));
            outflow.stop();
            assert!(writing.join().unwrap().is_err());
        });
    }

    #[test]
    fn all_bytes_arrive_and_a_reader_may_leave() {
        let (mut reader, writer) = io::pipe().unwrap();
        let outflow = Outflow::into(writer.into()).unwrap();
        let bytes = vec![7; 1 << 20];
        std::thread::scope(|scope| {
            scope.spawn(|| {
                outflow.write_all(&bytes).unwrap();
                outflow.close();
            });
            let mut got = Vec::new();
            reader.read_to_end(&mut got).unwrap();
            assert!(got == bytes);
        });
        let (reader, writer) = io::pipe().unwrap();
        let outflow = Outflow::into(writer.into()).unwrap();
        drop(reader);
        outflow.write_all(&bytes).unwrap();
        assert!(outflow.is_closed());
    }
}
