//! A connection with one deadline for all reads, however few bytes each returns.

use std::io::{self, Read, Write};
use std::time::Duration;

use garland_sys::clock;
use garland_sys::socket::TcpStream;

/// A connection with a deadline for all that the peer sends in its greeting. Reading changes the
/// read timeout of the socket; [`Timed::end`] removes it.
pub struct Timed<'a> {
    stream: &'a TcpStream,
    until_ns: u64,
    /// Whether the deadline was postponed.
    is_late: bool,
}

/// After the deadline, what has already arrived is read for this time: this process may have been
/// suspended.
const LATE_READ_TIMEOUT: Duration = Duration::from_millis(50);

impl<'a> Timed<'a> {
    /// Sets the deadline for all reads to `patience` from now, and the timeout of each write to
    /// `patience`.
    pub fn begin(stream: &'a TcpStream, patience: Duration) -> io::Result<Self> {
        stream.set_write_timeout(Some(patience))?;
        Ok(Self { stream, until_ns: clock::after(patience), is_late: false })
    }

    /// Reads exactly `LENGTH` bytes.
    pub fn read_array<const LENGTH: usize>(&mut self) -> io::Result<[u8; LENGTH]> {
        let mut bytes = [0; LENGTH];
        self.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    /// Removes the read and write timeouts from the connection.
    pub fn end(self) -> io::Result<()> {
        self.stream.set_read_timeout(None)?;
        self.stream.set_write_timeout(None)
    }
}

impl Read for Timed<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if clock::until(self.until_ns).is_zero() && !std::mem::replace(&mut self.is_late, true) {
            self.until_ns = clock::after(LATE_READ_TIMEOUT);
        }
        let left = clock::until(self.until_ns);
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.stream.set_read_timeout(Some(left))?;
        match self.stream.read(buffer) {
            // The kernel returns this error when the read timeout expires.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                Err(io::ErrorKind::TimedOut.into())
            }
            result => result,
        }
    }
}

impl Write for Timed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use garland_sys::socket::pair;

    use super::*;

    #[test]
    fn a_peer_that_sends_slowly_has_the_same_deadline_as_a_silent_one() {
        let (near, mut far) = pair().unwrap();
        let (over, is_over) = channel();
        std::thread::spawn(move || {
            let patience = Duration::from_millis(300);
            let result = Timed::begin(&near, patience).expect("a timeout").read_exact(&mut [0; 64]);
            over.send(result.map_err(|error| error.kind())).expect("the test waits");
        });
        // A byte arrives every tenth of a second: 64 of them would take 6 s.
        let mut result = None;
        for _ in 0..40 {
            let _ = far.write_all(&[7]);
            result = is_over.recv_timeout(Duration::from_millis(100)).ok();
            if result.is_some() {
                break;
            }
        }
        assert_eq!(result, Some(Err(io::ErrorKind::TimedOut)));
    }
}
