//! Datagrams to the system's log (`/dev/log`, syslog(3)), which rsyslog, busybox and systemd's
//! journal receive. Nothing here waits: a line that the receiver cannot take at once is lost.

use std::io::{self, ErrorKind};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};

use crate::sync::Mutex;

/// The socket of the system's log.
const DEV_LOG: &str = "/dev/log";

/// The sender of lines to a log.
#[derive(Debug)]
pub struct Syslog {
    path: PathBuf,
    /// The connected socket; `None` before the first line, and after an error.
    socket: Mutex<Option<UnixDatagram>>,
}

impl Syslog {
    /// Creates a sender to the system's log. It need not exist.
    #[must_use]
    pub fn new() -> Self {
        Self::at(Path::new(DEV_LOG))
    }

    /// Creates a sender to the socket `path`, which need not exist.
    #[must_use]
    pub fn at(path: &Path) -> Self {
        Self { path: path.to_owned(), socket: Mutex::default() }
    }

    /// Sends a line.
    ///
    /// # Errors
    /// When there is no receiver, or it takes nothing at present.
    pub fn send(&self, line: &[u8]) -> io::Result<()> {
        let mut socket = self.socket.lock();
        if let Some(connected) = &*socket {
            match connected.send(line) {
                Ok(_) => return Ok(()),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Err(error),
                // The receiver was started again: it has another socket.
                Err(_) => *socket = None,
            }
        }
        let connected = UnixDatagram::unbound()?;
        connected.set_nonblocking(true)?;
        connected.connect(&self.path)?;
        connected.send(line)?;
        *socket = Some(connected);
        Ok(())
    }
}

impl Default for Syslog {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A path in the system's directory of temporary files, removed at the end.
    struct Socket(PathBuf);

    impl Drop for Socket {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.0);
        }
    }

    fn received(receiver: &UnixDatagram) -> String {
        let mut buffer = [0; 64];
        let length = receiver.recv(&mut buffer).unwrap();
        String::from_utf8_lossy(&buffer[..length]).into_owned()
    }

    #[test]
    fn a_receiver_that_is_missing_full_or_new_neither_blocks_nor_ends_the_sender() {
        let name = format!("garland-syslog-{}", std::process::id());
        let socket = Socket(std::env::temp_dir().join(name));
        let log = Syslog::at(&socket.0);
        assert_eq!(log.send(b"early").unwrap_err().kind(), ErrorKind::NotFound);
        let first = UnixDatagram::bind(&socket.0).unwrap();
        log.send(b"one").unwrap();
        assert_eq!(received(&first), "one");
        // It reads nothing: the kernel keeps a number of datagrams, and this returns at once.
        let full = (0..100_000).find_map(|_| log.send(&[b'x'; 1000]).err());
        assert_eq!(full.unwrap().kind(), ErrorKind::WouldBlock);
        drop(first);
        assert!(log.send(b"nobody").is_err());
        std::fs::remove_file(&socket.0).unwrap();
        let second = UnixDatagram::bind(&socket.0).unwrap();
        log.send(b"two").unwrap();
        assert_eq!(received(&second), "two");
    }
}
